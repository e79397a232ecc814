/* SPDX-License-Identifier: MIT */
/* Evidence of hosts that tests judge: a healthy one, and small changes that make it ill. */
#ifndef VDSOCHECK_TESTS_EVIDENCE_BUILDER_H
#define VDSOCHECK_TESTS_EVIDENCE_BUILDER_H

#include "evidence.h"
#include "judge.h"
#include "unit/dice.h"

#define BUILDER_ATTEMPTS 1000

/* An x86_64 KVM guest on tsc, everything known, proven and timed: ok by all four kinds of evidence.
 */
void evidence_make_healthy(struct evidence *evidence);

/*
 * The same on a clocksource without clock mode: all clocks but the COARSE ones enter the
 * kernel, each time, by the vDSO and by libc.
 */
void evidence_make_falling_back(struct evidence *evidence, const char *clocksource);

/* Lists the available clocksources, separated by blanks. */
void evidence_set_available(struct evidence *evidence, const char *names);

/* Clocksource known by this name; the list gets it too where it is not in it. */
void evidence_set_current(struct evidence *evidence, const char *name);

void evidence_set_mode(struct evidence *evidence, enum vclock_how how, int mode, const char *name);

/* Adds a line to the kernel's log. */
void evidence_add_log(struct evidence *evidence, const char *text);

/* The call of this name and clock, "" for none; a failed test if there is none. */
struct call_evidence *evidence_find_call(
	struct evidence *evidence, const char *call, const char *clock);

/* Sets how many calls entered the kernel by this path, for all deciding calls. */
void evidence_set_entered(struct evidence *evidence, enum call_path path, uint32_t entered);

/* Takes a path away from all calls, as where a vDSO or its function is missing. */
void evidence_remove_path(struct evidence *evidence, enum call_path path);

/* Takes the proof away from all calls, for this reason. */
void evidence_remove_proof(struct evidence *evidence, const char *reason);

/* Takes all times away. */
void evidence_remove_timing(struct evidence *evidence);

/* Any evidence that fits the types: every fact in any state, every number and name. */
void evidence_roll(struct evidence *evidence, struct dice *dice);

/* The verdict alone of a whole diagnosis. */
void evidence_find_verdict(const struct evidence *evidence, struct verdict *verdict);

/* The evidence of clock_gettime(CLOCK_MONOTONIC) by this path. */
struct path_evidence *evidence_monotonic(struct evidence *evidence, enum call_path path);

/*
 * The start of what check gathers about this process: its vDSO, where its image is, and its calls
 * by name and address. Fails the test if / cannot be opened.
 */
struct call_table;
struct vdso_image;
void evidence_list_live_calls(
	struct evidence *evidence, struct vdso_image *image, struct call_table *calls);

#endif
