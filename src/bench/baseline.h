/* SPDX-License-Identifier: MIT */
/*
 * What the calls for the time are compared with, and what they are made of: ways in and out
 * of the kernel, the counter, calls that no vDSO serves.
 */
#ifndef VDSOCHECK_BENCH_BASELINE_H
#define VDSOCHECK_BENCH_BASELINE_H

#include "measure/call.h"
#include "measure/samples.h"

enum yardstick {
	YARDSTICK_ENTRY, /* a system call of a number that no call has */
	YARDSTICK_GETPPID,
	YARDSTICK_CLOCK_SYSCALL, /* clock_gettime(CLOCK_MONOTONIC) by system call */
	YARDSTICK_SIGPROCMASK,
	YARDSTICK_SWAPCONTEXT, /* to another context and back */
	YARDSTICK_COUNTER,     /* the CPU's counter, read bare */
	YARDSTICK_ORDERED,     /* read as a vDSO reads it */
	YARDSTICK_CLOCK_VDSO,  /* clock_gettime(CLOCK_MONOTONIC) by the vDSO */
	YARDSTICK_EMPTY,       /* an empty function of clock_gettime's shape */
	YARDSTICK_LOOP,        /* the timed loop with nothing in it */
	YARDSTICK_COUNT,
};

/* "entry", "getppid" ...: stable, for programs. */
const char *yardstick_id(enum yardstick yardstick);

/* What it is, for people; at most 39 characters. */
const char *yardstick_text(enum yardstick yardstick);

/* The calls that yardsticks make; series point into it. */
struct yardstick_calls {
	struct call call[YARDSTICK_COUNT];
};

/*
 * Sets what each series is to repeat; those that cannot be had here are left without.
 * `clock` is clock_gettime(CLOCK_MONOTONIC), by each way. May fork: a filter around us may
 * kill who makes a call that it does not know.
 */
void yardstick_set_up(struct series series[YARDSTICK_COUNT], struct yardstick_calls *calls,
	const struct call clock[PATH_COUNT]);

#endif
