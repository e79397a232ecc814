/* SPDX-License-Identifier: MIT */
/*
 * What the calls for the time are compared with, and what they are made of: ways in and out
 * of the kernel, the counter, calls that no vDSO serves.
 */
#ifndef VDSOCHECK_BENCH_BASELINE_H
#define VDSOCHECK_BENCH_BASELINE_H

#include "measure/call.h"
#include "measure/samples.h"

enum baseline {
	BASELINE_ENTRY, /* a system call of a number that no call has */
	BASELINE_GETPPID,
	BASELINE_CLOCK_SYSCALL, /* clock_gettime(CLOCK_MONOTONIC) by system call */
	BASELINE_SIGPROCMASK,
	BASELINE_SWAPCONTEXT, /* to another context and back */
	BASELINE_COUNTER,     /* the CPU's counter, read bare */
	BASELINE_ORDERED,     /* read as a vDSO reads it */
	BASELINE_CLOCK_VDSO,  /* clock_gettime(CLOCK_MONOTONIC) by the vDSO */
	BASELINE_EMPTY,       /* an empty function of clock_gettime's shape */
	BASELINE_LOOP,        /* the timed loop with nothing in it */
	BASELINE_COUNT,
};

/* "entry", "getppid" ...: stable, for programs. */
const char *baseline_id(enum baseline baseline);

/* What it is, for people; at most 39 characters. */
const char *baseline_text(enum baseline baseline);

/* The calls that baselines make; series point into it. */
struct baseline_calls {
	struct call call[BASELINE_COUNT];
};

/*
 * Sets what each series is to repeat; those that cannot be had here are left without.
 * `clock` is clock_gettime(CLOCK_MONOTONIC), by each way. May fork: a filter around us may
 * kill who makes a call that it does not know.
 */
void baseline_set_up(struct series series[BASELINE_COUNT], struct baseline_calls *calls,
	const struct call clock[PATH_COUNT]);

#endif
