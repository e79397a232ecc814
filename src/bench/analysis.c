/* SPDX-License-Identifier: MIT */
/*
 * Draws conclusions from a benchmark's numbers: the ratios, the parts of a clock call's cost by the
 * baselines, and how far the numbers can be trusted. Pure.
 */
#include "model.h"

#include <math.h>
#include <string.h>

#include "base/time.h"
#include "measure/sampler.h"

/* ---- the answer ---- */

bool bench_is_of_monotonic(const struct bench_row *row)
{
	return row && strcmp(row->subject.call, "clock_gettime") == 0 &&
	       strcmp(row->subject.clock, "CLOCK_MONOTONIC") == 0;
}

const struct bench_row *bench_answer_row(const struct bench *bench)
{
	for (size_t i = 0; i < bench->row_count; i++) {
		if (bench_is_of_monotonic(&bench->rows[i]))
			return &bench->rows[i];
	}
	return bench->row_count ? &bench->rows[0] : NULL;
}

bool bench_is_same_cpu(const struct number_fact *left, const struct number_fact *right)
{
	return left->fact.state == right->fact.state && left->value == right->value;
}

const struct ns_stats *bench_find_stats(
	const struct bench *bench, const struct bench_row *like, enum call_path path)
{
	for (size_t i = 0; like && i < bench->row_count; i++) {
		const struct bench_row *row = &bench->rows[i];

		if (row->subject.path == path && bench_is_same_cpu(&row->cpu, &like->cpu) &&
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
	for (size_t i = 0; i < bench->contention_count; i++) {
		struct bench_contention *contention = &bench->contentions[i];

		contention->factor = contention->together.ns / contention->alone.ns;
		bench->found = bench->found || fact_is_known(&contention->fact);
	}
}

/* ---- breakdown ---- */

static struct real_fact baseline_ns(const struct bench *bench, enum baseline baseline)
{
	const struct ns_stats *stats = &bench->baselines[baseline].stats;

	return (struct real_fact){.fact = stats->fact, .value = stats->ns.minimum};
}

static struct real_fact subtract(struct real_fact whole, const struct real_fact *part)
{
	whole.value = fmax(whole.value - part->value, 0);
	return fact_is_known(&part->fact) ? whole : *part;
}

struct breakdown breakdown_find(const struct bench *bench)
{
	struct real_fact ordered = baseline_ns(bench, BASELINE_ORDERED);
	struct breakdown parts = {
		.syscall = baseline_ns(bench, BASELINE_CLOCK_SYSCALL),
		.entry = baseline_ns(bench, BASELINE_GETPPID),
		.vdso = baseline_ns(bench, BASELINE_CLOCK_VDSO),
		.counter = baseline_ns(bench, BASELINE_COUNTER),
	};

	parts.kernel = subtract(parts.syscall, &parts.entry);
	parts.order = subtract(ordered, &parts.counter);
	parts.arithmetic = subtract(parts.vdso, &ordered);
	/* Such a call may have entered the kernel, and the rest is not arithmetic. */
	parts.vdso_takes_as_long_as_entry = fact_is_known(&parts.vdso.fact) &&
	                                    fact_is_known(&parts.entry.fact) &&
	                                    parts.vdso.value >= parts.entry.value;
	if (parts.vdso_takes_as_long_as_entry)
		fact_set(&parts.arithmetic.fact, FACT_FAILED,
			"no less than a kernel entry: it may be a system call");
	return parts;
}

/* ---- noise ---- */

/*
 * The answer is made of minima, which noise does not change, as long as some batches were
 * undisturbed. Where half of the batches took this share longer or more, the minimum is not what a
 * call costs on this machine.
 */
#define ANSWER_EXCESS_QUIET 0.25

/* Rows beyond this number are left out: all CPUs of a large machine show the same. */
#define ROWS_MAX 1024

static double find_excess(const struct ns_stats *stats)
{
	if (!stats || !fact_is_known(&stats->fact) || isnan(stats->ns.trimmed_mean) ||
		stats->ns.minimum <= 0)
		return NAN;
	return stats->ns.median / stats->ns.minimum - 1;
}

struct noise noise_find(const struct bench *bench)
{
	uint64_t discarded = 0, samples = 0, outliers = 0;
	double excess[ROWS_MAX];
	struct noise noise = {0};
	size_t count = 0;

	for (size_t i = 0; i < bench->row_count && i < ROWS_MAX; i++) {
		const struct ns_stats *stats = &bench->rows[i].stats;

		noise.batches += stats->batches.begun;
		discarded += stats->batches.preempted + stats->batches.migrated +
		             stats->batches.too_short + stats->batches.stalled;
		samples += stats->ns.count;
		outliers += stats->ns.outliers;
		excess[count] = find_excess(stats);
		count += excess[count] >= 0;
	}
	if (!count) {
		fact_set(&noise.fact, FACT_UNREAD, "no call was measured often enough");
		return noise;
	}
	fact_set_known(&noise.fact);
	noise.discarded_share = (double)discarded / (double)noise.batches;
	noise.outlier_share = (double)outliers / (double)samples;
	noise.median_excess = statistics_median(excess, count);
	for (enum call_path path = PATH_VDSO; path < PATH_COUNT; path++)
		noise.answer_excess = fmax(noise.answer_excess,
			find_excess(bench_find_stats(bench, bench_answer_row(bench), path)));
	noise.quiet = noise.answer_excess <= ANSWER_EXCESS_QUIET;
	return noise;
}
