/* SPDX-License-Identifier: MIT */
/* Takes chunks of many series in turn, so that whatever drifts hits all of them alike. */
#ifndef VDSOCHECK_MEASURE_SAMPLER_H
#define VDSOCHECK_MEASURE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"
#include "measure/series.h"
#include "measure/stopwatch.h"

struct sampler {
	struct series *series; /* set by the owner, not owned */
	size_t count;
	struct stopwatch watch;
	uint64_t chunk_ticks;
	size_t rounds; /* so far; in each one chunk of every series */
};

/* When to end: after that time, but not before and not after so many rounds. */
struct sampler_limits {
	int64_t ns;
	size_t rounds_least;
	size_t rounds_most;
	const volatile bool *stop; /* ends it at once when it turns true; may be NULL */
};

/*
 * Begins to watch, by the CPU's counter or by the kernel's clock, and calibrates every
 * series to chunks of about `chunk_ns`. False, with the reason in *why, if the kernel refuses
 * to read the clock or the clock is too coarse.
 */
bool sampler_start(struct sampler *sampler, bool by_counter, int64_t chunk_ns, struct fact *why);

void sampler_run(struct sampler *sampler, const struct sampler_limits *limits);

/* What the ticks of the samples are worth: the later it is asked, the more exact. */
double sampler_ns_per_tick(const struct sampler *sampler);

#endif
