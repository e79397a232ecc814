/* SPDX-License-Identifier: MIT */
/* The calls of a proof, made in order and counted: what seccomp and ptrace have in common. */
#ifndef VDSOCHECK_MEASURE_PROOF_RUN_H
#define VDSOCHECK_MEASURE_PROOF_RUN_H

#include <stdint.h>

#include "evidence.h"
#include "measure/call.h"

/* A proof under way, in memory shared between the child that makes the calls and its parent. */
struct proof_run {
	const struct call_table *calls; /* not owned */
	struct evidence evidence;       /* the counts */
	struct fact fact;               /* of the witness: known once the control was caught */
	/* What the child is at, for a parent that watches its system calls. */
	volatile int32_t call; /* index into evidence.calls, or one of the values below */
	volatile int32_t path;
	volatile uint32_t serial; /* a new number for each attempt */
	volatile uint32_t control_entered;
};

#define PROOF_RUN_NOTHING (-1) /* between calls */
#define PROOF_RUN_CONTROL (-2) /* the control call */

/*
 * Makes each call once by raw system call, before any filter of ours is set, and notes in
 * run->evidence those that fail: a filter around us forbids them, or the kernel lacks them.
 */
void proof_run_try_raw(struct proof_run *run);

/* Makes one call and says whether it was caught entering the kernel. */
typedef bool proof_run_make(const struct call *call);

/*
 * Makes all calls by the vDSO and by libc, CPU after CPU, and counts in run->evidence the
 * attempts, the caught ones, and the signal where one ended a call.
 */
void proof_run_all(struct proof_run *run, proof_run_make *make);

#endif
