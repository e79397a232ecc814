/* SPDX-License-Identifier: MIT */
/* The proof by seccomp: a filter answers every time system call with an errno of our own. */
#ifndef VDSOCHECK_MEASURE_PROOF_SECCOMP_H
#define VDSOCHECK_MEASURE_PROOF_SECCOMP_H

#include "base/kernel_clock.h"
#include "measure/proof_run.h"

/*
 * Sets the filter on this process for good: from here on every time system call fails with an
 * errno of our own. False with the reason if that is refused. For a forked child.
 */
bool proof_seccomp_set_filter(struct fact *why);

/* Makes the call once under the filter: true if it was a system call. */
bool proof_seccomp_is_caught(const struct call *call);

/* Takes the proof in a child; run->fact is known if it holds. */
void proof_seccomp_take(struct proof_run *run, const struct deadline *deadline);

#endif
