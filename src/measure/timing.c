/* SPDX-License-Identifier: MIT */
#include "measure/timing.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fault.h"
#include "base/kernel_clock.h"
#include "base/text.h"
#include "measure/affinity.h"
#include "measure/counter.h"
#include "measure/statistics.h"
#include "measure/stopwatch.h"

#define CHILD_SECONDS 60

/* Far below a time slice, far above the stopwatch's own cost. */
#define CHUNK_NS 20000

/* A call slower than a chunk is a chunk of its own. */
#define REPEATS_MAX (1 << 20)

/* One chunk of everything is a round. As many as fit the time, but enough for a minimum. */
#define ROUNDS_NS 28000000
#define ROUNDS_LEAST 9
#define ROUNDS_MAX 128

/* Calls before each chunk that fill the caches again: a part of the chunk's calls. */
#define WARM_PART 16

enum series_kind { SERIES_CALL, SERIES_COUNTER, SERIES_NOTHING };

struct series {
	bool exists;
	enum series_kind kind;
	struct call call; /* of a SERIES_CALL */
	size_t repeats; /* calls in a chunk */
	int signal;     /* the call faulted */
	double chunks[ROUNDS_MAX]; /* ticks per call */
	double min;
	double median;
};

struct measurement {
	struct evidence *shared; /* with the parent */
	const struct call (*calls)[PATH_COUNT]; /* as given */
	struct stopwatch watch;
	uint64_t chunk_ticks;
	size_t rounds;
	struct series of_call[CALL_MAX][PATH_COUNT];
	struct series entry;
	struct series counter;
	struct series nothing; /* the loop alone */
};

static void visit_all(struct measurement *measurement,
	void (*visit)(struct measurement *measurement, struct series *series))
{
	for (size_t i = 0; i < measurement->shared->call_count; i++) {
		for (int path = 0; path < PATH_COUNT; path++)
			visit(measurement, &measurement->of_call[i][path]);
	}
	visit(measurement, &measurement->entry);
	visit(measurement, &measurement->counter);
	visit(measurement, &measurement->nothing);
}

static void series_repeat(const struct series *series, size_t count)
{
	switch (series->kind) {
	case SERIES_CALL:
		call_repeat(&series->call, count);
		break;
	case SERIES_COUNTER:
		counter_repeat(count);
		break;
	case SERIES_NOTHING:
		call_repeat_nothing(count);
		break;
	}
}

static uint64_t time_repeats(
	const struct measurement *measurement, const struct series *series, size_t count)
{
	uint64_t start = stopwatch_ticks(&measurement->watch);
	uint64_t taken;

	series_repeat(series, count);
	taken = stopwatch_ticks(&measurement->watch) - start;
	return taken > measurement->watch.overhead ? taken - measurement->watch.overhead : 0;
}

static void warm_once(void *argument)
{
	series_repeat(argument, 1);
}

/* Doubles the calls until they take half a chunk, then scales to a whole one. */
static void find_repeats(struct measurement *measurement, struct series *series)
{
	uint64_t taken = 0;
	double wanted;

	if (!series->exists)
		return;
	series->signal = fault_guard(warm_once, series);
	if (series->signal)
		return;
	series->repeats = 1;
	for (;;) {
		taken = time_repeats(measurement, series, series->repeats);
		if (taken >= measurement->chunk_ticks / 2 || series->repeats >= REPEATS_MAX)
			break;
		series->repeats *= 2;
	}
	wanted = (double)series->repeats * (double)measurement->chunk_ticks /
		 (double)(taken ? taken : 1);
	if (wanted < (double)series->repeats * 2)
		series->repeats = wanted < 1 ? 1 : (size_t)wanted;
}

static bool is_measured(const struct series *series)
{
	return series->exists && !series->signal;
}

static void time_chunk(struct measurement *measurement, struct series *series)
{
	uint64_t taken;

	if (!is_measured(series))
		return;
	series_repeat(series, series->repeats / WARM_PART);
	taken = time_repeats(measurement, series, series->repeats);
	series->chunks[measurement->rounds] = (double)taken / (double)series->repeats;
}

static void run_rounds(struct measurement *measurement)
{
	int64_t start = kernel_clock_ns(CLOCK_MONOTONIC);

	while (measurement->rounds < ROUNDS_MAX) {
		if (measurement->rounds >= ROUNDS_LEAST &&
			kernel_clock_ns(CLOCK_MONOTONIC) - start >= ROUNDS_NS)
			break;
		visit_all(measurement, time_chunk);
		measurement->rounds++;
	}
}

