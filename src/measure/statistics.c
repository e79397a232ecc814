/* SPDX-License-Identifier: MIT */
/*
 * What many samples say about a cost: minimum, median, 99th percentile, and a mean without
 * outliers. Interrupts and neighbours only ever make a sample longer, so the minimum is the cost
 * of the call itself.
 */
#include "measure/statistics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/fault.h"

#define FENCE_QUARTILES 3
#define FENCE_LEAST 1.01

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

static void explain(const struct series *series, struct fact *fact)
{
	if (!series->repeat)
		fact_set(fact, FACT_ABSENT, "not available here");
	else if (series->signal)
		fact_set(fact, FACT_FAILED, "the call ends with %s",
			fault_signal_name(series->signal));
	else if (series->batches == 0)
		fact_set(fact, FACT_UNREAD, "stopped before it was measured");
	else if (series->too_short == series->batches)
		fact_set(fact, FACT_FAILED, "too short for the clock to be timed");
	else
		fact_set(fact, FACT_FAILED, "all %" PRIu64 " chunks were disturbed",
			series->batches);
}

void ns_stats_find(struct series *series, double ns_per_tick, struct ns_stats *stats)
{
	struct statistics_summary summary;

	*stats = (struct ns_stats){.iterations = series->iterations,
		.batches = series->batches,
		.preempted = series->preempted,
		.moved = series->moved,
		.too_short = series->too_short,
		.stalled = series->stalled};
	if (!series_is_measured(series)) {
		explain(series, &stats->fact);
		return;
	}
	summary = statistics_summarise(series->samples, series->count);
	/* Of very many batches, not all are samples; the least is that of all. */
	stats->min_ns = series->least * ns_per_tick;
	stats->median_ns = summary.median * ns_per_tick;
	stats->p99_ns = summary.p99 * ns_per_tick;
	stats->has_mean = summary.has_mean;
	stats->trimmed_mean_ns = summary.trimmed_mean * ns_per_tick;
	stats->samples = summary.count;
	stats->outliers = summary.outliers;
	fact_set_known(&stats->fact);
}
