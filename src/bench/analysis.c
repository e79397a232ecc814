/* SPDX-License-Identifier: MIT */
/*
 * Draws conclusions from a benchmark's numbers: the ratios, the parts of a clock call's cost by the
 * baselines, and how far the numbers can be trusted. Pure.
 */
#include "model.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/time.h"
#include "measure/sampler.h"

/* ---- the answer ---- */

const struct bench_row *bench_answer_row(const struct bench *bench)
{
	for (size_t i = 0; i < bench->row_count; i++) {
		const struct bench_subject *subject = &bench->rows[i].subject;

		if (strcmp(subject->call, "clock_gettime") == 0 &&
			strcmp(subject->clock, "CLOCK_MONOTONIC") == 0)
			return &bench->rows[i];
	}
	return bench->row_count ? &bench->rows[0] : NULL;
}

bool bench_is_same_cpu(const struct number_fact *left, const struct number_fact *right)
{
	return left->fact.state == right->fact.state && left->value == right->value;
}

static const struct bench_row *find_row(
	const struct bench *bench, const struct bench_row *like, enum call_path path)
{
	for (size_t i = 0; like && i < bench->row_count; i++) {
		const struct bench_row *row = &bench->rows[i];

		if (row->subject.path == path && bench_is_same_cpu(&row->cpu, &like->cpu) &&
			strcmp(row->subject.call, like->subject.call) == 0 &&
			strcmp(row->subject.clock, like->subject.clock) == 0)
			return fact_is_known(&row->stats.fact) ? row : NULL;
	}
	return NULL;
}

double bench_min_ns(const struct bench *bench, const struct bench_row *row, enum call_path path)
{
	const struct bench_row *found = find_row(bench, row, path);

	return found ? found->stats.ns.minimum : NAN;
}

void bench_evaluate(struct bench *bench)
{
	bench->found = false;
	for (size_t i = 0; i < bench->row_count; i++) {
		struct bench_row *row = &bench->rows[i];
		double least = bench_min_ns(bench, row, row->subject.path);

		row->ratio = least > 0 ? bench_min_ns(bench, row, PATH_SYSCALL) / least : NAN;
		bench->found = bench->found || fact_is_known(&row->stats.fact);
	}
	for (size_t i = 0; i < bench->run_count; i++) {
		struct bench_run *run = &bench->runs[i];
		bool known = fact_is_known(&run->fact);
		double cpu_ns = NS_PER_SECOND * (run->user_s + run->sys_s);

		run->ns = known && run->calls ? cpu_ns / (double)run->calls : NAN;
		bench->found = bench->found || known;
	}
	for (size_t i = 0; i < bench->contention_count; i++) {
		struct bench_contention *contention = &bench->contentions[i];
		bool known = fact_is_known(&contention->fact);

		contention->ratio = known ? contention->together.ns / contention->alone.ns : NAN;
		bench->found = bench->found || known;
	}
}

/* ---- breakdown ---- */

static double baseline_ns(const struct bench *bench, enum baseline baseline)
{
	const struct ns_stats *stats = &bench->baselines[baseline].stats;

	return fact_is_known(&stats->fact) ? stats->ns.minimum : NAN;
}

/* Returns NAN where either is unknown, which fmax() would drop. */
static double subtract(double whole, double part)
{
	return whole < part ? 0 : whole - part;
}

/* Returns the fact of the first baseline that is not known; without one, a known fact. */
static struct fact find_missing(
	const struct bench *bench, const enum baseline *needed, size_t count)
{
	struct fact known = {.state = FACT_KNOWN};

	for (size_t i = 0; i < count; i++) {
		if (!fact_is_known(&bench->baselines[needed[i]].stats.fact))
			return bench->baselines[needed[i]].stats.fact;
	}
	return known;
}

struct breakdown breakdown_find(const struct bench *bench)
{
	static const enum baseline syscall_baselines[] = {BASELINE_CLOCK_SYSCALL, BASELINE_GETPPID};
	static const enum baseline vdso_baselines[] = {
		BASELINE_CLOCK_VDSO, BASELINE_COUNTER, BASELINE_ORDERED};
	double ordered = baseline_ns(bench, BASELINE_ORDERED);
	struct breakdown parts = {
		.syscall = baseline_ns(bench, BASELINE_CLOCK_SYSCALL),
		/* The cheaper one counts: some kernels take longer to refuse a number. */
		.entry = fmin(
			baseline_ns(bench, BASELINE_ENTRY), baseline_ns(bench, BASELINE_GETPPID)),
		.vdso_fact = find_missing(bench, vdso_baselines, ARRAY_SIZE(vdso_baselines)),
		.vdso = baseline_ns(bench, BASELINE_CLOCK_VDSO),
		.counter = baseline_ns(bench, BASELINE_COUNTER),
	};

	parts.syscall_fact = find_missing(bench, syscall_baselines, isnan(parts.entry) ? 2 : 1);
	parts.kernel = subtract(parts.syscall, parts.entry);
	parts.order = subtract(ordered, parts.counter);
	parts.arithmetic = subtract(parts.vdso, ordered);
	/* Such a call may have entered the kernel, and the rest is not arithmetic. */
	if (parts.vdso >= parts.entry) {
		parts.vdso_takes_as_long_as_entry = true;
		parts.arithmetic = NAN;
		if (fact_is_known(&parts.vdso_fact))
			fact_set(&parts.vdso_fact, FACT_FAILED,
				"no less than a kernel entry: it may be a system call");
	}
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

static double row_excess(const struct bench_row *row)
{
	if (!row || !fact_is_known(&row->stats.fact) || isnan(row->stats.ns.trimmed_mean) ||
		row->stats.ns.minimum <= 0)
		return NAN;
	return row->stats.ns.median / row->stats.ns.minimum - 1;
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
		excess[count] = row_excess(&bench->rows[i]);
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
			row_excess(find_row(bench, bench_answer_row(bench), path)));
	noise.quiet = noise.answer_excess <= ANSWER_EXCESS_QUIET;
	return noise;
}
