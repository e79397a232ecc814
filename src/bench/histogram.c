/* SPDX-License-Identifier: MIT */
#include "histogram.h"

#include <math.h>

/* Calls after each other, so that all but the first find the caches warm. */
#define BATCH 256

#define BUCKETS_PER_OCTAVE 4

double distribution_edge(size_t bucket)
{
	return bucket ? exp2((double)bucket / BUCKETS_PER_OCTAVE) : 0;
}

void distribution_count(struct distribution *distribution, double ns)
{
	double place = ns > 1 ? floor(log2(ns) * BUCKETS_PER_OCTAVE) : 0;
	size_t bucket = place < DISTRIBUTION_BUCKETS ? (size_t)place : DISTRIBUTION_BUCKETS - 1;

	distribution->buckets[bucket]++;
	distribution->calls++;
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

void distribution_take(struct distribution *distribution, const struct series *series,
	const struct timebase *timebase, double ns_per_tick)
{
	uint64_t ticks[BATCH];

	if (!series->repeat || series->signal)
		return;
	series->repeat(series->subject, 1);
	time_batch(series, timebase, ticks);
	for (size_t i = 0; i < BATCH; i++) {
		uint64_t overhead = ticks[i] < timebase->overhead ? ticks[i] : timebase->overhead;

		distribution_count(distribution, (double)(ticks[i] - overhead) * ns_per_tick);
	}
}
