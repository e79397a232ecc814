/* SPDX-License-Identifier: MIT */
/* The proof: does a call enter the kernel? It is the evidence that decides. */
#ifndef VDSOCHECK_MEASURE_PROOF_H
#define VDSOCHECK_MEASURE_PROOF_H

#include "base/time.h"
#include "evidence.h"
#include "measure/call.h"

/* Calls made by each path in one part of the proof. */
#define PROOF_CALLS 500

/* The CPUs of the calls. Moving to another one may take seconds where CPU time is scarce. */
enum proof_place {
	PROOF_HERE,   /* on one CPU */
	PROOF_SPREAD, /* on the CPUs available to this process, at most PROOF_CPUS_MAX of them */
};

/* CPUs of a larger machine that are used, evenly spread. */
#define PROOF_CPUS_MAX 64

/*
 * Makes every call of the table PROOF_CALLS times by the vDSO and by libc, and counts in `calls`,
 * which call_table_name() named, those that entered the kernel: under a seccomp filter, or by
 * ptrace where no filter can be set.
 * proof->fact is known only if a control call by raw system call was caught first, and if each
 * deciding call was made by all its paths.
 *
 * If the time is over early, the counts made by then are kept.
 *
 * A part takes about a millisecond. If the proof was taken before, another part is added by the
 * same method, so that a flapping clock is more likely seen; a part that fails then changes
 * nothing. No method may take more than three quarters of the time that is left until the deadline.
 */
void proof_take(const struct call_table *table, enum proof_place place,
	struct proof_evidence *proof, struct call_evidence *calls, const struct deadline *deadline);

#endif
