/* SPDX-License-Identifier: MIT */
/* The child that reads the clocks: what it is given, its own state, what it returns. */
#ifndef VDSOCHECK_WARP_RUN_H
#define VDSOCHECK_WARP_RUN_H

#include "clock.h"
#include "cross_cpu.h"
#include "measure/drift.h"
#include "warp.h"

/* Shared by parent and child; the pairs follow it. */
struct warp_shared {
	struct warp_evidence warp;
	volatile double done;
	struct warp_pair pairs[];
};

/* The argument of the child. */
struct warp_job {
	const struct call_table *calls;
	const struct warp_setup *setup;
	struct warp_shared *shared;
};

/* The child's state during a run. */
struct warp_state {
	const struct warp_job *job;
	struct warp_evidence *warp;
	size_t count; /* CPUs */
	struct warp_clock clocks[WARP_CLOCK_COUNT];
	struct cross_cpu_result *results; /* of one slice, by CPU */
	int64_t *least[WARP_CLOCK_COUNT]; /* gaps over all slices: count rows of count */
	struct settime_watch settime;
	struct cross_cpu *cross_cpu;
	struct drift_mark marks[3]; /* start, middle, end */
	int64_t start_ns;
};

/* Runs a struct warp_job. For a child: memory is released by its exit. */
void warp_run_job(void *job);

#endif
