/* SPDX-License-Identifier: MIT */
/*
 * The counter against CLOCK_MONOTONIC_RAW, which nobody slews: at what rate it runs and
 * whether it keeps to it. On the clocksource tsc both are the same counter, and a drift can
 * only come from reading it on a CPU that is out of step.
 */
#ifndef VDSOCHECK_MEASURE_DRIFT_H
#define VDSOCHECK_MEASURE_DRIFT_H

#include <stdint.h>

/* One moment in both times. */
struct drift_mark {
	uint64_t ticks;
	uint64_t width; /* ticks that the moment may be off */
	int64_t raw_ns; /* 0: the kernel does not tell */
};

/* Takes the best of a few readings. The caller stays on one CPU, and the counter is readable. */
struct drift_mark drift_mark_take(void);

/* Of two moments in their order. Pure. */
double drift_ns_per_tick(const struct drift_mark *from, const struct drift_mark *to);

#endif
