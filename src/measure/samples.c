/* SPDX-License-Identifier: MIT */
/*
 * Samples: things measured in batches of about the same time, one batch of each in turn, so that
 * whatever drifts hits all of them alike. A batch during which the thread lost its CPU is
 * discarded and counted.
 */
#include "measure/samples.h"

#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/units.h"
#include "measure/call.h"
#include "measure/counter.h"
#include "measure/cpus.h"

/* ---- one series ---- */

/* A thing slower than a batch is a batch of its own. */
#define ITERATIONS_MAX (1 << 20)

/* The part of a batch's iterations that is repeated before it, to fill the caches again. */
#define WARM_PART 16

/* The least of several tries is how long it takes: any one may have been interrupted. */
#define TRIES 3

/*
 * Interrupts and slower neighbours make a batch at most a few times longer. Another thread can
 * make it this much longer, but that is counted as a context switch; otherwise the whole virtual
 * machine was stopped.
 */
#define STALL_FACTOR 20

void series_repeat_call(const void *call, size_t count)
{
	call_repeat(call, count);
}

void series_repeat_counter(const void *unused, size_t count)
{
	(void)unused;
	counter_repeat(count);
}

void series_repeat_ordered(const void *unused, size_t count)
{
	(void)unused;
	counter_repeat_ordered(count);
}

static uint64_t time_iterations(
	const struct series *series, const struct timebase *timebase, size_t count)
{
	uint64_t start = timebase_ticks(timebase);
	uint64_t taken;

	series->repeat(series->subject, count);
	taken = timebase_ticks(timebase) - start;
	return taken > timebase->overhead ? taken - timebase->overhead : 0;
}

static uint64_t time_least(const struct series *series, const struct timebase *timebase)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t taken = time_iterations(series, timebase, series->iterations);

		least = taken < least ? taken : least;
	}
	return least;
}

static void try_once(void *argument)
{
	const struct series *series = argument;

	series->repeat(series->subject, 1);
}

/* Doubles the iterations until they take half a batch, then scales to a whole one. */
void series_calibrate(struct series *series, const struct timebase *timebase, uint64_t batch_ticks)
{
	uint64_t taken;
	double wanted;

	if (!series->repeat)
		return;
	series->signal = fault_guard(try_once, series);
	if (series->signal)
		return;
	for (series->iterations = 1;; series->iterations *= 2) {
		taken = time_iterations(series, timebase, series->iterations);
		if (taken >= batch_ticks / 2)
			taken = time_least(series, timebase);
		if (taken >= batch_ticks / 2 || series->iterations >= ITERATIONS_MAX)
			break;
	}
	wanted = (double)series->iterations * (double)batch_ticks / (double)(taken ? taken : 1);
	if (wanted < (double)series->iterations * 2)
		series->iterations = wanted < 1 ? 1 : (size_t)wanted;
}

/*
 * The samples span the whole run: when they are full, every second one goes, and of the batches
 * that follow, half as many are kept as before.
 */
static void keep(struct series *series, double sample)
{
	if (series->kept == 0 || sample < series->least)
		series->least = sample;
	if (series->stride == 0)
		series->stride = 1;
	if (series->capacity == 0 || series->kept++ % series->stride != 0)
		return;
	if (series->count == series->capacity) {
		series->count = 0;
		for (size_t i = 0; i < series->capacity; i += 2)
			series->samples[series->count++] = series->samples[i];
		series->stride *= 2;
	}
	if (series->count < series->capacity)
		series->samples[series->count++] = sample;
}

/* True, and counted, if the batch does not show what the thing costs. */
static bool discard(
	struct series *series, enum sched_change change, uint64_t taken, uint64_t batch_ticks)
{
	if (change == SCHED_MIGRATED)
		series->moved++;
	else if (change == SCHED_SWITCHED)
		series->preempted++;
	else if (taken == 0)
		series->too_short++;
	else if (series->iterations > 1 && taken > STALL_FACTOR * batch_ticks)
		series->stalled++;
	else
		return false;
	return true;
}

