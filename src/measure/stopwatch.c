/* SPDX-License-Identifier: MIT */
#include "measure/stopwatch.h"

#include <time.h>

#include "base/kernel_clock.h"
#include "measure/counter.h"

#define SHORTEST_NS 200000
#define OVERHEAD_READS 64

#define WIDTH_READS 8
#define WIDTH_FACTOR 3

/* A clock that takes now so long and now so long is believed all the same. */
#define TRIES_MOST 100

static int64_t clock_ns(void)
{
	return kernel_clock_ns(CLOCK_MONOTONIC);
}

uint64_t stopwatch_ticks(const struct stopwatch *watch)
{
	return watch->by_counter ? counter_read_ordered() : (uint64_t)clock_ns();
}

/* A reading of the kernel's clock, and when it was over. */
struct reading {
	int64_t ns;
	uint64_t ticks;
	uint64_t width; /* ticks that it took */
};

static struct reading read_both(const struct stopwatch *watch)
{
	uint64_t start = stopwatch_ticks(watch);
	struct reading reading = {.ns = clock_ns()};

	reading.ticks = stopwatch_ticks(watch);
	reading.width = reading.ticks - start;
	return reading;
}

static uint64_t least_width(const struct stopwatch *watch)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < WIDTH_READS; i++) {
		struct reading reading = read_both(watch);

		least = reading.width < least ? reading.width : least;
	}
	return least;
}

/*
 * A moment in both times: just after the clock moved. Most clocks move at each reading; the
 * jiffies clocksource moves every few milliseconds, and in between it tells nothing. Who was
 * interrupted between the two times, be it by another process for milliseconds, has not seen
 * one moment, so a reading must not be much wider than it can be: of the rates over 5 ms on a
 * machine with three busy loops for each CPU one in 200 was wrong, some by a half.
 */
static struct reading read_moment(const struct stopwatch *watch)
{
	uint64_t least = least_width(watch);
	struct reading before = read_both(watch);

	for (int tries = 0;;) {
		struct reading reading = read_both(watch);

		if (reading.ns != before.ns &&
			(reading.width <= WIDTH_FACTOR * least || ++tries == TRIES_MOST))
			return reading;
		before = reading;
	}
}

static uint64_t least_overhead(const struct stopwatch *watch)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < OVERHEAD_READS; i++) {
		uint64_t before = stopwatch_ticks(watch);
		uint64_t taken = stopwatch_ticks(watch) - before;

		least = taken < least ? taken : least;
	}
	return least;
}

#define STEPS 3

int64_t stopwatch_find_resolution(int64_t (*read_ns)(void))
{
	int64_t last = read_ns(), least = INT64_MAX;
	unsigned standing = 0;

	/* The first step is not whole. */
	for (unsigned steps = 0; steps <= STEPS;) {
		int64_t now = read_ns();

		if (now == last) {
			standing++;
			continue;
		}
		if (steps++ && now - last < least)
			least = now - last;
		last = now;
	}
	return standing > STEPS ? least : 0;
}

bool stopwatch_start(struct stopwatch *watch, bool by_counter)
{
	struct reading start;

	if (clock_ns() == 0)
		return false;
	watch->by_counter = by_counter;
	watch->overhead = least_overhead(watch);
	watch->resolution = by_counter ? 0 : (uint64_t)stopwatch_find_resolution(clock_ns);
	start = read_moment(watch);
	watch->start_ticks = start.ticks;
	watch->start_ns = start.ns;
	return true;
}

double stopwatch_ns_per_tick(const struct stopwatch *watch)
{
	struct reading now;

	if (!watch->by_counter)
		return 1;
	do
		now = read_moment(watch);
	while (now.ns - watch->start_ns < SHORTEST_NS);
	return (double)(now.ns - watch->start_ns) / (double)(now.ticks - watch->start_ticks);
}
