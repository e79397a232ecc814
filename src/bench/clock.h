/* SPDX-License-Identifier: MIT */
/* How finely each clock tells the time. */
#ifndef VDSOCHECK_BENCH_CLOCK_H
#define VDSOCHECK_BENCH_CLOCK_H

#include "run.h"

/* Fills bench->clocks: every clock that clock_gettime is planned or listed for. */
void bench_clock_all(struct bench *bench, const struct bench_plan *plan);

#endif
