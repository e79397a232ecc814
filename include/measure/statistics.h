/* SPDX-License-Identifier: MIT */
/* Sums up many measurements of the same thing. Pure. */
#ifndef VDSOCHECK_MEASURE_STATISTICS_H
#define VDSOCHECK_MEASURE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* The mean of fewer values is not believed. */
#define STATISTICS_MEAN_LEAST 10

struct statistics_summary {
	size_t count; /* values */
	double minimum;
	double median;
	double p99;          /* 99 in 100 values are not above it */
	size_t outliers;     /* values left out of the mean: far above the upper quartile */
	double trimmed_mean; /* without the outliers; NAN: fewer than STATISTICS_MEAN_LEAST */
};

/*
 * Nanoseconds to tenths, which is what is printed: a document has all that its run had, and
 * judged again gives the same text.
 */
double statistics_in_tenths(double ns);

/* The median of `count` values, which are sorted; 0 if there are none. */
double statistics_median(double *values, size_t count);

/* Sums up `count` values, which are sorted. All zero if there are none. */
struct statistics_summary statistics_summarise(double *values, size_t count);

#endif
