/* SPDX-License-Identifier: MIT */
/* What many measurements of the same thing say about it. Pure. */
#ifndef VDSOCHECK_MEASURE_STATISTICS_H
#define VDSOCHECK_MEASURE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* Fewer values than that have no mean to be believed. */
#define STATISTICS_MEAN_LEAST 10

struct statistics_summary {
	size_t count; /* values given */
	double minimum;
	double median;
	double p99;          /* 99 in 100 values are not above it */
	size_t outliers;     /* values left out of the mean: above statistics_fence() */
	bool has_mean;       /* false: fewer than STATISTICS_MEAN_LEAST values */
	double trimmed_mean; /* without the outliers */
};

/* The smallest of `count` values; 0 if there are none. */
double statistics_minimum(const double *values, size_t count);

/* The median of `count` values, which are put in order; 0 if there are none. */
double statistics_median(double *values, size_t count);

/* The smallest of `count` ordered values that `percent` in 100 do not exceed; 0 if none. */
double statistics_percentile(const double *ordered, size_t count, double percent);

/*
 * Above it a value is an outlier, an interrupt's or a neighbour's: three times the distance
 * of the quartiles beyond the upper one (Tukey's "far out"), and 1 % above the median at
 * least, lest half a tick be an outlier where all values are the same.
 */
double statistics_fence(const double *ordered, size_t count);

/* Sums up `count` values, which are put in order. All zero if there are none. */
struct statistics_summary statistics_summarise(double *values, size_t count);

#endif
