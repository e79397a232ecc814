/* SPDX-License-Identifier: MIT */
/* The proof by ptrace, for where no seccomp filter can be set: a child's calls are counted. */
#ifndef VDSOCHECK_MEASURE_PROOF_PTRACE_H
#define VDSOCHECK_MEASURE_PROOF_PTRACE_H

#include "base/kernel_clock.h"
#include "measure/proof_run.h"

/* Takes the proof with a traced child; run->fact is known if it holds. */
void proof_ptrace_take(struct proof_run *run, const struct deadline *deadline);

#endif
