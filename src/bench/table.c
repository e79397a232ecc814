/* SPDX-License-Identifier: MIT */
/*
 * Measures the table: every wanted call by every path on each CPU, and the baselines, a batch of
 * each in turn for the given time.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/time.h"
#include "measure/cpus.h"

#define BATCH_NS 20000
#define ROUNDS_LEAST 15
#define SAMPLES_MAX 8192
#define CASES_MAX (CALL_MAX * PATH_COUNT + BASELINE_COUNT)

/* The progress is stored after this time. */
#define SLICE_NS 50000000

/* Single calls take this part of the time, if they are wanted. */
#define HISTOGRAM_SHARE 0.3

/* Calibration and ROUNDS_LEAST lengthen the deadline by this on each CPU. */
#define SLACK_PER_CPU_NS 500000000

/* The parent allocates both: a refusal ends the run. There are SAMPLES_MAX for each case. */
static double *samples;
static struct single_calls *singles; /* of each row; NULL: no histograms */

/* The child's, for a table on one CPU. */
static struct timed_call cases[CASES_MAX]; /* the rows', then the baselines' */
static struct sampler sampler;

/* Sets up the rows at the end of the bench's, on the first CPU with the baselines. */
static void set_up(struct bench *bench, const struct number_fact *cpu)
{
	bool with_baselines = !bench->row_count;
	struct bench_subject subject;
	const struct call *call;
	size_t count = 0;

	memset(cases, 0, sizeof(cases));
	for (size_t place = 0; (call = bench_next(bench->plan, &place, &subject)); count++) {
		bench->rows[bench->row_count++] =
			(struct bench_row){.subject = subject, .cpu = *cpu};
		cases[count].call = *call;
		if (singles)
			singles[count] = (struct single_calls){.stride = 1};
	}
	if (with_baselines) {
		baseline_set_up(&cases[count],
			call_find(bench->plan->calls, "clock_gettime", "CLOCK_MONOTONIC"));
		bench->baseline_count = BASELINE_COUNT;
		count += BASELINE_COUNT;
	}
	sampler = (struct sampler){.cases = cases, .count = count};
	for (size_t i = 0; i < count; i++) {
		cases[i].samples = &samples[i * SAMPLES_MAX];
		cases[i].capacity = SAMPLES_MAX;
	}
}

/* Measures in slices, so that the parent can show the progress. */
static void measure_here(struct bench *bench, struct bench_row *rows, int64_t ns)
{
	size_t row_count = (size_t)(&bench->rows[bench->row_count] - rows);
	double histogram_share = singles ? HISTOGRAM_SHARE : 0;
	uint64_t done = bench->done;
	int64_t start, elapsed = 0;
	double ns_per_tick;

	if (!sampler_start(&sampler, BATCH_NS, &bench->fact))
		return;
	start = kernel_clock_ns(CLOCK_MONOTONIC);
	while (elapsed < ns && !bench->stop) {
		int64_t slice_ns = ns - elapsed < SLICE_NS ? ns - elapsed : SLICE_NS;
		const struct sampler_limits limits = {
			.ns = (int64_t)((1 - histogram_share) * (double)slice_ns),
			.rounds_least = ROUNDS_LEAST,
			.rounds_most = SIZE_MAX,
			.stop = &bench->stop};
		int64_t end = start + elapsed + slice_ns;

		sampler_run(&sampler, &limits);
		do {
			for (size_t i = 0; singles && i < row_count && !bench->stop; i++)
				histogram_take(&singles[i], &cases[i], &sampler.timebase);
			elapsed = kernel_clock_ns(CLOCK_MONOTONIC) - start;
		} while (singles && !bench->stop && start + elapsed < end);
		bench->done = done + (uint64_t)elapsed / NS_PER_MS;
	}
	/* The timebase is most exact at the end. */
	ns_per_tick = timebase_ns_per_tick(&sampler.timebase);
	for (size_t i = 0; i < sampler.count; i++)
		ns_stats_compute(&cases[i], ns_per_tick,
			i < row_count ? &rows[i].stats : &bench->baselines[i - row_count].stats);
	for (size_t i = 0; i < row_count && singles; i++)
		histogram_finish(&rows[i].histogram, &singles[i], ns_per_tick);
}

static void measure_table(void *argument)
{
	struct bench *bench = argument;
	const struct bench_plan *plan = bench->plan;
	size_t cpus = plan->cpu_count ? plan->cpu_count : 1;

	for (size_t i = 0; i < cpus && !bench->stop && bench->fact.state == FACT_UNREAD; i++) {
		struct bench_row *rows = &bench->rows[bench->row_count];
		struct number_fact cpu = bench_pin(plan, i);
		int here = plan->cpu_count ? -1 : cpus_pin_here();

		if (here >= 0)
			fact_set_number(&cpu, here);
		set_up(bench, &cpu);
		measure_here(bench, rows, plan->time_ns / (int64_t)cpus);
	}
}

void bench_table_measure(struct bench *bench)
{
	int64_t time_ns = bench->plan->time_ns;
	struct deadline deadline =
		deadline_after(2 * time_ns + DEADLINE_SLACK_NS +
			       (int64_t)bench->plan->cpu_count * SLACK_PER_CPU_NS);
	struct fact why = {0};

	samples = xcalloc(
		bench_count_wanted(bench->plan) + BASELINE_COUNT, SAMPLES_MAX * sizeof(*samples));
	singles = bench->plan->histogram
	                  ? xcalloc(bench_count_wanted(bench->plan), sizeof(*singles))
	                  : NULL;
	bench->done = 0;
	bench->total = (uint64_t)time_ns / NS_PER_MS;
	if (!child_run(measure_table, bench_show_progress, bench, &deadline, &why))
		bench->fact = why;
	else if (bench->fact.state == FACT_UNREAD)
		fact_set_known(&bench->fact);
	free(samples);
	free(singles);
}