void series_take_batch(struct series *series, const struct timebase *timebase, uint64_t batch_ticks)
{
	struct sched_mark before;
	enum sched_change change;
	uint64_t taken;

	if (!series->repeat || series->signal)
		return;
	before = sched_mark_take();
	series->repeat(series->subject, series->iterations / WARM_PART);
	taken = time_iterations(series, timebase, series->iterations);
	change = sched_mark_compare(before, sched_mark_take());
	series->batches++;
	if (!discard(series, change, taken, batch_ticks))
		keep(series, (double)taken / (double)series->iterations);
}

bool series_is_measured(const struct series *series)
{
	return series->count > 0;
}

/* ---- all in turn ---- */

/*
 * A counter that ticks rarely (cntvct at 19 to 62 MHz, RISC-V's at 1 to 10) needs longer
 * batches to be read to a part in four hundred, as long as they stay short.
 */
#define BATCH_TICKS_LEAST 400
#define BATCH_NS_MOST 100000

/* What a read of a slow clock or of an intercepted counter takes must be a part of a batch. */
#define BATCH_OVERHEADS_LEAST 5

/* A batch of fewer steps of the clock is not timed but guessed. */
#define BATCH_STEPS_LEAST 20

static uint64_t ticks_of_batch(const struct timebase *timebase, double batch_ns)
{
	double ns_per_tick = timebase_ns_per_tick(timebase);
	double step = (double)(timebase->resolution ? timebase->resolution : 1);
	double ticks = batch_ns / ns_per_tick;

	ticks = fmax(ticks, fmin(BATCH_TICKS_LEAST * step, BATCH_NS_MOST / ns_per_tick));
	return (uint64_t)fmax(ticks, (double)(BATCH_OVERHEADS_LEAST * timebase->overhead));
}

bool sampler_start(struct sampler *sampler, bool by_counter, int64_t batch_ns, struct fact *why)
{
	const struct timebase *timebase = &sampler->timebase;

	if (!timebase_start(&sampler->timebase, by_counter)) {
		fact_set(why, FACT_DENIED, "reading the clock by system call is refused");
		return false;
	}
	if (timebase->resolution * BATCH_STEPS_LEAST > BATCH_NS_MOST) {
		fact_set(why, FACT_FAILED,
			"no counter to read, and the clock, which moves every %.0f us, is too "
			"coarse to time calls with",
			(double)timebase->resolution / NS_PER_US);
		return false;
	}
	sampler->rounds = 0;
	sampler->batch_ticks = ticks_of_batch(timebase, (double)batch_ns);
	for (size_t i = 0; i < sampler->count; i++)
		series_calibrate(&sampler->series[i], &sampler->timebase, sampler->batch_ticks);
	return true;
}

static bool is_stopped(const struct sampler_limits *limits)
{
	return limits->stop && *limits->stop;
}

static bool is_done(
	const struct sampler *sampler, const struct sampler_limits *limits, int64_t start)
{
	if (sampler->rounds >= limits->rounds_most || is_stopped(limits))
		return true;
	return sampler->rounds >= limits->rounds_least &&
	       kernel_clock_ns(CLOCK_MONOTONIC) - start >= limits->ns;
}

void sampler_run(struct sampler *sampler, const struct sampler_limits *limits)
{
	int64_t start = kernel_clock_ns(CLOCK_MONOTONIC);

	while (!is_done(sampler, limits, start)) {
		for (size_t i = 0; i < sampler->count && !is_stopped(limits); i++)
			series_take_batch(
				&sampler->series[i], &sampler->timebase, sampler->batch_ticks);
		sampler->rounds++;
	}
}

double sampler_ns_per_tick(const struct sampler *sampler)
{
	return timebase_ns_per_tick(&sampler->timebase);
}
