/* SPDX-License-Identifier: MIT */
#include "measure/stopwatch.h"

#include <time.h>

#include "base/kernel_clock.h"
#include "measure/counter.h"

#define SHORTEST_NS 200000
#define OVERHEAD_READS 64

static int64_t clock_ns(void)
{
	return kernel_clock_ns(CLOCK_MONOTONIC);
}

uint64_t stopwatch_ticks(const struct stopwatch *watch)
{
	return watch->by_counter ? counter_read_ordered() : (uint64_t)clock_ns();
}

/*
 * A moment in both times: just after the clock moved. Most clocks move at each reading; the
 * jiffies clocksource moves every few milliseconds, and in between it tells nothing.
 */
static void read_both(const struct stopwatch *watch, uint64_t *ticks, int64_t *ns)
{
	int64_t before = clock_ns();

	do {
		*ns = clock_ns();
		*ticks = stopwatch_ticks(watch);
	} while (*ns == before);
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

bool stopwatch_start(struct stopwatch *watch, bool by_counter)
{
	if (clock_ns() == 0)
		return false;
	watch->by_counter = by_counter;
	watch->overhead = least_overhead(watch);
	read_both(watch, &watch->start_ticks, &watch->start_ns);
	return true;
}

double stopwatch_ns_per_tick(const struct stopwatch *watch)
{
	uint64_t ticks;
	int64_t ns;

	if (!watch->by_counter)
		return 1;
	do
		read_both(watch, &ticks, &ns);
	while (ns - watch->start_ns < SHORTEST_NS);
	return (double)(ns - watch->start_ns) / (double)(ticks - watch->start_ticks);
}
