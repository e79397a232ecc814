/* SPDX-License-Identifier: MIT */
#include "measure/sampler.h"

#include <math.h>
#include <time.h>

#include "base/kernel_clock.h"

#define NS_PER_US 1e3

/*
 * A counter that ticks rarely (cntvct at 19 to 62 MHz, RISC-V's at 1 to 10) needs longer
 * chunks to be read to a part in four hundred, as long as they stay short.
 */
#define CHUNK_TICKS_LEAST 400
#define CHUNK_NS_MOST 100000

/* What a read of a slow clock or of an intercepted counter takes must be a part of a chunk. */
#define CHUNK_OVERHEADS_LEAST 5

/* A chunk of fewer steps of the clock is not timed but guessed. */
#define CHUNK_STEPS_LEAST 20

static uint64_t ticks_of_chunk(const struct stopwatch *watch, double chunk_ns)
{
	double ns_per_tick = stopwatch_ns_per_tick(watch);
	double step = (double)(watch->resolution ? watch->resolution : 1);
	double ticks = chunk_ns / ns_per_tick;

	ticks = fmax(ticks, fmin(CHUNK_TICKS_LEAST * step, CHUNK_NS_MOST / ns_per_tick));
	return (uint64_t)fmax(ticks, (double)(CHUNK_OVERHEADS_LEAST * watch->overhead));
}

bool sampler_start(struct sampler *sampler, bool by_counter, int64_t chunk_ns, struct fact *why)
{
	const struct stopwatch *watch = &sampler->watch;

	if (!stopwatch_start(&sampler->watch, by_counter)) {
		fact_set(why, FACT_DENIED, "reading the clock by system call is refused");
		return false;
	}
	if (watch->resolution * CHUNK_STEPS_LEAST > CHUNK_NS_MOST) {
		fact_set(why, FACT_FAILED,
			"no counter to read, and the clock, which moves every %.0f us, is too "
			"coarse to time calls with",
			(double)watch->resolution / NS_PER_US);
		return false;
	}
	sampler->rounds = 0;
	sampler->chunk_ticks = ticks_of_chunk(watch, (double)chunk_ns);
	for (size_t i = 0; i < sampler->count; i++)
		series_calibrate(&sampler->series[i], &sampler->watch, sampler->chunk_ticks);
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
			series_take_chunk(
				&sampler->series[i], &sampler->watch, sampler->chunk_ticks);
		sampler->rounds++;
	}
}

double sampler_ns_per_tick(const struct sampler *sampler)
{
	return stopwatch_ns_per_tick(&sampler->watch);
}
