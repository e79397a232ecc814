/* SPDX-License-Identifier: MIT */
/* What many measurements of the same thing say about it. Pure. */
#ifndef VDSOCHECK_MEASURE_STATISTICS_H
#define VDSOCHECK_MEASURE_STATISTICS_H

#include <stddef.h>

/* The smallest of `count` values; 0 if there are none. */
double statistics_minimum(const double *values, size_t count);

/* The median of `count` values, which are put in order; 0 if there are none. */
double statistics_median(double *values, size_t count);

#endif
