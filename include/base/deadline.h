/* SPDX-License-Identifier: MIT */
/* The time limit of a run, and of its parts. */
#ifndef VDSOCHECK_BASE_DEADLINE_H
#define VDSOCHECK_BASE_DEADLINE_H

#include <stdint.h>

/*
 * When work must be done. Counted by times(2), in ticks of 10 ms: a sandbox may kill a process
 * that reads a clock, and a clocksource that is being tried may stand still. Only where times(2)
 * is refused, by CLOCK_MONOTONIC.
 */
struct deadline {
	int64_t at_tick;
	int64_t limit_ns; /* the time that was given, for messages; 0: there is no limit */
};

/*
 * A child that measures may take this beyond its time, where nothing else waits for it: the CPUs
 * may be shared by many, and a cgroup's quota may be a few percent of one.
 */
#define DEADLINE_SLACK_NS 5000000000

/* The deadline of work without a limit. */
#define DEADLINE_NONE (&(const struct deadline){.limit_ns = 0})

struct deadline deadline_after(int64_t ns);

/* deadline_after(), but not later than the other deadline; the limit is that of the earlier one. */
struct deadline deadline_within(const struct deadline *other, int64_t ns);

/* This part of the time that is left, less than 1. */
struct deadline deadline_part(const struct deadline *whole, double part);

/* Nanoseconds left, 0 if it has passed; INT64_MAX without a limit. */
int64_t deadline_left_ns(const struct deadline *deadline);

#endif
