/* SPDX-License-Identifier: MIT */
/*
 * Calls measured in batches of about the same time, one batch of each in turn, so that whatever
 * drifts hits all of them alike. A batch during which the thread lost its CPU is discarded and
 * counted.
 */
#include "measure/sampler.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/units.h"
#include "measure/counter.h"
#include "measure/cpus.h"
#include "measure/statistics.h"

/* A call slower than a batch makes a batch alone. */
#define ITERATIONS_MAX (1 << 20)

/* The part of a batch's iterations that is made before it, to fill the caches again. */
#define WARM_PART 16

/* The least of several tries is how long it takes: any one may have been interrupted. */
#define TRIES 3

/*
 * Interrupts and slower neighbours make a batch at most a few times longer. Another thread can
 * make it this much longer, but that is counted as a context switch; otherwise the whole virtual
 * machine was stopped.
 */
#define STALL_FACTOR 20

/*
 * A counter that ticks rarely (cntvct at 19 to 62 MHz, RISC-V's at 1 to 10) needs longer
 * batches to be read to 0.25%, as long as they stay short.
 */
#define BATCH_TICKS_LEAST 400
#define BATCH_NS_MOST 100000

/* A batch takes this many reads of a clock that is slow, or of a counter that is intercepted. */
#define BATCH_OVERHEADS_LEAST 5

/* A batch of fewer steps of the clock is not timed but guessed. */
#define BATCH_STEPS_LEAST 20

static uint64_t batch_time(
	const struct timed_call *one, const struct timebase *timebase, size_t iterations)
{
	uint64_t start = timebase_ticks(timebase);
	uint64_t taken;

	call_repeat(&one->call, iterations);
	taken = timebase_since(timebase, start);
	return taken > timebase->overhead ? taken - timebase->overhead : 0;
}

static void try_once(void *argument)
{
	const struct timed_call *one = argument;

	call_repeat(&one->call, 1);
}

/* Doubles the iterations until they take half a batch, then scales to a whole one. */
void timed_call_calibrate(
	struct timed_call *one, const struct timebase *timebase, uint64_t batch_ticks)
{
	uint64_t taken;
	double wanted;

	if (!one->call.function.any)
		return;
	one->signal = fault_guard(try_once, one);
	if (one->signal)
		return;
	for (one->iterations = 1;; one->iterations *= 2) {
		taken = batch_time(one, timebase, one->iterations);
		for (int i = 1; i < TRIES && taken >= batch_ticks / 2; i++) {
			uint64_t again = batch_time(one, timebase, one->iterations);

			taken = again < taken ? again : taken;
		}
		if (taken >= batch_ticks / 2 || one->iterations >= ITERATIONS_MAX)
			break;
	}
	wanted = (double)one->iterations * (double)batch_ticks / (double)(taken ? taken : 1);
	if (wanted < (double)one->iterations * 2)
		one->iterations = wanted < 1 ? 1 : (size_t)wanted;
}

bool sampler_start(struct sampler *sampler, int64_t batch_ns, struct fact *why)
{
	struct timebase *timebase = &sampler->timebase;
	double ns_per_tick, step, ticks;

	if (!timebase_start(timebase, counter_is_readable())) {
		fact_set(why, FACT_DENIED, "reading the clock by system call is refused");
		return false;
	}
	if (timebase->resolution * BATCH_STEPS_LEAST > BATCH_NS_MOST) {
		fact_set(why, FACT_FAILED,
			"no counter is readable, and the clock, which advances every %.0f us, is "
			"too coarse to time calls",
			(double)timebase->resolution / NS_PER_US);
		return false;
	}
	ns_per_tick = timebase_ns_per_tick(timebase);
	step = (double)(timebase->resolution ? timebase->resolution : 1);
	ticks = fmax((double)batch_ns / ns_per_tick,
		fmin(BATCH_TICKS_LEAST * step, BATCH_NS_MOST / ns_per_tick));
	ticks = fmax(ticks, (double)(BATCH_OVERHEADS_LEAST * timebase->overhead));
	sampler->batch_ticks = (uint64_t)ticks;
	sampler->rounds = 0;
	for (size_t i = 0; i < sampler->count; i++)
		timed_call_calibrate(&sampler->cases[i], timebase, sampler->batch_ticks);
	return true;
}

