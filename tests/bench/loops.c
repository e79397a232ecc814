/* SPDX-License-Identifier: MIT */
/*
 * The timed loops in a small program that tests/bench/loop disassembles: it is built in a second,
 * and the compiler may inline as much as in the real one.
 */
#include "measure/call.h"
#include "measure/loop.h"
#include "measure/timebase.h"

static time_t nothing(time_t *unused)
{
	(void)unused;
	return 0;
}

static int nothing_of_timeofday(struct timeval *now, void *zone)
{
	(void)now;
	(void)zone;
	return 0;
}

static int nothing_of_getcpu(unsigned *cpu, unsigned *node, void *cache)
{
	(void)cpu;
	(void)node;
	(void)cache;
	return 0;
}

int main(int argc, char **argv)
{
	const struct call calls[] = {
		{.shape = SHAPE_CLOCK, .function.clock = clock_gettime},
		{.shape = SHAPE_TIMEOFDAY, .function.timeofday = nothing_of_timeofday},
		{.shape = SHAPE_TIME, .function.time = nothing},
		{.shape = SHAPE_GETCPU, .function.getcpu = nothing_of_getcpu},
	};
	size_t count = (size_t)argc * 100;

	(void)argv;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		call_repeat(&calls[i], count);
	counter_repeat(count);
	counter_repeat_ordered(count);
	return 0;
}
