/* SPDX-License-Identifier: MIT */
/*
 * Histograms of single calls, each timed alone: what averages over batches hide. The buckets grow
 * by a quarter of an octave, so that 20 ns and 20 us are resolved equally well.
 */
#include "model.h"

#include <math.h>

/* Calls after each other, so that all but the first find the caches warm. */
#define BATCH 256

#define BUCKETS_PER_OCTAVE 4

double histogram_edge(size_t bucket)
{
	return bucket ? exp2((double)bucket / BUCKETS_PER_OCTAVE) : 0;
}

void histogram_count(struct histogram *histogram, double ns)
{
	double place = ns > 1 ? floor(log2(ns) * BUCKETS_PER_OCTAVE) : 0;
	size_t bucket = place < HISTOGRAM_BUCKETS ? (size_t)place : HISTOGRAM_BUCKETS - 1;

	histogram->buckets[bucket]++;
	histogram->calls++;
}

void histogram_take(struct histogram *histogram, const struct bench_case *one,
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
