/* SPDX-License-Identifier: MIT */
/* What the slices of a run add up to: bounds, pairs, drift. Pure. */
#ifndef VDSOCHECK_WARP_RESULT_H
#define VDSOCHECK_WARP_RESULT_H

#include "run.h"

/*
 * How far one CPU's clock may be ahead of another's, in the clock's unit: the largest, over all
 * ordered pairs, of the smallest gap. CROSS_CPU_NO_GAP if some pair was never compared.
 */
int64_t warp_result_worst_gap(const struct warp_state *state, enum warp_clock_id id);

/* Works out the counter's rate and drift from three marks in their order. */
void warp_result_drift(const struct drift_mark marks[3], struct warp_drift *drift);

/* After the last slice: converts to ns and fills in everything that follows from the gaps. */
void warp_result_finish(struct warp_state *state);

#endif
