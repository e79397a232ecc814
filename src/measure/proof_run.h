/* SPDX-License-Identifier: MIT */
/* Declares what the two methods of the proof, seccomp and ptrace, have in common. */
#ifndef VDSOCHECK_MEASURE_PROOF_RUN_H
#define VDSOCHECK_MEASURE_PROOF_RUN_H

#include <stdint.h>

#include "base/time.h"
#include "evidence.h"
#include "measure.h"
#include "measure/call.h"

/* A part of the proof, in memory that the child which makes the calls shares with its parent. */
struct proof_run {
	const struct call_table *table; /* not owned */
	enum proof_place place;
	int mark; /* errno of a call that entered the kernel; 0: the parent counts */
	struct call_evidence calls[CALL_MAX];
	unsigned cpus;    /* CPUs that calls were made on */
	struct fact fact; /* known once the control call was caught: the counts hold from then on */
	size_t row;       /* the calls that are made: a row of the table, so many */
	uint32_t count;
	/* The state of the child, for a parent that traces its system calls. */
	volatile int32_t call; /* index into calls, or one of the values below */
	volatile int32_t path;
	volatile uint32_t serial; /* a new number for each attempt */
	volatile uint32_t control_entered;
};

#define PROOF_RUN_NOTHING (-1) /* between calls */
#define PROOF_RUN_CONTROL (-2) /* the control call */

/*
 * Makes each call once by raw system call, before any filter of ours is set, and notes in
 * run->calls those that fail: a filter around us forbids them, or the kernel lacks them.
 */
void proof_run_try_raw(struct proof_run *run);

/*
 * Makes all calls with the vDSO and with libc, CPU after CPU or where it is, and counts in
 * run->calls the attempts, those that failed with run->mark, and the signal where one ended a call.
 */
void proof_run_all(struct proof_run *run);

/*
 * The methods: each makes the calls in a child, on a run in shared memory. False with the reason
 * if the child was not done by the deadline; the counts hold if run->fact is known.
 */
bool proof_seccomp_take(struct proof_run *run, const struct deadline *deadline, struct fact *why);
bool proof_ptrace_take(struct proof_run *run, const struct deadline *deadline, struct fact *why);

/*
 * Sets the filter on this process for good: from here on every time system call fails with an
 * errno of our own. False with the reason if that is refused. For a forked child.
 */
bool proof_seccomp_set_filter(struct fact *why);

/* Makes the call once under the filter: true if it was a system call. */
bool proof_seccomp_is_caught(const struct call *call);

#endif
