/* SPDX-License-Identifier: MIT */
/*
 * Measures calls in batches of about the same time, one batch of each in turn, so that whatever
 * drifts affects all of them alike. A batch during which the thread lost its CPU is discarded and
 * counted.
 */
#include "measure/sampler.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "base/child.h"
#include "base/time.h"
#include "measure/cpus.h"

/* A call slower than a batch is a batch of its own. */
#define ITERATIONS_MAX (1 << 20)

/* One in this many of a batch's iterations is made before it, to fill the caches again. */
#define WARM_PART 16

/* The shortest of several tries counts: any of them may have been interrupted. */
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

/* Fewer steps of the clock in a batch would not time it. */
#define BATCH_STEPS_LEAST 20

static uint64_t batch_time(
	const struct timed_call *timed, const struct timebase *timebase, size_t iterations)
{
	uint64_t start = timebase_ticks(timebase), taken;

	call_repeat(&timed->call, iterations);
	taken = timebase_since(timebase, start);
	return taken > timebase->overhead ? taken - timebase->overhead : 0;
}

static void try_once(void *argument)
{
	struct timed_call *timed = argument;
	union call_result result;

	timed->fails = call_try(&timed->call, 0, &result, &timed->error) != CALL_DONE;
}

/* Doubles the iterations until they take half a batch, then scales to a whole one. */
void timed_call_calibrate(
	struct timed_call *timed, const struct timebase *timebase, uint64_t batch_ticks)
{
	uint64_t taken;
	double wanted;

	if (!timed->call.function.any)
		return;
	timed->signal = fault_guard(try_once, timed);
	if (timed->signal || timed->fails)
		return;
	for (timed->iterations = 1;; timed->iterations *= 2) {
		taken = batch_time(timed, timebase, timed->iterations);
		for (int i = 1; i < TRIES && taken >= batch_ticks / 2; i++) {
			uint64_t again = batch_time(timed, timebase, timed->iterations);

			taken = again < taken ? again : taken;
		}
		if (taken >= batch_ticks / 2 || timed->iterations >= ITERATIONS_MAX)
			break;
	}
	wanted = (double)timed->iterations * (double)batch_ticks / (double)(taken ? taken : 1);
	if (wanted < (double)timed->iterations * 2)
		timed->iterations = wanted < 1 ? 1 : (size_t)wanted;
}

bool sampler_start(struct sampler *sampler, int64_t batch_ns, struct fact *why)
{
	struct timebase *timebase = &sampler->timebase;
	double ns_per_tick, ticks, step = 1; /* ticks that the timebase moves by */

	if (!timebase_start(timebase, counter_probe(&(struct fact){0}))) {
		fact_set(why, FACT_DENIED, "reading the clock by system call is refused");
		return false;
	}
	if (!timebase->by_counter && timebase->clock_step_ns)
		step = (double)timebase->clock_step_ns;
	if (step * BATCH_STEPS_LEAST > BATCH_NS_MOST) {
		fact_set(why, FACT_FAILED,
			"no counter is readable, and the clock, which advances every %.0f us, is "
			"too coarse to time calls",
			step / NS_PER_US);
		return false;
	}
	ns_per_tick = timebase_ns_per_tick(timebase);
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
static void keep_sample(struct timed_call *timed, double sample)
{
	if (timed->kept == 0)
		timed->stride = 1;
	if (timed->kept == 0 || sample < timed->least)
		timed->least = sample;
	if (timed->kept++ % timed->stride != 0 || timed->capacity == 0)
		return;
	if (timed->count == timed->capacity) {
		timed->count = 0;
		for (size_t i = 0; i < timed->capacity; i += 2)
			timed->samples[timed->count++] = timed->samples[i];
		timed->stride *= 2;
	}
	if (timed->count < timed->capacity)
		timed->samples[timed->count++] = sample;
}

/* Counts a batch, and returns true if it does not show what the call costs. */
static bool discard_batch(struct timed_call *timed, const struct sched_mark *before,
	const struct sched_mark *after, uint64_t taken, uint64_t batch_ticks)
{
	timed->batches.begun++;
	if (before->cpu != after->cpu)
		timed->batches.migrated++;
	else if (before->switches != after->switches)
		timed->batches.preempted++;
	else if (taken == 0)
		timed->batches.too_short++;
	else if (timed->iterations > 1 && taken > STALL_FACTOR * batch_ticks)
		timed->batches.stalled++;
	else
		return false;
	return true;
}

void sampler_run(struct sampler *sampler, const struct sampler_limits *limits)
{
	static const volatile bool never;
	const volatile bool *stop = limits->stop ? limits->stop : &never;
	int64_t start = kernel_clock_ns(CLOCK_MONOTONIC);
	struct sched_mark before = sched_mark_take(), after;

	while (sampler->rounds < limits->rounds_most && !*stop &&
		(sampler->rounds < limits->rounds_least ||
			kernel_clock_ns(CLOCK_MONOTONIC) - start < limits->ns)) {
		for (size_t i = 0; i < sampler->count && !*stop; i++) {
			struct timed_call *timed = &sampler->cases[i];
			uint64_t taken;

			if (!timed->iterations)
				continue;
			call_repeat(&timed->call, timed->iterations / WARM_PART);
			taken = batch_time(timed, &sampler->timebase, timed->iterations);
			after = sched_mark_take();
			if (!discard_batch(timed, &before, &after, taken, sampler->batch_ticks))
				keep_sample(timed, (double)taken / (double)timed->iterations);
			before = after;
		}
		sampler->rounds++;
	}
}

void ns_stats_compute(struct timed_call *timed, double ns_per_tick, struct ns_stats *stats)
{
	struct fact *fact = &stats->fact;

	*stats = (struct ns_stats){.iterations = timed->iterations, .batches = timed->batches};
	if (timed->count)
		fact_set_known(fact);
	else if (!timed->call.function.any)
		fact_set(fact, FACT_ABSENT, "not available here");
	else if (timed->signal)
		fact_set(fact, FACT_FAILED, "the call ends with %s",
			fault_signal_name(timed->signal));
	else if (timed->fails)
		fact_set(fact, FACT_FAILED, "the call %s", fault_error_text(timed->error));
	else if (timed->batches.begun == 0)
		fact_set(fact, FACT_UNREAD, "stopped before it was measured");
	else if (timed->batches.too_short == timed->batches.begun)
		fact_set(fact, FACT_FAILED, "too short for the clock to be timed");
	else
		fact_set(fact, FACT_FAILED, "all %" PRIu64 " batches were disturbed",
			timed->batches.begun);
	if (!timed->count)
		return;
	for (size_t i = 0; i < timed->count; i++)
		timed->samples[i] *= ns_per_tick;
	stats->ns = statistics_summarise(timed->samples, timed->count);
	/* The samples of a long run are not all of its batches; the least is of all. */
	stats->ns.minimum = timed->least * ns_per_tick;
}
