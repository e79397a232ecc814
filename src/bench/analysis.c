/* SPDX-License-Identifier: MIT */
/*
 * What a benchmark's numbers mean: the breakdown of what a clock call costs, by the baselines, and
 * how far the numbers can be trusted. Pure.
 */
#include "model.h"

#include "measure/statistics.h"

/* ---- breakdown ---- */

static struct part cost_of(const struct bench *bench, enum baseline baseline)
{
	const struct ns_stats *stats = &bench->baselines[baseline];

	return (struct part){fact_is_known(&stats->fact), stats->min_ns};
}

static struct part rest(struct part whole, struct part part)
{
	double ns = whole.ns - part.ns;

	return (struct part){whole.known && part.known, ns > 0 ? ns : 0};
}

/* The cheaper way in: some kernels take longer to refuse a number than to answer getppid. */
static struct part entry_of(const struct bench *bench)
{
	struct part no_call = cost_of(bench, BASELINE_ENTRY);
	struct part getppid = cost_of(bench, BASELINE_GETPPID);

	if (!no_call.known || (getppid.known && getppid.ns < no_call.ns))
		return getppid;
	return no_call;
}

static struct part filter_of(const struct seccomp_overhead *filter)
{
	return rest((struct part){fact_is_known(&filter->fact), filter->with_ns},
		(struct part){fact_is_known(&filter->fact), filter->without_ns});
}

struct breakdown breakdown_find(const struct bench *bench)
{
	struct part ordered = cost_of(bench, BASELINE_ORDERED);
	struct breakdown parts = {
		.syscall = cost_of(bench, BASELINE_CLOCK_SYSCALL),
		.entry = entry_of(bench),
		.filter = filter_of(&bench->filter),
		.vdso = cost_of(bench, BASELINE_CLOCK_VDSO),
		.counter = cost_of(bench, BASELINE_COUNTER),
	};

	parts.kernel = rest(parts.syscall, parts.entry);
	parts.order = rest(ordered, parts.counter);
	parts.arithmetic = rest(parts.vdso, ordered);
	parts.vdso_is_as_dear_as_entry =
		parts.vdso.known && parts.entry.known && parts.vdso.ns >= parts.entry.ns;
	/* Then it may have entered the kernel, and the rest is not arithmetic. */
	if (parts.vdso_is_as_dear_as_entry)
		parts.arithmetic.known = false;
	return parts;
}

/* ---- noise ---- */

/*
 * Limits of a quiet machine. On one, a timer's tick of 2 us hits one batch of 20 us in 200
 * (HZ 250), other threads hardly run, and the median is within 1% of the minimum. Batches that
 * are discarded do not harm the mean; their neighbours, with cold caches, do.
 */
#define DISCARDED_SHARE_QUIET 0.1
#define OUTLIER_SHARE_QUIET 0.05
#define MEDIAN_EXCESS_QUIET 0.03

/* Rows beyond it are left out: all CPUs of a large machine show the same. */
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
	noise.discarded_share = (double)discarded / (double)noise.batches;
	noise.outlier_share = (double)outliers / (double)samples;
	noise.median_excess = statistics_median(excess, count);
	noise.quiet = noise.discarded_share <= DISCARDED_SHARE_QUIET &&
	              noise.outlier_share <= OUTLIER_SHARE_QUIET &&
	              noise.median_excess <= MEDIAN_EXCESS_QUIET;
	return noise;
}