/*
 * The samples span the whole run: when they are full, every second sample is dropped, and half as
 * many of the batches that follow are kept as before.
 */
static void keep(struct timed_call *one, double sample)
{
	if (one->kept == 0 || sample < one->least)
		one->least = sample;
	if (one->stride == 0)
		one->stride = 1;
	if (one->capacity == 0 || one->kept++ % one->stride != 0)
		return;
	if (one->count == one->capacity) {
		one->count = 0;
		for (size_t i = 0; i < one->capacity; i += 2)
			one->samples[one->count++] = one->samples[i];
		one->stride *= 2;
	}
	if (one->count < one->capacity)
		one->samples[one->count++] = sample;
}

/* True, and counted, if the batch does not show what the call costs. */
static bool discard(
	struct timed_call *one, enum sched_change change, uint64_t taken, uint64_t batch_ticks)
{
	if (change == SCHED_MIGRATED)
		one->moved++;
	else if (change == SCHED_SWITCHED)
		one->preempted++;
	else if (taken == 0)
		one->too_short++;
	else if (one->iterations > 1 && taken > STALL_FACTOR * batch_ticks)
		one->stalled++;
	else
		return false;
	return true;
}

static bool is_stopped(const struct sampler_limits *limits)
{
	return limits->stop && *limits->stop;
}

void sampler_run(struct sampler *sampler, const struct sampler_limits *limits)
{
	int64_t start = kernel_clock_ns(CLOCK_MONOTONIC);

	while (sampler->rounds < limits->rounds_most && !is_stopped(limits) &&
		(sampler->rounds < limits->rounds_least ||
			kernel_clock_ns(CLOCK_MONOTONIC) - start < limits->ns)) {
		for (size_t i = 0; i < sampler->count && !is_stopped(limits); i++) {
			struct timed_call *one = &sampler->cases[i];
			struct sched_mark before;
			enum sched_change change;
			uint64_t taken;

			if (!one->call.function.any || one->signal)
				continue;
			before = sched_mark_take();
			call_repeat(&one->call, one->iterations / WARM_PART);
			taken = batch_time(one, &sampler->timebase, one->iterations);
			change = sched_mark_compare(before, sched_mark_take());
			one->batches++;
			if (!discard(one, change, taken, sampler->batch_ticks))
				keep(one, (double)taken / (double)one->iterations);
		}
		sampler->rounds++;
	}
}

static void explain(const struct timed_call *one, struct fact *fact)
{
	if (!one->call.function.any)
		fact_set(fact, FACT_ABSENT, "not available here");
	else if (one->signal)
		fact_set(
			fact, FACT_FAILED, "the call ends with %s", fault_signal_name(one->signal));
	else if (one->batches == 0)
		fact_set(fact, FACT_UNREAD, "stopped before it was measured");
	else if (one->too_short == one->batches)
		fact_set(fact, FACT_FAILED, "too short for the clock to be timed");
	else
		fact_set(fact, FACT_FAILED, "all %" PRIu64 " batches were disturbed", one->batches);
}

void ns_stats_compute(struct timed_call *one, double ns_per_tick, struct ns_stats *stats)
{
	struct statistics_summary summary;

	*stats = (struct ns_stats){.iterations = one->iterations,
		.batches = one->batches,
		.preempted = one->preempted,
		.moved = one->moved,
		.too_short = one->too_short,
		.stalled = one->stalled};
	if (!one->count) {
		explain(one, &stats->fact);
		return;
	}
	summary = statistics_summarise(one->samples, one->count);
	/* The samples of a long run are not all of its batches; the least is. */
	stats->min_ns = one->least * ns_per_tick;
	stats->median_ns = summary.median * ns_per_tick;
	stats->p99_ns = summary.p99 * ns_per_tick;
	stats->has_mean = summary.has_mean;
	stats->trimmed_mean_ns = summary.trimmed_mean * ns_per_tick;
	stats->samples = summary.count;
	stats->outliers = summary.outliers;
	fact_set_known(&stats->fact);
}
