/* SPDX-License-Identifier: MIT */
/* What the slices of a watch come to: bounds, pairs, drift. Pure, but for the counter. */
#ifndef VDSOCHECK_WARP_RESULT_H
#define VDSOCHECK_WARP_RESULT_H

#include "run.h"

/*
 * How far a clock may be ahead of another, in its own unit: the least gap bounds it. The
 * worst of all ordered pairs is what can be promised for each of them. WARP_RACE_NO_GAP if
 * some pair has not met.
 */
int64_t warp_result_worst_gap(const struct warp_watch *watch, enum warp_clock_id id);

/* Works out the counter's rate and drift from three moments in their order. Pure. */
void warp_result_drift(const struct drift_mark marks[3], struct warp_drift *drift);

/* Turns units into ns and fills in all that follows from the slices. After the last one. */
void warp_result_finish(struct warp_watch *watch);

#endif
