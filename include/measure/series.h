/* SPDX-License-Identifier: MIT */
/*
 * One thing measured many times: chunk after chunk, each of as many repeats as take the time
 * of a chunk, whatever the thing takes.
 */
#ifndef VDSOCHECK_MEASURE_SERIES_H
#define VDSOCHECK_MEASURE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/stopwatch.h"

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

	size_t repeats;  /* in a chunk */
	int signal;      /* the first try ended with it; nothing more was measured */
	size_t count;    /* samples; of more chunks than fit a fair draw of them */
	uint64_t chunks; /* begun, of which were thrown away: */
	uint64_t preempted;
	uint64_t moved;
	uint64_t too_short; /* for the clock to tell from nothing */
	uint64_t jumped;    /* longer than anything but a stop of the whole machine explains */
	double least;       /* of all chunks that were kept */
	uint64_t draw;      /* state of the draw */
};

/*
 * Tries the thing once under a guard and finds the repeats for chunks of that many ticks.
 * Series that do not exist are left alone, here and below.
 */
void series_calibrate(struct series *series, const struct stopwatch *watch, uint64_t chunk_ticks);

/* Warms up, measures one chunk and keeps it, or throws it away if it was disturbed. */
void series_take_chunk(struct series *series, const struct stopwatch *watch, uint64_t chunk_ticks);

/* True if there is a sample at least. */
bool series_is_measured(const struct series *series);

#endif
