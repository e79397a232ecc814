/* SPDX-License-Identifier: MIT */
/*
 * What a benchmark's numbers mean: the breakdown of what a clock call costs, by the baselines, and
 * how far the numbers can be trusted. Pure.
 */
#include "model.h"

#include <math.h>

#include "base/units.h"
#include "measure/statistics.h"

/* ---- breakdown ---- */

static double cost_of(const struct bench *bench, enum baseline baseline)
{
	const struct ns_stats *stats = &bench->baselines[baseline];

	return fact_is_known(&stats->fact) ? stats->min_ns : -1;
}

static double rest(double whole, double part)
{
	return whole < 0 || part < 0 ? -1 : fmax(whole - part, 0);
}

/* The first baseline that is not known says why. */
static struct fact fact_of(const struct bench *bench, const enum baseline *needed, size_t count)
{
	struct fact known = {.state = FACT_KNOWN};

	for (size_t i = 0; i < count; i++) {
		if (!fact_is_known(&bench->baselines[needed[i]].fact))
			return bench->baselines[needed[i]].fact;
	}
	return known;
}

struct breakdown breakdown_find(const struct bench *bench)
{
	static const enum baseline by_syscall[] = {BASELINE_CLOCK_SYSCALL, BASELINE_GETPPID};
	static const enum baseline by_vdso[] = {
		BASELINE_CLOCK_VDSO, BASELINE_COUNTER, BASELINE_ORDERED};
	double ordered = cost_of(bench, BASELINE_ORDERED);
	double getppid = cost_of(bench, BASELINE_GETPPID);
	struct breakdown parts = {
		.syscall = cost_of(bench, BASELINE_CLOCK_SYSCALL),
		.entry = cost_of(bench, BASELINE_ENTRY),
		.filter_fact = bench->filter.fact,
		.filter = -1,
		.vdso_fact = fact_of(bench, by_vdso, ARRAY_SIZE(by_vdso)),
		.vdso = cost_of(bench, BASELINE_CLOCK_VDSO),
		.counter = cost_of(bench, BASELINE_COUNTER),
	};

	/* The cheaper way in: some kernels take longer to refuse a number than for getppid. */
	if (parts.entry < 0 || (getppid >= 0 && getppid < parts.entry))
		parts.entry = getppid;
	parts.syscall_fact = fact_of(bench, by_syscall, parts.entry < 0 ? 2 : 1);
	parts.kernel = rest(parts.syscall, parts.entry);
	if (fact_is_known(&bench->filter.fact))
		parts.filter = rest(bench->filter.with_ns, bench->filter.without_ns);
	parts.order = rest(ordered, parts.counter);
	parts.arithmetic = rest(parts.vdso, ordered);
	/* Then it may have entered the kernel, and the rest is not arithmetic. */
	if (parts.entry >= 0 && parts.vdso >= parts.entry) {
		parts.vdso_is_as_dear_as_entry = true;
		parts.arithmetic = -1;
		if (fact_is_known(&parts.vdso_fact))
			fact_set(&parts.vdso_fact, FACT_FAILED,
				"no less than entering the kernel takes: it may be a system call");
	}
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

struct noise noise_find(const struct bench *bench)
{
	uint64_t discarded = 0, samples = 0, outliers = 0;
	double excess[ROWS_MAX];
	struct noise noise = {0};
	size_t count = 0;

	for (size_t i = 0; i < bench->row_count && i < ROWS_MAX; i++) {
		const struct ns_stats *stats = &bench->rows[i].stats;

		noise.batches += stats->batches;
		discarded += stats->preempted + stats->moved + stats->too_short + stats->stalled;
		samples += stats->samples;
		outliers += stats->outliers;
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
