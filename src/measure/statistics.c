/* SPDX-License-Identifier: MIT */
#include "measure/statistics.h"

#include <math.h>
#include <stdlib.h>

#define FENCE_QUARTILES 3
#define FENCE_LEAST 1.01

double statistics_minimum(const double *values, size_t count)
{
	double least = count ? values[0] : 0;

	for (size_t i = 1; i < count; i++)
		least = values[i] < least ? values[i] : least;
	return least;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median_of_ordered(const double *ordered, size_t count)
{
	if (!count)
		return 0;
	if (count % 2)
		return ordered[count / 2];
	return (ordered[count / 2 - 1] + ordered[count / 2]) / 2;
}

double statistics_median(double *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), compare);
	return median_of_ordered(values, count);
}

double statistics_percentile(const double *ordered, size_t count, double percent)
{
	double rank = ceil(percent / 100 * (double)count);
	size_t place = rank < 1 ? 1 : (size_t)rank;

	if (!count)
		return 0;
	return ordered[(place < count ? place : count) - 1];
}

double statistics_fence(const double *ordered, size_t count)
{
	double lower = statistics_percentile(ordered, count, 25);
	double upper = statistics_percentile(ordered, count, 75);

	return fmax(upper + FENCE_QUARTILES * (upper - lower),
		FENCE_LEAST * median_of_ordered(ordered, count));
}

static double mean_of(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum / (double)count;
}

struct statistics_summary statistics_summarise(double *values, size_t count)
{
	struct statistics_summary summary = {.count = count};
	size_t within = count;
	double fence;

	summary.median = statistics_median(values, count);
	summary.minimum = count ? values[0] : 0;
	summary.p99 = statistics_percentile(values, count, 99);
	fence = statistics_fence(values, count);
	while (within > 0 && values[within - 1] > fence)
		within--;
	summary.outliers = count - within;
	summary.has_mean = within >= STATISTICS_MEAN_LEAST;
	if (summary.has_mean)
		summary.trimmed_mean = mean_of(values, within);
	return summary;
}
