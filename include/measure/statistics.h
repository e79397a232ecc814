/* SPDX-License-Identifier: MIT */
/* What many measurements of the same thing say about it. Pure. */
#ifndef VDSOCHECK_MEASURE_STATISTICS_H
#define VDSOCHECK_MEASURE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"
#include "measure/samples.h"

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

/* The median of `count` values, which are sorted; 0 if there are none. */
double statistics_median(double *values, size_t count);

/* The smallest of `count` sorted values that `percent` in 100 do not exceed; 0 if none. */
double statistics_percentile(const double *ordered, size_t count, double percent);

/*
 * Above it a value is an outlier, made by an interrupt or a neighbour: three times the distance
 * of the quartiles beyond the upper one (Tukey's "far out"), and at least 1% above the median,
 * since half a tick is no outlier where all values are the same.
 */
double statistics_fence(const double *ordered, size_t count);

/* Sums up `count` values, which are sorted. All zero if there are none. */
struct statistics_summary statistics_summarise(double *values, size_t count);

/* The cost of one thing in nanoseconds. */
struct ns_stats {
	struct fact fact; /* known: measured, and what follows holds */
	double min_ns;    /* averages over one batch of calls each */
	double median_ns;
	double p99_ns;          /* of the batches' averages, not of calls */
	bool has_mean;          /* false: too few batches */
	double trimmed_mean_ns; /* outliers left out */
	size_t samples;         /* batches that these rest on */
	size_t outliers;        /* of which were left out of the mean */
	size_t iterations;      /* calls in a batch */
	uint64_t batches;       /* begun */
	uint64_t preempted;     /* of which were discarded, for the reasons in samples.h */
	uint64_t moved;
	uint64_t too_short;
	uint64_t stalled;
};

/* Sorts the series' samples. */
void ns_stats_find(struct series *series, double ns_per_tick, struct ns_stats *stats);

#endif
