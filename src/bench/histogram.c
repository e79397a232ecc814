/* SPDX-License-Identifier: MIT */
/*
 * Histograms of single calls, each timed alone: what averages over batches hide. A bucket is a
 * 32nd of an octave wide, 2%, so that 20 ns and 20 us are resolved equally well.
 */
#include "model.h"

#include <math.h>

/* Calls after each other, so that all but the first find the caches warm. */
#define BATCH 256

#define BUCKETS_PER_OCTAVE 32

double histogram_edge(size_t bucket)
{
	return bucket ? exp2((double)bucket / BUCKETS_PER_OCTAVE) : 0;
}

size_t histogram_bucket(double ns)
{
	double place = ns > 1 ? floor(log2(ns) * BUCKETS_PER_OCTAVE) : 0;

	return place < HISTOGRAM_BUCKETS ? (size_t)place : HISTOGRAM_BUCKETS - 1;
}

void histogram_count(struct histogram *histogram, double ns)
{
	histogram->buckets[histogram_bucket(ns)]++;
	histogram->calls++;
	histogram->max_ns = fmax(histogram->max_ns, ns);
}

/* The time that `percent` in 100 calls do not exceed. */
static double percentile(const struct histogram *histogram, double percent)
{
	double wanted = ceil((double)histogram->calls * percent / 100);
	uint64_t calls = 0;

	for (size_t i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
		calls += histogram->buckets[i];
		if ((double)calls >= wanted)
			return fmin(histogram_edge(i + 1), histogram->max_ns);
	}
	return histogram->max_ns;
}

void histogram_finish(struct histogram *histogram)
{
	histogram->p50_ns = percentile(histogram, 50);
	histogram->p90_ns = percentile(histogram, 90);
	histogram->p99_ns = percentile(histogram, 99);
	histogram->p999_ns = percentile(histogram, 99.9);
}

void histogram_take(struct histogram *histogram, const struct timed_call *one,
	const struct timebase *timebase, double ns_per_tick)
{
	uint64_t ticks[BATCH];

	if (!one->call.function.any || one->signal)
		return;
	call_repeat(&one->call, 1);
	for (size_t i = 0; i < BATCH; i++) {
		uint64_t start = timebase_ticks(timebase);

		call_repeat(&one->call, 1);
		ticks[i] = timebase_ticks(timebase) - start;
	}
	for (size_t i = 0; i < BATCH; i++) {
		uint64_t overhead = ticks[i] < timebase->overhead ? ticks[i] : timebase->overhead;

		histogram_count(histogram, (double)(ticks[i] - overhead) * ns_per_tick);
	}
}
