/* SPDX-License-Identifier: MIT */
/*
 * Measures on this host whether a call enters the kernel (the proof, which decides), what calls
 * cost, and, on a copy of the vDSO, which word of its data decides.
 */
#ifndef VDSOCHECK_MEASURE_H
#define VDSOCHECK_MEASURE_H

#include "measure/call.h"

/* ---- the proof ---- */

/* Calls made by each path in one part of the proof. */
#define PROOF_CALLS 500

/* The CPUs of the calls. Moving to another one may take seconds where CPU time is scarce. */
enum proof_place {
	PROOF_HERE,   /* on one CPU */
	PROOF_SPREAD, /* on the CPUs available to this process, at most PROOF_CPUS_MAX of them */
};

/* On a larger machine this many CPUs are used, evenly spread. */
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

/* ---- timing: used for cost; it proves nothing by itself ---- */

enum timing_options {
	TIMING_WHOLE = 0,      /* about 0.6 ms for each call and path: 24 ms for all */
	TIMING_BRIEF = 1 << 0, /* only for the verdict: about 0.2 ms */
};

/*
 * Measures in a child, pinned to one CPU: many batches, the paths in turn, so that drift hits all
 * alike; batches that others disturbed are discarded. Fills *timing and the times in `calls`, which
 * call_table_name() named by the same table. Before that it compares the values of the calls, and
 * after it takes another part of *proof, as proof_take() with PROOF_SPREAD does, if that was taken
 * by seccomp and there is time: each saves a child. Returns true if it took that part. `proof` may
 * be NULL.
 */
bool timing_measure(const struct call_table *table, unsigned options,
	struct timing_evidence *timing, struct call_evidence *calls, struct proof_evidence *proof,
	const struct deadline *deadline);

/* ---- the copy ---- */

/*
 * Makes the copy in a child and fills in *copy. `calls` was made from the vDSO at *vdso. Where
 * *vclock was read from the data page by a known layout, its word is tried first. Needs x86 or
 * arm64, and a seccomp filter. Where the clocks are served, every word that holds a mode is cleared
 * in turn, and the one that makes CLOCK_REALTIME and CLOCK_MONOTONIC fall back is the mode; where
 * they fall back, every word that may hold a mode is set to that of the CPU's counter in turn, and
 * the one that makes both stop falling back is it. In the second case the cost of the patched copy
 * is measured, too. Nothing outside the child changes.
 */
void copy_measure(const struct vdso_image *vdso, const struct call_table *calls,
	const struct vclock_evidence *vclock, struct copy_evidence *copy,
	const struct deadline *deadline);

/*
 * Fills in the mode that the copy found, unless it is the word that was read by a known layout:
 * a layout is a hint, and the copy shows by its effect which word decides. vclock->fact keeps the
 * reason why the mode was not read.
 */
void copy_set_mode(const struct copy_evidence *copy, struct vclock_evidence *vclock);

#endif
