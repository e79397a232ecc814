/* SPDX-License-Identifier: MIT */
/*
 * Timing: ns per call of every call by every path, of the bare counter and of the cheapest system
 * call, side by side in one run. It is used for cost. It can clear a host (what is cheaper than the
 * cheapest system call did not enter the kernel), but never show that it falls back.
 */
#ifndef VDSOCHECK_MEASURE_TIMING_H
#define VDSOCHECK_MEASURE_TIMING_H

#include "base/deadline.h"
#include "evidence.h"
#include "measure/call.h"

enum timing_effort {
	TIMING_WHOLE, /* about 0.6 ms for each call and path: 24 ms for all */
	TIMING_BRIEF, /* what the verdict rests on: about 0.5 ms with a proof */
};

/*
 * Measures in a child, pinned to one CPU: many batches, the paths in turn, so that drift hits all
 * alike; batches that others disturbed are discarded. Fills evidence->timing and the times in
 * evidence->calls. Takes about 40 ms more where evidence->proof was not taken, so that the times
 * must decide alone, on a noisy machine up to 0.9 s.
 */
void timing_measure(struct evidence *evidence, const struct call_table *calls,
	enum timing_effort effort, const struct deadline *deadline);

#endif
