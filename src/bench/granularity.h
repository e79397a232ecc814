/* SPDX-License-Identifier: MIT */
/* How finely a clock tells the time: what the kernel says, and what is seen. */
#ifndef VDSOCHECK_BENCH_GRANULARITY_H
#define VDSOCHECK_BENCH_GRANULARITY_H

#include <stdint.h>
#include <time.h>

#include "base/fact.h"
#include "measure/call.h"

struct clock_granularity {
	struct number_fact resolution_ns; /* clock_getres() */
	struct number_fact step_ns;       /* the smallest step between two readings */
	uint64_t readings;
	uint64_t standing; /* readings that were the same as the one before */
};

/*
 * Reads the clock one after the other by clock_gettime, by the way given, until it has
 * stepped often enough or some milliseconds have gone by.
 */
void clock_granularity_find(const struct call *clock, struct clock_granularity *step);

#endif
