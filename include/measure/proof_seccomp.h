/* SPDX-License-Identifier: MIT */
/* The proof by seccomp: a filter answers every time system call with an errno of our own. */
#ifndef VDSOCHECK_MEASURE_PROOF_SECCOMP_H
#define VDSOCHECK_MEASURE_PROOF_SECCOMP_H

#include "measure/proof_run.h"

/* Takes the proof in a child; run->fact is known if it holds. */
void proof_seccomp_take(struct proof_run *run);

#endif
