/* SPDX-License-Identifier: MIT */
/*
 * The race: threads, one on each CPU, that read a clock and compare it with what the others
 * read last. A thread takes the last value of another one first and reads the clock after it;
 * so if the clock says less, it is behind. No lock is held, so a thread (or a whole CPU, by
 * its hypervisor) that is put to sleep leaves old values behind, which are never a warp.
 *
 * The least gap between two CPUs' readings, in both directions, bounds the offset of their
 * clocks: that is a ping-pong with the best of all its rounds.
 */
#ifndef VDSOCHECK_WARP_CROSS_CPU_H
#define VDSOCHECK_WARP_CROSS_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"
#include "clock.h"

/* The gap of a pair that has not met. */
#define WARP_RACE_NO_GAP INT64_MAX

/* What one CPU saw; in the clock's own unit. */
struct warp_score {
	uint64_t reads;
	uint64_t warps;
	int64_t largest;
	size_t against; /* whose reading the largest warp was behind: an index of a CPU */
	int64_t *least; /* for each other CPU the least gap: our reading less its; not owned */
};

struct warp_race;

/*
 * Starts the threads, each tied to one CPU, and lets them wait. NULL with the reason if that
 * cannot be. `scores` has room for one score for each CPU, with its `least`.
 */
struct warp_race *warp_race_start(
	const int *cpus, size_t count, struct warp_score *scores, struct fact *why);

/*
 * All read the clock for so long; the scores are of this slice alone. `injected` is added
 * to what each CPU reads, in the clock's unit; NULL: nothing.
 */
void warp_race_run(struct warp_race *race, const struct warp_clock *clock, int64_t slice_ns,
	const int64_t *injected);

/* Ends the threads. */
void warp_race_end(struct warp_race *race);

#endif
