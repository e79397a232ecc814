/* SPDX-License-Identifier: MIT */
/* The child that watches the clocks: what it is given, what it keeps, what it hands back. */
#ifndef VDSOCHECK_WARP_RUN_H
#define VDSOCHECK_WARP_RUN_H

#include "clock.h"
#include "cross_cpu.h"
#include "measure/drift.h"
#include "settime_watch.h"
#include "warp.h"

/* What parent and child share; the pairs follow it. */
struct warp_shared {
	struct warp_evidence warp;
	volatile double done;
	struct warp_pair pairs[];
};

/* What the parent hands to the child. */
struct warp_job {
	const struct evidence *names;
	const struct call (*calls)[PATH_COUNT];
	const struct warp_setup *setup;
	struct warp_shared *shared;
};

/* The child's own. */
struct warp_watch {
	const struct warp_job *job;
	struct warp_evidence *warp;
	size_t count; /* CPUs */
	struct warp_clock clocks[WARP_CLOCK_COUNT];
	struct warp_score *scores;        /* of a slice, by CPU */
	int64_t *least[WARP_CLOCK_COUNT]; /* over all slices: count rows of count */
	int64_t *injected_ticks;          /* NULL: none */
	struct clock_set clock_set;
	struct warp_race *race;
	struct drift_mark marks[3]; /* start, middle, end */
	int64_t start_ns;
};

/* Does a struct warp_job; the work of a child, whose memory goes with it. */
void warp_watch_run(void *job);

#endif
