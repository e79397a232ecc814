/* SPDX-License-Identifier: MIT */
/*
 * Draws conclusions from a benchmark's numbers: the ratios, and how far the numbers can be trusted.
 * Pure.
 */
#include "model.h"

#include <math.h>
#include <string.h>

#include "base/time.h"
#include "measure/sampler.h"

/* ---- the answer ---- */

const struct bench_row *bench_answer_row(const struct bench *bench)
{
	for (size_t i = 0; i < bench->row_count; i++) {
		const struct bench_row *row = &bench->rows[i];

		if (strcmp(row->subject.call, "clock_gettime") == 0 &&
			strcmp(row->subject.clock, "CLOCK_MONOTONIC") == 0)
			return row;
	}
	return bench->row_count ? &bench->rows[0] : NULL;
}

const struct ns_stats *bench_find_stats(
	const struct bench *bench, const struct bench_row *like, enum call_path path)
{
	for (size_t i = 0; like && i < bench->row_count; i++) {
		const struct bench_row *row = &bench->rows[i];

		if (row->subject.path == path &&
			strcmp(row->subject.call, like->subject.call) == 0 &&
			strcmp(row->subject.clock, like->subject.clock) == 0)
			return fact_is_known(&row->stats.fact) ? &row->stats : NULL;
	}
	return NULL;
}

void bench_evaluate(struct bench *bench)
{
	bench->found = false;
	for (size_t i = 0; i < bench->row_count; i++) {
		struct bench_row *row = &bench->rows[i];
		const struct ns_stats *raw = bench_find_stats(bench, row, PATH_SYSCALL);
		bool known = fact_is_known(&row->stats.fact);

		fact_set(&row->ratio.fact, FACT_UNREAD, "not measured by each path");
		if (known && raw)
			fact_set_real(&row->ratio, raw->ns.minimum / row->stats.ns.minimum);
		bench->found = bench->found || known;
	}
	for (size_t i = 0; i < bench->run_count; i++) {
		struct bench_run *run = &bench->runs[i];

		run->ns = NS_PER_SECOND * (run->user_s + run->sys_s) / (double)run->calls;
		bench->found = bench->found || fact_is_known(&run->fact);
	}
}

/* ---- noise ---- */

/*
 * The answer is made of minima, which noise does not change, as long as some batches were
 * undisturbed. Where half of the batches took this share longer or more, the minimum is not what a
 * call costs on this machine.
 */
#define ANSWER_EXCESS_QUIET 0.25

static double find_excess(const struct ns_stats *stats)
{
	if (!stats || !fact_is_known(&stats->fact) || isnan(stats->ns.trimmed_mean) ||
		stats->ns.minimum <= 0)
		return NAN;
	return stats->ns.median / stats->ns.minimum - 1;
}

/* A call of which no batch was judged has no excess: nothing says that it was quiet. */
static double find_answer_excess(const struct bench *bench)
{
	double most = NAN;

	for (enum call_path path = PATH_VDSO; path < PATH_COUNT; path++)
		most = fmax(
			most, find_excess(bench_find_stats(bench, bench_answer_row(bench), path)));
	return most;
}

struct noise noise_find(const struct bench *bench)
{
	uint64_t discarded = 0, samples = 0, outliers = 0;
	double excess[CALL_MAX * PATH_COUNT];
	struct noise noise = {.answer_excess = find_answer_excess(bench)};
	size_t count = 0;

	for (size_t i = 0; i < bench->row_count; i++) {
		const struct ns_stats *stats = &bench->rows[i].stats;

		noise.batches += stats->batches.begun;
		discarded += stats->batches.preempted + stats->batches.migrated +
		             stats->batches.too_short + stats->batches.stalled;
		samples += stats->ns.count;
		outliers += stats->ns.outliers;
		excess[count] = find_excess(stats);
		count += excess[count] >= 0;
	}
	if (isnan(noise.answer_excess)) {
		fact_set(&noise.fact, FACT_UNREAD, "the call was not measured often enough");
		return noise;
	}
	fact_set_known(&noise.fact);
	noise.discarded_share = (double)discarded / (double)noise.batches;
	noise.outlier_share = (double)outliers / (double)samples;
	noise.median_excess = statistics_median(excess, count);
	noise.quiet = noise.answer_excess <= ANSWER_EXCESS_QUIET;
	return noise;
}
