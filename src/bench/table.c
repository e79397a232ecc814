/* SPDX-License-Identifier: MIT */
/*
 * Measures the table: every wanted call by every path on one CPU, a batch of each in turn for the
 * given time.
 */
#include "model.h"

#include <stdlib.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/time.h"
#include "measure/cpus.h"

#define BATCH_NS 20000
#define ROUNDS_LEAST 15
#define SAMPLES_MAX 8192
#define CASES_MAX (CALL_MAX * PATH_COUNT)

/* The progress is stored after this time. */
#define SLICE_NS 50000000

/* The parent allocates them: a refusal ends the run. There are SAMPLES_MAX for each case. */
static double *samples;

/* The child's. */
static struct timed_call cases[CASES_MAX];
static struct sampler sampler;

static void pin(struct bench *bench)
{
	int cpu = cpus_pin_here();

	if (cpu >= 0)
		fact_set_number(&bench->cpu, cpu);
	else
		fact_set(&bench->cpu.fact, FACT_DENIED, "the process could not be pinned");
}

static void set_up(struct bench *bench)
{
	struct bench_subject subject;
	const struct call *call;
	size_t count = 0;

	for (size_t place = 0; (call = bench_next(bench->plan, &place, &subject)); count++) {
		bench->rows[bench->row_count++] = (struct bench_row){.subject = subject};
		cases[count] = (struct timed_call){.call = *call,
			.samples = &samples[count * SAMPLES_MAX],
			.capacity = SAMPLES_MAX};
	}
	sampler = (struct sampler){.cases = cases, .count = count};
}

/* Measures in slices, so that the parent can show the progress. */
static void measure_table(void *argument)
{
	struct bench *bench = argument;
	int64_t ns = bench->plan->time_ns;
	int64_t start, elapsed = 0;
	double ns_per_tick;

	pin(bench);
	set_up(bench);
	if (!sampler_start(&sampler, BATCH_NS, &bench->fact))
		return;
	start = kernel_clock_ns(CLOCK_MONOTONIC);
	while (elapsed < ns && !bench->stop) {
		int64_t slice_ns = ns - elapsed < SLICE_NS ? ns - elapsed : SLICE_NS;
		const struct sampler_limits limits = {.ns = slice_ns,
			.rounds_least = ROUNDS_LEAST,
			.rounds_most = SIZE_MAX,
			.stop = &bench->stop};

		sampler_run(&sampler, &limits);
		elapsed = kernel_clock_ns(CLOCK_MONOTONIC) - start;
		bench->done = (uint64_t)elapsed / NS_PER_MS;
	}
	/* The timebase is most exact at the end. */
	ns_per_tick = timebase_ns_per_tick(&sampler.timebase);
	for (size_t i = 0; i < sampler.count; i++)
		ns_stats_compute(&cases[i], ns_per_tick, &bench->rows[i].stats);
}

void bench_table_measure(struct bench *bench)
{
	int64_t time_ns = bench->plan->time_ns;
	struct deadline deadline = deadline_after(2 * time_ns + DEADLINE_SLACK_NS);
	struct fact why = {0};

	samples = xcalloc(bench_count_wanted(bench->plan), SAMPLES_MAX * sizeof(*samples));
	bench->done = 0;
	bench->total = (uint64_t)time_ns / NS_PER_MS;
	if (!child_run(measure_table, bench_show_progress, bench, &deadline, &why))
		bench->fact = why;
	else if (bench->fact.state == FACT_UNREAD)
		fact_set_known(&bench->fact);
	free(samples);
}
