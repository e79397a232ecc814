/* SPDX-License-Identifier: MIT */
/*
 * Samples of what a call costs. A series is one thing measured many times, in batches of as many
 * iterations as take the time of a batch; a sampler takes one batch of each of its series in turn.
 */
#ifndef VDSOCHECK_MEASURE_SAMPLES_H
#define VDSOCHECK_MEASURE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"
#include "measure/timebase.h"

/* Does the thing `count` times: a loop of loop.h, or one as tight. */
typedef void series_repeat(const void *subject, size_t count);

/* For series of calls: the subject is a struct call. */
void series_repeat_call(const void *call, size_t count);

/* For series of the CPU's counter, read bare and as a vDSO reads it: there is no subject. */
void series_repeat_counter(const void *unused, size_t count);
void series_repeat_ordered(const void *unused, size_t count);

struct series {
	/* Set by the owner; the rest is zero at first. */
	series_repeat *repeat; /* NULL: there is nothing to measure */
	const void *subject;   /* not owned */
	double *samples;       /* room for `capacity` samples, ticks for one repeat; not owned */
	size_t capacity;

	size_t iterations; /* in a batch */
	int signal;        /* the first try ended with it; nothing more was measured */
	size_t count;      /* samples; evenly spread over the batches that were kept */
	uint64_t kept;
	size_t stride;    /* one in this many of the batches that are kept is a sample */
	double least;     /* of all batches that were kept */
	uint64_t batches; /* begun, of which these were discarded: */
	uint64_t preempted;
	uint64_t moved;
	uint64_t too_short; /* to be measured by this clock */
	uint64_t stalled;   /* so long that the whole machine must have been stopped */
};

/*
 * Tries the thing once under a guard and finds the iterations for batches of that many ticks.
 * Series that do not exist are left alone, here and below.
 */
void series_calibrate(struct series *series, const struct timebase *timebase, uint64_t batch_ticks);

/* Warms up, measures one batch and keeps it, or discards it if it was disturbed. */
void series_take_batch(
	struct series *series, const struct timebase *timebase, uint64_t batch_ticks);

/* True if there is a sample at least. */
bool series_is_measured(const struct series *series);

struct sampler {
	struct series *series; /* set by the owner, not owned */
	size_t count;
	struct timebase timebase;
	uint64_t batch_ticks;
	size_t rounds; /* so far; in each one batch of every series */
};

/* When to end: after that time, but not before and not after these numbers of rounds. */
struct sampler_limits {
	int64_t ns;
	size_t rounds_least;
	size_t rounds_most;
	const volatile bool *stop; /* ends the run early once it is true; may be NULL */
};

/*
 * Starts the timebase, by the CPU's counter or by the kernel's clock, and calibrates every
 * series to batches of about `batch_ns`. False, with the reason in *why, if the kernel refuses
 * to read the clock or the clock is too coarse.
 */
bool sampler_start(struct sampler *sampler, bool by_counter, int64_t batch_ns, struct fact *why);

void sampler_run(struct sampler *sampler, const struct sampler_limits *limits);

/* ns per tick of the samples; the later it is called, the more exact. */
double sampler_ns_per_tick(const struct sampler *sampler);

#endif
