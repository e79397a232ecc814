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

static void time_batch(
	const struct series *series, const struct timebase *timebase, uint64_t ticks[BATCH])
{
	for (size_t i = 0; i < BATCH; i++) {
		uint64_t start = timebase_ticks(timebase);

		series->repeat(series->subject, 1);
		ticks[i] = timebase_ticks(timebase) - start;
	}
}

void histogram_take(struct histogram *histogram, const struct series *series,
	const struct timebase *timebase, double ns_per_tick)
{
	uint64_t ticks[BATCH];

	if (!series->repeat || series->signal)
		return;
	series->repeat(series->subject, 1);
	time_batch(series, timebase, ticks);
	for (size_t i = 0; i < BATCH; i++) {
		uint64_t overhead = ticks[i] < timebase->overhead ? ticks[i] : timebase->overhead;

		histogram_count(histogram, (double)(ticks[i] - overhead) * ns_per_tick);
	}
}
