/* SPDX-License-Identifier: MIT */
/*
 * A benchmark: its memory, shared with the children that measure, and its parts in order.
 */
#include "model.h"

#include "base/child.h"
#include "base/text.h"
#include "contention.h"

size_t bench_count_wanted(const struct bench_plan *plan)
{
	struct bench_subject subject;
	const struct call *call;
	size_t count = 0;

	for (size_t at = 0; bench_next(plan, &at, &subject, &call);)
		count++;
	return count;
}

const char *bench_path_name(enum call_path path)
{
	static const char *const names[PATH_COUNT] = {
		[PATH_VDSO] = "vdso",
		[PATH_LIBC] = "libc",
		[PATH_SYSCALL] = "syscall",
	};

	return names[path];
}

bool bench_next(const struct bench_plan *plan, size_t *at, struct bench_subject *subject,
	const struct call **call)
{
	for (; *at < plan->calls->count * PATH_COUNT; ++*at) {
		size_t place = *at / PATH_COUNT;
		const struct call_row *row = &plan->calls->rows[place];

		subject->path = (enum call_path)(*at % PATH_COUNT);
		if (!plan->wanted[place][subject->path])
			continue;
		*call = &row->path[subject->path];
		text_copy(subject->call, sizeof(subject->call), row->call);
		text_copy(subject->clock, sizeof(subject->clock), row->clock);
		++*at;
		return true;
	}
	return false;
}

static bool is_table(const struct bench_plan *plan)
{
	return !plan->count_count && !plan->threads;
}

/* The reason for what the plan leaves out. */
static void explain_what_is_missing(struct bench *bench, const struct bench_plan *plan)
{
	const char *why = is_table(plan) ? "stopped before it was measured" : "not asked for";

	for (size_t i = 0; i < BASELINE_COUNT; i++)
		fact_set(&bench->baselines[i].fact, FACT_UNREAD, "%s", why);
	fact_set(&bench->filter.fact, FACT_UNREAD, "%s", why);
}

struct bench *bench_new(const struct bench_plan *plan, struct fact *why)
{
	size_t wanted = bench_count_wanted(plan);
	size_t rows = wanted * (plan->cpu_count ? plan->cpu_count : 1);
	size_t runs = wanted * plan->count_count * (plan->cpu_count ? plan->cpu_count : 1);
	size_t bytes = sizeof(struct bench) + rows * sizeof(struct bench_row) +
	               runs * sizeof(struct bench_count) + wanted * sizeof(struct bench_contention);
	struct bench *bench = child_share(bytes, why);

	if (!bench)
		return NULL;
	bench->bytes = bytes;
	bench->rows = (struct bench_row *)(bench + 1);
	bench->runs = (struct bench_count *)(bench->rows + rows);
	bench->contentions = (struct bench_contention *)(bench->runs + runs);
	explain_what_is_missing(bench, plan);
	return bench;
}

void bench_free(struct bench *bench)
{
	child_unshare(bench, bench->bytes);
}

bool bench_has_found(const struct bench *bench)
{
	size_t found = 0;

	for (size_t i = 0; i < bench->row_count; i++)
		found += fact_is_known(&bench->rows[i].stats.fact);
	for (size_t i = 0; i < bench->run_count; i++)
		found += fact_is_known(&bench->runs[i].fact);
	for (size_t i = 0; i < bench->contention_count; i++)
		found += fact_is_known(&bench->contentions[i].fact);
	return found > 0;
}

static void measure_table(
	struct bench *bench, const struct bench_plan *plan, bench_progress *progress)
{
	bench_table_measure(bench, plan, progress);
	if (!bench->stop)
		bench_clock_all(bench, plan);
	if (!bench->stop)
		seccomp_overhead_find(&bench->filter);
	bench->stopped = bench->stop;
}

void bench_measure(struct bench *bench, const struct bench_plan *plan, bench_progress *progress)
{
	if (plan->count_count)
		bench_count_all(bench, plan, progress);
	if (plan->threads)
		bench_contention_all(bench, plan, progress);
	if (is_table(plan))
		measure_table(bench, plan, progress);
}
