/* SPDX-License-Identifier: MIT */
/*
 * One thread per CPU reads a clock and compares it with what the other CPUs read last. A worker
 * loads another worker's last value first and reads the clock after it, so a smaller reading
 * means that the clock is behind on its CPU. No lock is held: a worker that is preempted, or
 * whose virtual CPU is descheduled, leaves old values behind, and these are never a warp.
 *
 * The smallest gap between two CPUs' readings, in both directions, bounds the offset of their
 * clocks.
 */
#ifndef VDSOCHECK_WARP_CROSS_CPU_H
#define VDSOCHECK_WARP_CROSS_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"
#include "clock.h"

/* The gap of two CPUs that have not been compared. */
#define CROSS_CPU_NO_GAP INT64_MAX

/* What one CPU saw, in the clock's own unit (ns, or ticks of the counter). */
struct cross_cpu_result {
	uint64_t reads;
	uint64_t warps;
	int64_t largest;
	size_t against; /* index of the CPU whose reading the largest warp was behind */
	int64_t *least; /* the smallest gap to each CPU: own reading less its; not owned */
};

struct cross_cpu;

/*
 * Starts one worker per CPU, pinned, and lets them wait. `results` has one element per CPU, each
 * with room for `count` gaps in `least`. NULL with the reason if memory, threads or pinning fail.
 */
struct cross_cpu *cross_cpu_start(
	const int *cpus, size_t count, struct cross_cpu_result *results, struct fact *why);

/* All workers read the clock for slice_ns. The results describe this slice alone. */
void cross_cpu_run(struct cross_cpu *run, const struct warp_clock *clock, int64_t slice_ns);

/* Joins the workers and releases the run. */
void cross_cpu_stop(struct cross_cpu *run);

#endif
