/* SPDX-License-Identifier: MIT */
#include "noise.h"

#include "measure/statistics.h"

/*
 * Limits of a quiet machine. On one, a timer's tick of 2 us hits one batch of 20 us in 200
 * (HZ 250), hardly anybody else gets the CPU, and the median is within 1 % of the minimum.
 * Chunks that are discarded do not harm the mean; their neighbours, with cold caches, do.
 */
#define THROWN_SHARE_QUIET 0.1
#define OUTLIER_SHARE_QUIET 0.05
#define MEDIAN_EXCESS_QUIET 0.03

/* Rows beyond it are not looked at: all CPUs of a large machine say the same. */
#define ROWS_MAX 1024

static void add_row(const struct ns_stats *stats, struct noise *noise, uint64_t *discarded,
	uint64_t *samples, uint64_t *outliers)
{
	noise->batches += stats->batches;
	*discarded += stats->preempted + stats->moved + stats->too_short + stats->stalled;
	*samples += stats->samples;
	*outliers += stats->outliers;
}

struct noise noise_find(const struct bench *bench)
{
	uint64_t discarded = 0, samples = 0, outliers = 0;
	double excess[ROWS_MAX];
	struct noise noise = {0};
	size_t count = 0;

	for (size_t i = 0; i < bench->row_count && i < ROWS_MAX; i++) {
		const struct ns_stats *stats = &bench->rows[i].stats;

		add_row(stats, &noise, &discarded, &samples, &outliers);
		if (fact_is_known(&stats->fact) && stats->has_mean && stats->min_ns > 0)
			excess[count++] = stats->median_ns / stats->min_ns - 1;
	}
	if (!count)
		return noise;
	noise.known = true;
	noise.thrown_share = (double)discarded / (double)noise.batches;
	noise.outlier_share = (double)outliers / (double)samples;
	noise.median_excess = statistics_median(excess, count);
	noise.quiet = noise.thrown_share <= THROWN_SHARE_QUIET &&
	              noise.outlier_share <= OUTLIER_SHARE_QUIET &&
	              noise.median_excess <= MEDIAN_EXCESS_QUIET;
	return noise;
}
