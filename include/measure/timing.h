/* SPDX-License-Identifier: MIT */
/*
 * Timing: ns per call of every call by every path, of the bare counter and of the cheapest system
 * call, side by side in one run. It is used for cost. It can clear a host (what is cheaper than the
 * cheapest system call did not enter the kernel), but never show that it falls back.
 */
#ifndef VDSOCHECK_MEASURE_TIMING_H
#define VDSOCHECK_MEASURE_TIMING_H

#include "base/time.h"
#include "evidence.h"
#include "measure/call.h"

enum timing_options {
	TIMING_WHOLE = 0,      /* about 0.6 ms for each call and path: 24 ms for all */
	TIMING_BRIEF = 1 << 0, /* what the verdict rests on: about 0.5 ms with a proof */
	/* Without a proof the times decide alone: 40 ms more, on a noisy machine up to 0.9 s. */
	TIMING_ALONE = 1 << 1,
};

/*
 * Measures in a child, pinned to one CPU: many batches, the paths in turn, so that drift hits all
 * alike; batches that others disturbed are discarded. Fills *timing and the times in `calls`, which
 * call_table_name() named by the same table. Before that it compares the values of the calls, which
 * saves a child.
 */
void timing_measure(const struct call_table *table, unsigned options,
	struct timing_evidence *timing, struct call_evidence *calls,
	const struct deadline *deadline);

#endif
