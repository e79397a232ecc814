/* SPDX-License-Identifier: MIT */
/*
 * The timed loops: nothing in them but the call and, once in LOOP_UNROLL calls, the count.
 * Nothing is taken off their time afterwards; loop.c says why. tests/bench/loop looks at
 * what compilers make of them.
 */
#ifndef VDSOCHECK_MEASURE_LOOP_H
#define VDSOCHECK_MEASURE_LOOP_H

#include <stddef.h>
#include <time.h>

#include "measure/call.h"

#define LOOP_UNROLL 8

/*
 * For a function with such a loop: one of its own, wherever it is called from and whatever
 * the linker optimises, at the start of a cache line. So it is the same loop in every build.
 */
#if defined(__clang__)
#define LOOP_FUNCTION __attribute__((noinline, aligned(64)))
#else
#define LOOP_FUNCTION __attribute__((noipa, aligned(64)))
#endif

#define LOOP_EIGHT_TIMES(call)                                                                     \
	call;                                                                                      \
	call;                                                                                      \
	call;                                                                                      \
	call;                                                                                      \
	call;                                                                                      \
	call;                                                                                      \
	call;                                                                                      \
	call

/* The loop itself: evaluates `call` that many times. */
#define LOOP_REPEAT(call, count)                                                                   \
	do {                                                                                       \
		for (size_t many = (count) / LOOP_UNROLL; many; many--) {                          \
			LOOP_EIGHT_TIMES(call);                                                    \
		}                                                                                  \
		for (size_t few = (count) % LOOP_UNROLL; few; few--) {                             \
			call;                                                                      \
		}                                                                                  \
	} while (0)

/* Each makes its call `count` times, with the arguments that call.h gives the shape. */
void loop_clock(clock_function *function, clockid_t clock, size_t count);
void loop_timeofday(timeofday_function *function, size_t count);
void loop_time(time_function *function, size_t count);
void loop_getcpu(getcpu_function *function, size_t count);

/* The same loop with no call in it: counting takes no longer. */
void loop_nothing(size_t count);

#endif
