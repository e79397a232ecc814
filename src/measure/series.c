/* SPDX-License-Identifier: MIT */
#include "measure/series.h"

#include "base/fault.h"
#include "measure/call.h"
#include "measure/counter.h"
#include "measure/cpus.h"

/* A thing slower than a chunk is a chunk of its own; one faster than this is not timed so. */
#define REPEATS_MAX (1 << 20)

/* Repeats before each chunk that fill the caches again: a part of the chunk's. */
#define WARM_PART 16

/* The least of so many tries tells how long it takes: any one may have been interrupted. */
#define TRIES 3

/*
 * Interrupts and slower neighbours make a chunk longer by a part or twofold. Nothing in this
 * system makes it so much longer but another thread, and that is counted: the machine under
 * us was stopped.
 */
#define JUMP_FACTOR 20

void series_repeat_call(const void *call, size_t count)
{
	call_repeat(call, count);
}

void series_repeat_counter(const void *unused, size_t count)
{
	(void)unused;
	counter_repeat(count);
}

void series_repeat_ordered(const void *unused, size_t count)
{
	(void)unused;
	counter_repeat_ordered(count);
}

static uint64_t time_repeats(
	const struct series *series, const struct stopwatch *watch, size_t count)
{
	uint64_t start = stopwatch_ticks(watch);
	uint64_t taken;

	series->repeat(series->subject, count);
	taken = stopwatch_ticks(watch) - start;
	return taken > watch->overhead ? taken - watch->overhead : 0;
}

static uint64_t time_least(const struct series *series, const struct stopwatch *watch)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t taken = time_repeats(series, watch, series->repeats);

		least = taken < least ? taken : least;
	}
	return least;
}

static void try_once(void *argument)
{
	const struct series *series = argument;

	series->repeat(series->subject, 1);
}

/* Doubles the repeats until they take half a chunk, then scales to a whole one. */
void series_calibrate(struct series *series, const struct stopwatch *watch, uint64_t chunk_ticks)
{
	uint64_t taken;
	double wanted;

	if (!series->repeat)
		return;
	series->signal = fault_guard(try_once, series);
	if (series->signal)
		return;
	for (series->repeats = 1;; series->repeats *= 2) {
		taken = time_repeats(series, watch, series->repeats);
		if (taken >= chunk_ticks / 2)
			taken = time_least(series, watch);
		if (taken >= chunk_ticks / 2 || series->repeats >= REPEATS_MAX)
			break;
	}
	wanted = (double)series->repeats * (double)chunk_ticks / (double)(taken ? taken : 1);
	if (wanted < (double)series->repeats * 2)
		series->repeats = wanted < 1 ? 1 : (size_t)wanted;
}

/* xorshift64: which samples make room for others must only not follow the clock's rhythm. */
static uint64_t draw_number(uint64_t *state)
{
	uint64_t x = *state ? *state : 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x;
}

/* Every chunk ever kept has the same chance to be among the samples. */
static void keep(struct series *series, double sample)
{
	uint64_t thrown = series->preempted + series->moved + series->too_short + series->jumped;
	uint64_t kept = series->chunks - thrown;
	uint64_t place;

	if (kept == 1 || sample < series->least)
		series->least = sample;
	if (series->count < series->capacity) {
		series->samples[series->count++] = sample;
		return;
	}
	place = draw_number(&series->draw) % kept;
	if (place < series->capacity)
		series->samples[place] = sample;
}

/* True, and counted, if the chunk tells nothing about the thing. */
static bool throw_away(
	struct series *series, enum sched_change change, uint64_t taken, uint64_t chunk_ticks)
{
	if (change == SCHED_MIGRATED)
		series->moved++;
	else if (change == SCHED_SWITCHED)
		series->preempted++;
	else if (taken == 0)
		series->too_short++;
	else if (series->repeats > 1 && taken > JUMP_FACTOR * chunk_ticks)
		series->jumped++;
	else
		return false;
	return true;
}

void series_take_chunk(struct series *series, const struct stopwatch *watch, uint64_t chunk_ticks)
{
	struct sched_mark before;
	enum sched_change change;
	uint64_t taken;

	if (!series->repeat || series->signal)
		return;
	before = sched_mark_take();
	series->repeat(series->subject, series->repeats / WARM_PART);
	taken = time_repeats(series, watch, series->repeats);
	change = sched_mark_compare(before, sched_mark_take());
	series->chunks++;
	if (!throw_away(series, change, taken, chunk_ticks))
		keep(series, (double)taken / (double)series->repeats);
}

bool series_is_measured(const struct series *series)
{
	return series->count > 0;
}