static void sum_up(struct measurement *measurement, struct series *series)
{
	if (!is_measured(series))
		return;
	series->min = statistics_minimum(series->chunks, measurement->rounds);
	series->median = statistics_median(series->chunks, measurement->rounds);
}

/*
 * Only the counting is taken off. The call instruction stays in: whoever makes the call pays
 * for it, and what an empty function takes is no measure of it, since the CPU overlaps it.
 */
static double without_loop(
	const struct measurement *measurement, double ticks, double ns_per_tick)
{
	double rest = ticks - measurement->nothing.min;

	return rest > 0 ? rest * ns_per_tick : 0;
}

static void report_call(const struct measurement *measurement, const struct series *series,
	double ns_per_tick, struct path_evidence *path)
{
	if (!series->exists)
		return;
	path->signal = series->signal;
	if (series->signal)
		return;
	path->min_ns = without_loop(measurement, series->min, ns_per_tick);
	path->median_ns = without_loop(measurement, series->median, ns_per_tick);
	path->timed = true;
}

static void report(struct measurement *measurement)
{
	struct evidence *shared = measurement->shared;
	struct timing_evidence *timing = &shared->timing;
	double ns_per_tick = stopwatch_ns_per_tick(&measurement->watch);

	for (size_t i = 0; i < shared->call_count; i++) {
		for (int path = 0; path < PATH_COUNT; path++)
			report_call(measurement, &measurement->of_call[i][path], ns_per_tick,
				&shared->calls[i].path[path]);
	}
	if (is_measured(&measurement->entry)) {
		timing->entry_ns =
			without_loop(measurement, measurement->entry.min, ns_per_tick);
		fact_set_known(&timing->entry_fact);
	}
	if (is_measured(&measurement->counter))
		timing->counter_ns =
			without_loop(measurement, measurement->counter.min, ns_per_tick);
	timing->chunks = (unsigned)measurement->rounds;
}

/* The CPU we are on is as good as any, and the next one may be somebody else's. */
static int pin_here(void)
{
	unsigned cpu = 0;

	if (syscall(SYS_getcpu, &cpu, NULL, NULL) < 0 || !affinity_pin((int)cpu))
		return -1;
	return (int)cpu;
}

static void set_up(struct measurement *measurement)
{
	struct timing_evidence *timing = &measurement->shared->timing;

	for (size_t i = 0; i < measurement->shared->call_count; i++) {
		for (int path = 0; path < PATH_COUNT; path++) {
			struct series *series = &measurement->of_call[i][path];

			series->call = measurement->calls[i][path];
			series->exists = series->call.function.any != NULL;
		}
	}
	measurement->nothing = (struct series){.exists = true, .kind = SERIES_NOTHING};
	measurement->entry = (struct series){.exists = true, .call = call_entry()};
	counter_probe(&timing->counter_fact);
	measurement->counter = (struct series){
		.exists = fact_is_known(&timing->counter_fact), .kind = SERIES_COUNTER};
	text_copy(timing->counter, sizeof(timing->counter), counter_name());
}

/* What the parent hands to the child. */
struct job {
	struct evidence *shared; /* timing.fact is the child's answer */
	const struct call (*calls)[PATH_COUNT];
};

static void measure(void *argument)
{
	static struct measurement measurement;
	const struct job *job = argument;

	measurement.shared = job->shared;
	measurement.calls = job->calls;
	measurement.shared->timing.cpu = pin_here();
	set_up(&measurement);
	if (!stopwatch_start(&measurement.watch, measurement.counter.exists)) {
		fact_set(&measurement.shared->timing.fact, FACT_DENIED,
			"the kernel refuses to tell the time, so nothing can be timed");
		return;
	}
	measurement.chunk_ticks =
		(uint64_t)(CHUNK_NS / stopwatch_ns_per_tick(&measurement.watch));
	visit_all(&measurement, find_repeats);
	run_rounds(&measurement);
	visit_all(&measurement, sum_up);
	report(&measurement);
	fact_set_known(&measurement.shared->timing.fact);
}

void timing_measure(struct evidence *evidence, const struct call calls[CALL_MAX][PATH_COUNT])
{
	struct job job = {.calls = calls};
	struct fact why = {0};

	job.shared = child_share(sizeof(*job.shared), &evidence->timing.fact);
	if (!job.shared)
		return;
	*job.shared = *evidence;
	if (child_run(measure, &job, CHILD_SECONDS, &why))
		*evidence = *job.shared;
	else
		evidence->timing.fact = why;
	child_unshare(job.shared, sizeof(*job.shared));
}
