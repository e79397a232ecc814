/* SPDX-License-Identifier: MIT */
/*
 * The table: every wanted call by every path on each CPU, and the baselines, a batch of each in
 * turn for the given time.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/units.h"
#include "measure/cpus.h"

#define BATCH_NS 20000
#define ROUNDS_LEAST 15
#define SAMPLES_MAX 8192
#define CASES_MAX (CALL_MAX * PATH_COUNT + BASELINE_COUNT)

/* Between two looks at how far it is. */
#define SLICE_NS 50000000

/* The part of the time that single calls take, if they are wanted. */
#define HISTOGRAM_SHARE 0.3

#define SLACK_NS 60000000000

/* The measurement on one CPU. */
struct table {
	struct bench *bench;
	const struct bench_plan *plan;
	struct bench_row *rows; /* of this CPU */
	size_t row_count;
	bool with_baselines;
	struct round_robin robin;
	struct bench_case cases[CASES_MAX]; /* the rows', then the baselines' */
	double *samples;
};

struct job {
	struct bench *bench;
	const struct bench_plan *plan;
	bench_progress *progress;
};

static void set_up_rows(struct table *table, int cpu)
{
	struct bench_subject subject;
	const struct call *call;

	table->row_count = 0;
	for (size_t at = 0; bench_next(table->plan, &at, &subject, &call); table->row_count++) {
		table->rows[table->row_count] = (struct bench_row){.subject = subject, .cpu = cpu};
		table->cases[table->row_count].call = *call;
	}
}

/* False if memory ran out. */
static bool set_up(struct table *table, int cpu)
{
	memset(table->cases, 0, sizeof(table->cases));
	set_up_rows(table, cpu);
	table->robin = (struct round_robin){.cases = table->cases, .count = table->row_count};
	if (table->with_baselines) {
		baseline_set_up(&table->cases[table->row_count],
			call_find(table->plan->calls, "clock_gettime", "CLOCK_MONOTONIC"));
		table->robin.count += BASELINE_COUNT;
	}
	table->samples = calloc(table->robin.count, SAMPLES_MAX * sizeof(double));
	if (!table->samples)
		return false;
	for (size_t i = 0; i < table->robin.count; i++) {
		table->cases[i].samples = &table->samples[i * SAMPLES_MAX];
		table->cases[i].capacity = SAMPLES_MAX;
	}
	return true;
}

static void take_histograms(struct table *table, int64_t ns)
{
	int64_t start = kernel_clock_ns(CLOCK_MONOTONIC);
	double ns_per_tick = timebase_ns_per_tick(&table->robin.timebase);
	uint64_t done = table->bench->done;
	int64_t elapsed;

	do {
		for (size_t i = 0; i < table->row_count && !table->bench->stop; i++)
			histogram_take(&table->rows[i].histogram, &table->cases[i],
				&table->robin.timebase, ns_per_tick);
		elapsed = kernel_clock_ns(CLOCK_MONOTONIC) - start;
		table->bench->done = done + (uint64_t)elapsed / NS_PER_MS;
	} while (!table->bench->stop && elapsed < ns);
}

/* In slices, so that the parent can show the progress. */
static void take_rounds(struct table *table, int64_t ns)
{
	int64_t start = kernel_clock_ns(CLOCK_MONOTONIC);
	uint64_t done = table->bench->done;
	int64_t elapsed = 0;

	while (elapsed < ns && !table->bench->stop) {
		const struct round_robin_limits limits = {
			.ns = ns - elapsed < SLICE_NS ? ns - elapsed : SLICE_NS,
			.rounds_least = ROUNDS_LEAST,
			.rounds_most = SIZE_MAX,
			.stop = &table->bench->stop};

		round_robin_run(&table->robin, &limits);
		elapsed = kernel_clock_ns(CLOCK_MONOTONIC) - start;
		table->bench->done = done + (uint64_t)elapsed / NS_PER_MS;
	}
}

static void report(struct table *table)
{
	double ns_per_tick = timebase_ns_per_tick(&table->robin.timebase);

	for (size_t i = 0; i < table->row_count; i++)
		ns_stats_compute(&table->cases[i], ns_per_tick, &table->rows[i].stats);
	for (size_t i = 0; table->with_baselines && i < BASELINE_COUNT; i++)
		ns_stats_compute(&table->cases[table->row_count + i], ns_per_tick,
			&table->bench->baselines[i]);
}

static void measure_here(struct table *table, int cpu, int64_t ns)
{
	struct bench *bench = table->bench;
	int64_t single_ns = table->plan->histogram ? (int64_t)(HISTOGRAM_SHARE * (double)ns) : 0;

	if (!set_up(table, cpu)) {
		fact_set(&bench->fact, FACT_FAILED, "out of memory for the samples");
		return;
	}
	bench->row_count += table->row_count;
	if (!round_robin_start(&table->robin, BATCH_NS, &bench->fact))
		return;
	take_rounds(table, ns - single_ns);
	if (single_ns)
		take_histograms(table, single_ns);
	report(table);
	free(table->samples);
}

static void measure(void *argument)
{
	static struct table table;
	const struct job *job = argument;
	size_t cpus = job->plan->cpu_count ? job->plan->cpu_count : 1;
	struct bench *bench = job->bench;
	int cpu;

	table.bench = bench;
	table.plan = job->plan;
	for (size_t i = 0; i < cpus && !bench->stop && bench->fact.state == FACT_UNREAD; i++) {
		table.rows = &bench->rows[bench->row_count];
		table.with_baselines = i == 0;
		if (!job->plan->cpu_count)
			cpu = cpus_pin_here();
		else
			cpu = cpus_pin(job->plan->cpus[i]) ? job->plan->cpus[i] : -1;
		measure_here(&table, cpu, job->plan->time_ns / (int64_t)cpus);
	}
}

static void look(void *argument)
{
	const struct job *job = argument;

	job->progress(job->bench);
}

void bench_table_measure(
	struct bench *bench, const struct bench_plan *plan, bench_progress *progress)
{
	struct job job = {.bench = bench, .plan = plan, .progress = progress};
	struct fact why = {0};
	struct deadline deadline = deadline_after(plan->time_ns + SLACK_NS);

	bench->done = 0;
	bench->total = (uint64_t)plan->time_ns / NS_PER_MS;
	if (!child_watch(measure, progress ? look : NULL, &job, &deadline, &why))
		bench->fact = why;
	else if (bench->fact.state == FACT_UNREAD)
		fact_set_known(&bench->fact);
}
