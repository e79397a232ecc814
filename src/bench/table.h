/* SPDX-License-Identifier: MIT */
/* The benchmark's table: every wanted call by every way, on each CPU, and the baselines. */
#ifndef VDSOCHECK_BENCH_TABLE_H
#define VDSOCHECK_BENCH_TABLE_H

#include "run.h"

/* Fills rows and baselines; bench->fact is known if the child came to its end. */
void bench_table_measure(
	struct bench *bench, const struct bench_plan *plan, bench_progress *progress);

#endif
