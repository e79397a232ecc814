/* SPDX-License-Identifier: MIT */
/*
 * The timed loops, and why nothing is subtracted from their time.
 *
 * The cost of counting depends on what is counted, so it cannot be measured alone and subtracted.
 * An empty loop takes a cycle, 0.3 ns; around a clock, whose counter read waits for everything
 * before it, the same count takes nothing. An empty function through a pointer takes 1.3 to 2.3 ns,
 * depending on the branch predictor, and a clock hides most of that too. On an AMD EPYC (Zen 3,
 * 2.4 GHz) one, four and eight calls for each count gave
 *
 *	clock_gettime MONOTONIC           26.222  26.222  26.222 ns per call
 *	clock_gettime MONOTONIC_COARSE     4.021   3.865   3.796
 *	clock_getres                       2.788   2.632   2.553
 *
 * Subtracting the empty loop would report the first 1.3% too low, the empty function 6%. With
 * eight calls for each count at most 0.04 ns are left that are not the call's, and nothing need
 * be subtracted.
 */
#include "measure/loop.h"

/* A result that never spans two cache lines. */
typedef union call_result aligned_result __attribute__((aligned(64)));

LOOP_FUNCTION void loop_clock(clock_function *function, clockid_t clock, size_t count)
{
	aligned_result now;

	LOOP_REPEAT(function(clock, &now.timespec), count);
}

LOOP_FUNCTION void loop_timeofday(timeofday_function *function, size_t count)
{
	aligned_result now;

	LOOP_REPEAT(function(&now.timeval, NULL), count);
}

LOOP_FUNCTION void loop_time(time_function *function, size_t count)
{
	LOOP_REPEAT(function(NULL), count);
}

LOOP_FUNCTION void loop_getcpu(getcpu_function *function, size_t count)
{
	aligned_result now;

	LOOP_REPEAT(function(&now.cpu, NULL, NULL), count);
}
