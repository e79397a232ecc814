/* SPDX-License-Identifier: MIT */
/* Long runs: so many million calls in one go, and what `time` would say of them. */
#ifndef VDSOCHECK_BENCH_COUNT_H
#define VDSOCHECK_BENCH_COUNT_H

#include "run.h"

/* Fills bench->runs: each count of the plan for each call, in the plan's order. */
void bench_count_all(struct bench *bench, const struct bench_plan *plan, bench_progress *progress);

#endif
