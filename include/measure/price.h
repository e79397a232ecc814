/* SPDX-License-Identifier: MIT */
/* What one thing costs: what a series of chunks says, in nanoseconds. */
#ifndef VDSOCHECK_MEASURE_PRICE_H
#define VDSOCHECK_MEASURE_PRICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"
#include "measure/series.h"

struct price {
	struct fact fact; /* known: measured, and what follows holds */
	double min_ns;    /* averages over one chunk of calls each */
	double median_ns;
	double p99_ns;          /* of the batches' averages, not of calls */
	bool has_mean;          /* false: too few chunks */
	double trimmed_mean_ns; /* outliers left out */
	size_t samples;         /* chunks that these rest on */
	size_t outliers;        /* of which were left out of the mean */
	size_t repeats;         /* calls in a chunk */
	uint64_t chunks;        /* begun */
	uint64_t preempted;     /* of which were thrown away, for the reasons that series.h has */
	uint64_t moved;
	uint64_t too_short;
	uint64_t jumped;
};

/* Puts the series' samples in order. */
void price_find(struct series *series, double ns_per_tick, struct price *price);

#endif
