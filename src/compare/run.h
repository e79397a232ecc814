/* SPDX-License-Identifier: MIT */
/*
 * Clocksources tried out one after the other, each in a worker of its own that may hang, crash
 * or be killed, and the first one put back afterwards whatever happened: see guardian.h.
 */
#ifndef VDSOCHECK_COMPARE_RUN_H
#define VDSOCHECK_COMPARE_RUN_H

#include "candidate.h"

enum comparison_end {
	COMPARISON_WHOLE = 0,   /* every source had its trial */
	COMPARISON_NOT_BEGUN,   /* nothing was switched: see why */
	COMPARISON_INTERRUPTED, /* by a signal */
	COMPARISON_UNGUARDED,   /* the guardian was killed */
	COMPARISON_STUCK,       /* a worker could not be ended */
};

struct comparison {
	enum comparison_end end;
	int signal;           /* that interrupted it; 0: none */
	struct fact why;      /* known, or what ended it early */
	struct fact restored; /* known: the clocksource is as it was found, and was read back */
	size_t count;
	struct trial *trials; /* owned; comparison_release() */
};

struct comparison_setup {
	struct trial_setup trial;
	size_t count;
	const char (*names)[CLOCKSOURCE_NAME_SIZE]; /* of the clocksources to be tried */
	/* Called before each trial. May be NULL. */
	void (*progress)(void *argument, size_t place, size_t count, const char *name);
	void *argument;
	/* See guardian_start(). */
	void (*orphaned)(const struct clock_switch *clock, const struct fact *restored);
};

/*
 * While it runs, SIGINT, SIGTERM, SIGHUP and SIGQUIT end it early, and a terminal cannot stop
 * it. Release with comparison_release() in any case.
 */
void comparison_run(const struct clock_switch *clock, const struct comparison_setup *setup,
	struct comparison *comparison);

void comparison_release(struct comparison *comparison);

#endif
