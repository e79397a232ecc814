/* SPDX-License-Identifier: MIT */
/* How far a benchmark's numbers may be trusted on a machine that others use too. Pure. */
#ifndef VDSOCHECK_BENCH_NOISE_H
#define VDSOCHECK_BENCH_NOISE_H

#include <stdbool.h>

#include "run.h"

struct noise {
	bool known;           /* something was measured often enough for a mean */
	bool quiet;           /* the means may be trusted */
	uint64_t batches;     /* begun, over all rows */
	double thrown_share;  /* of the batches, 0 to 1: others had the CPU */
	double outlier_share; /* of the rest: left out of the means */
	double median_excess; /* by which the rows' medians are above their minima: their median */
};

struct noise noise_find(const struct bench *bench);

#endif
