/* SPDX-License-Identifier: MIT */
/*
 * The guardian: a process of its own that puts the clocksource back once nobody is left who
 * could change it, however they ended.
 *
 * It waits for the end of a pipe whose other end is open in every process that may switch, so
 * the kernel itself tells it. It is in a session of its own and blocks every signal that can
 * be blocked, so neither a terminal nor a killed process group takes it along. What can still
 * be done to it is SIGKILL; then the process that started it sees the end of another pipe and
 * puts the clocksource back itself.
 */
#ifndef VDSOCHECK_COMPARE_GUARDIAN_H
#define VDSOCHECK_COMPARE_GUARDIAN_H

#include <stdbool.h>
#include <sys/types.h>

#include "clocksource_switch.h"

struct guardian {
	pid_t pid;
	int alive; /* open in whoever may switch: forked children inherit it */
	int watch; /* at its end when the guardian is gone: for poll() */
};

/*
 * Starts it. `orphaned` is called in the guardian when it had to act without us, with whether
 * the clocksource is as it was and, if not, why. False with the reason if there is none; then
 * nothing may be switched.
 */
bool guardian_start(struct guardian *guardian, const struct clock_switch *clock,
	void (*orphaned)(const struct clock_switch *clock, const struct fact *restored),
	struct fact *why);

/* True while it runs. */
bool guardian_is_there(const struct guardian *guardian);

/*
 * Has the clocksource put back by the guardian, or by us if it does not do so, and reads back
 * that it is. To be called when no child that may switch is left. *restored is known, or tells
 * why it is not as it was.
 */
void guardian_finish(
	struct guardian *guardian, const struct clock_switch *clock, struct fact *restored);

#endif
