/* SPDX-License-Identifier: MIT */
/*
 * Compares the CPU's counter with the kernel's clock: how long a tick is. Short stretches are
 * measured in ticks and converted at the end, when the rate is known best.
 */
#include "measure/timebase.h"

#include "base/time.h"

#define SHORTEST_NS 50000

/*
 * A timer tick may come late, and the next one in time: over a single step of jiffies the rate was
 * wrong by up to 14 times.
 */
#define STEPS_LEAST 40

#define OVERHEAD_READS 64

#define MARK_TRIES 32

#define WIDTH_READS 8
#define WIDTH_FACTOR 3

/* After this many tries, a clock whose reads never take about the same time is read anyway. */
#define TRIES_MOST 100

static int64_t clock_ns(void)
{
	return kernel_clock_ns(CLOCK_MONOTONIC);
}

uint64_t timebase_ticks(const struct timebase *timebase)
{
	return timebase->by_counter ? counter_read_ordered() : (uint64_t)clock_ns();
}

uint64_t timebase_since(const struct timebase *timebase, uint64_t start)
{
	uint64_t now = timebase_ticks(timebase);

	return now > start ? now - start : 0;
}

/* Where the ticks go back, the width is larger than any other. */
static struct clock_mark read_both(const struct timebase *timebase, clockid_t clock)
{
	uint64_t start = timebase_ticks(timebase);
	int64_t ns = kernel_clock_ns(clock);
	uint64_t width = timebase_ticks(timebase) - start;

	return (struct clock_mark){start + width / 2, width, ns};
}

struct clock_mark clock_mark_take(clockid_t clock)
{
	static const struct timebase timebase = {.by_counter = true};
	struct clock_mark best = read_both(&timebase, clock);

	for (int i = 1; i < MARK_TRIES; i++) {
		struct clock_mark mark = read_both(&timebase, clock);

		best = mark.width < best.width ? mark : best;
	}
	return best;
}

/*
 * Reads both just after the clock moved. Most clocks move at each read; the jiffies clocksource
 * moves every few milliseconds, and what it returns in between is too early. An interrupt, or
 * another process, between the reads of counter and clock makes them differ, so a reading must not
 * take much longer than the shortest one: without that, one in 200 of the rates over 5 ms was wrong
 * on a machine with three busy loops for each CPU, some by a half.
 */
static struct clock_mark read_after_step(const struct timebase *timebase)
{
	struct clock_mark before = read_both(timebase, CLOCK_MONOTONIC);
	uint64_t least = before.width;

	for (int i = 1; i < WIDTH_READS; i++) {
		before = read_both(timebase, CLOCK_MONOTONIC);
		least = before.width < least ? before.width : least;
	}
	for (int tries = 0;;) {
		struct clock_mark reading = read_both(timebase, CLOCK_MONOTONIC);

		if (reading.ns != before.ns &&
			(reading.width <= WIDTH_FACTOR * least || ++tries == TRIES_MOST))
			return reading;
		before = reading;
	}
}

#define STEPS 3

int64_t timebase_find_resolution(int64_t (*read_ns)(void))
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

bool timebase_start(struct timebase *timebase, bool by_counter)
{
	struct clock_mark start;

	if (clock_ns() == 0)
		return false;
	timebase->by_counter = by_counter;
	timebase->overhead = UINT64_MAX;
	for (int i = 0; i < OVERHEAD_READS; i++) {
		uint64_t before = timebase_ticks(timebase);
		uint64_t taken = timebase_since(timebase, before);

		timebase->overhead = taken < timebase->overhead ? taken : timebase->overhead;
	}
	timebase->clock_step_ns = timebase_find_resolution(clock_ns);
	start = read_after_step(timebase);
	timebase->start_ticks = start.ticks;
	timebase->start_ns = start.ns;
	return true;
}

double timebase_ns_per_tick(const struct timebase *timebase)
{
	int64_t shortest_ns = STEPS_LEAST * timebase->clock_step_ns;
	struct clock_mark now;

	if (!timebase->by_counter)
		return 1;
	if (shortest_ns < SHORTEST_NS)
		shortest_ns = SHORTEST_NS;
	do
		now = read_after_step(timebase);
	while (now.ns - timebase->start_ns < shortest_ns);
	return (double)(now.ns - timebase->start_ns) / (double)(now.ticks - timebase->start_ticks);
}

double clock_marks_ns_per_tick(const struct clock_mark *from, const struct clock_mark *to)
{
	return (double)(to->ns - from->ns) / (double)(int64_t)(to->ticks - from->ticks);
}
