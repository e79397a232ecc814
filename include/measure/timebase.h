/* SPDX-License-Identifier: MIT */
/*
 * Reads the CPU's own counter, which a vDSO clock reads (rdtsc on x86, cntvct on arm and so on),
 * and times short stretches by it. Unlike the clocks it does not depend on the clocksource that is
 * being judged. Where user space cannot read it, the kernel's clock takes its place.
 */
#ifndef VDSOCHECK_MEASURE_TIMEBASE_H
#define VDSOCHECK_MEASURE_TIMEBASE_H

#include <time.h>

#include "base/fact.h"

/* ---- counter.c ---- */

/* Returns the instruction's name; "" on an architecture without one here. */
const char *counter_name(void);

/*
 * Sets the fact known and returns true if user space may read the counter and it advances. Else the
 * fact is absent if there is none, failed with the signal if reading it faults (switched off by
 * prctl(PR_SET_TSC), trapped).
 */
bool counter_probe(struct fact *fact);

/*
 * Returns ticks, read after earlier instructions have completed. Faults, or returns 0, where
 * counter_probe() does not set known.
 */
uint64_t counter_read_ordered(void);

/* Reads it `count` times, unordered: the timed loop. */
void counter_repeat(size_t count);

/* Reads it `count` times as a vDSO does, ordered after earlier instructions. */
void counter_repeat_ordered(size_t count);

/* ---- timebase.c ---- */

/* A calibration of the counter against the kernel's clock. */
struct timebase {
	bool by_counter;
	uint64_t overhead;     /* ticks between two reads with nothing between them */
	int64_t clock_step_ns; /* step of the kernel's clock; 0: at most what a read takes */
	uint64_t start_ticks;
	int64_t start_ns; /* kernel's clock when start_ticks was read */
};

/*
 * Begins the calibration. With by_counter false, ticks are the kernel clock's nanoseconds. Returns
 * false if the kernel refuses to read the clock.
 */
bool timebase_start(struct timebase *timebase, bool by_counter);

/*
 * Returns the smallest step, in ns, of a clock that stands still between its steps for more than
 * one read; 0 for a clock that moves at about each read.
 */
int64_t timebase_find_resolution(int64_t (*read_ns)(void));

/* Returns the ticks of now: of the counter, or ns of the kernel's clock. */
uint64_t timebase_ticks(const struct timebase *timebase);

/* Returns the ticks since the counter was `start`; 0 if it went back, as on a CPU that differs. */
uint64_t timebase_since(const struct timebase *timebase, uint64_t start);

/*
 * Returns nanoseconds per tick, over the time since the start: the longer ago, the more exact.
 * Waits until the start was 50 us ago, or where the clock only moves with the timer tick
 * (jiffies), 40 of its steps: 40 to 400 ms.
 */
double timebase_ns_per_tick(const struct timebase *timebase);

/*
 * A reading of the counter and of a clock. Two of CLOCK_MONOTONIC_RAW, which is never slewed, show
 * the counter's rate, three whether it keeps it. On the clocksource tsc both are the same counter,
 * and a drift can only come from reading it on a CPU whose counter differs.
 */
struct clock_mark {
	uint64_t ticks; /* in the middle of the reading */
	uint64_t width; /* ticks that it took: it is accurate to half of them */
	int64_t ns;     /* 0: the kernel refuses to read the clock */
};

/* Returns the narrowest of some readings. The caller stays on a CPU; the counter is readable. */
struct clock_mark clock_mark_take(clockid_t clock);

/* Returns ns per tick between two readings in their order. */
double clock_marks_ns_per_tick(const struct clock_mark *from, const struct clock_mark *to);

#endif
