/* SPDX-License-Identifier: MIT */
/*
 * How long single calls take, each timed alone: what averages over batches hide. The buckets
 * grow by a quarter of an octave, so that 20 ns and 20 us are told as finely.
 */
#ifndef VDSOCHECK_BENCH_HISTOGRAM_H
#define VDSOCHECK_BENCH_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "measure/samples.h"

#define HISTOGRAM_BUCKETS 128

struct histogram {
	uint64_t calls;
	uint64_t buckets[HISTOGRAM_BUCKETS]; /* calls in each; the last one has no end */
};

/* The bucket's lower end, in ns; the upper one is the next one's. The first begins at 0. */
double histogram_edge(size_t bucket);

void histogram_count(struct histogram *histogram, double ns);

/* Times single calls of the series, a batch of them; what the timebase takes is taken off. */
void histogram_take(struct histogram *histogram, const struct series *series,
	const struct timebase *timebase, double ns_per_tick);

#endif
