/* SPDX-License-Identifier: MIT */
#include "measure/sampler.h"

#include <time.h>

#include "base/kernel_clock.h"

/*
 * A counter that ticks rarely (cntvct at 19 to 62 MHz, RISC-V's at 1 to 10) needs longer
 * chunks to be read to a part in four hundred, as long as they stay short.
 */
#define CHUNK_TICKS_LEAST 400
#define CHUNK_NS_MOST 100000

static uint64_t ticks_of_chunk(double chunk_ns, double ns_per_tick)
{
	double least_ns = CHUNK_TICKS_LEAST * ns_per_tick;

	if (least_ns > CHUNK_NS_MOST)
		least_ns = CHUNK_NS_MOST;
	return (uint64_t)((chunk_ns > least_ns ? chunk_ns : least_ns) / ns_per_tick);
}

bool sampler_start(struct sampler *sampler, bool by_counter, int64_t chunk_ns)
{
	if (!stopwatch_start(&sampler->watch, by_counter))
		return false;
	sampler->rounds = 0;
	sampler->chunk_ticks =
		ticks_of_chunk((double)chunk_ns, stopwatch_ns_per_tick(&sampler->watch));
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
