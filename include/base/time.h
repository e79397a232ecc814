/* SPDX-License-Identifier: MIT */
/*
 * Declares units of time, the kernel's clocks, and the time limit of a run and of its parts. The
 * clocks are read by raw system call, which is right even where the vDSO crashes or lies.
 */
#ifndef VDSOCHECK_BASE_TIME_H
#define VDSOCHECK_BASE_TIME_H

#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

/* The constants are integers; divide a double by them for a fraction. */
#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_SECOND INT64_C(1000000000)
#define US_PER_SECOND INT64_C(1000000)

/* Returns the nanoseconds of the clock; 0 if the system call was refused. */
int64_t kernel_clock_ns(clockid_t clock);

/* Returns the clock's resolution, as clock_getres(2), in nanoseconds; 0 if it was refused. */
int64_t kernel_clock_step_ns(clockid_t clock);

/* Returns the struct timespec of that many nanoseconds. */
struct timespec timespec_of(int64_t ns);

/* Returns the seconds of a struct timeval. */
double timeval_seconds(struct timeval time);

/* Returns user and system time, in seconds. */
double rusage_seconds(const struct rusage *usage);

/*
 * The time by which work must be done. It is counted by times(2), in ticks of 10 ms, since a
 * sandbox may kill a process that reads a clock, and a clocksource that is being tried may stand
 * still; by CLOCK_MONOTONIC only where times(2) is refused.
 */
struct deadline {
	int64_t at_tick;
	int64_t limit_ns; /* ns granted, for messages; 0: there is no limit */
};

/*
 * A child that measures may take this many ns longer, where nothing else waits for it: many may
 * share the CPUs, and a cgroup's quota may be a few percent of one.
 */
#define DEADLINE_SLACK_NS 5000000000

/* The deadline of work without a limit. */
#define DEADLINE_NONE (&(const struct deadline){.limit_ns = 0})

/* Returns the deadline that is `ns` from now, rounded up to ticks. */
struct deadline deadline_after(int64_t ns);

/* Returns deadline_after(), or the other deadline if that is earlier. */
struct deadline deadline_within(const struct deadline *other, int64_t ns);

/* Returns the nanoseconds left, 0 if it has passed; INT64_MAX without a limit. */
int64_t deadline_left_ns(const struct deadline *deadline);

#endif
