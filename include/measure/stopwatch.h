/* SPDX-License-Identifier: MIT */
/*
 * Measures short stretches: by the CPU's counter, which is exact whatever the clocksource;
 * by the kernel's clock where user space may not read the counter.
 */
#ifndef VDSOCHECK_MEASURE_STOPWATCH_H
#define VDSOCHECK_MEASURE_STOPWATCH_H

#include <stdbool.h>
#include <stdint.h>

struct stopwatch {
	bool by_counter;
	uint64_t overhead;   /* ticks between two reads with nothing between them */
	uint64_t resolution; /* ticks that it moves by; 0: by no more than a read takes */
	uint64_t start_ticks;
	int64_t start_ns; /* of the kernel's clock when start_ticks was read */
};

/*
 * Begins to watch. With by_counter false the ticks are the kernel clock's nanoseconds. False
 * if the kernel refuses to tell the time.
 */
bool stopwatch_start(struct stopwatch *watch, bool by_counter);

/*
 * The least step, in ns, of a clock that stands still between its steps for more reads than
 * one; 0 of a clock that moves at about each read.
 */
int64_t stopwatch_find_resolution(int64_t (*read_ns)(void));

uint64_t stopwatch_ticks(const struct stopwatch *watch);

/*
 * Nanoseconds per tick, over the time since the start: the longer ago, the more exact. At
 * least 200 us after the start, waiting for it if need be (longer where the clock only
 * moves with the timer tick).
 */
double stopwatch_ns_per_tick(const struct stopwatch *watch);

#endif
