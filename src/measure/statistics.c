/* SPDX-License-Identifier: MIT */
/*
 * Sums up many samples of a cost: minimum, median, 99th percentile, and a mean without
 * outliers. Interrupts and neighbours only ever make a sample longer, so the minimum is the cost
 * of the call itself.
 */
#include "measure/sampler.h"

#include <math.h>
#include <stdlib.h>

/*
 * A value above the fence is an outlier, made by an interrupt or a neighbour: three times the
 * distance of the quartiles beyond the upper one (Tukey's "far out"), and at least 1% above the
 * median, since half a tick is not an outlier where all values are the same.
 */
#define FENCE_QUARTILES 3
#define FENCE_LEAST 1.01

double statistics_in_tenths(double ns)
{
	return round(ns * 10) / 10;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

double statistics_median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare_doubles);
	if (count % 2)
		return values[count / 2];
	return (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Returns the smallest of `count` sorted values that `percent` in 100 do not exceed; 0 if none. */
static double percentile(const double *ordered, size_t count, double percent)
{
	double rank = ceil(percent / 100 * (double)count);
	size_t place = rank < 1 ? 1 : (size_t)rank;

	if (!count)
		return 0;
	return ordered[(place < count ? place : count) - 1];
}

struct statistics_summary statistics_summarise(double *values, size_t count)
{
	struct statistics_summary summary = {.count = count};
	size_t within = count;
	double lower, upper, fence, sum = 0;

	summary.median = statistics_median(values, count);
	summary.minimum = count ? values[0] : 0;
	summary.p99 = percentile(values, count, 99);
	lower = percentile(values, count, 25);
	upper = percentile(values, count, 75);
	fence = fmax(upper + FENCE_QUARTILES * (upper - lower), FENCE_LEAST * summary.median);
	while (within > 0 && values[within - 1] > fence)
		within--;
	summary.outliers = count - within;
	for (size_t i = 0; i < within; i++)
		sum += values[i];
	summary.trimmed_mean = within < STATISTICS_MEAN_LEAST ? NAN : sum / (double)within;
	return summary;
}
