/* SPDX-License-Identifier: MIT */
/*
 * The timed loops contain only the call and, once in LOOP_UNROLL calls, the count. Nothing is
 * subtracted from their time; loop.c says why. tests/bench/loop checks what compilers make of them.
 */
#ifndef VDSOCHECK_MEASURE_LOOP_H
#define VDSOCHECK_MEASURE_LOOP_H

#include "measure/call.h"

/* The number of calls for each count. */
#define LOOP_UNROLL 8

/*
 * A function with such a loop is never inlined, whatever the linker optimises, and starts at a
 * cache line, so that it is the same loop in every build.
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

/* The loop itself evaluates `call` that many times. */
#define LOOP_REPEAT(call, count)                                                                   \
	do {                                                                                       \
		for (size_t many = (count) / LOOP_UNROLL; many; many--) {                          \
			LOOP_EIGHT_TIMES(call);                                                    \
		}                                                                                  \
		for (size_t few = (count) % LOOP_UNROLL; few; few--) {                             \
			call;                                                                      \
		}                                                                                  \
	} while (0)

/* Each makes its call `count` times, with the arguments that call.h lists for its shape. */
void loop_clock(clock_function *function, clockid_t clock, size_t count);
void loop_timeofday(timeofday_function *function, size_t count);
void loop_time(time_function *function, size_t count);
void loop_getcpu(getcpu_function *function, size_t count);

#endif
