/* SPDX-License-Identifier: MIT */
/*
 * The fourth witness, timing: ns per call of every call by every way, of the bare counter
 * and of the cheapest system call, side by side in one run. Use it for cost; it can acquit
 * (cheaper than the cheapest system call: cannot have entered the kernel), never convict.
 */
#ifndef VDSOCHECK_MEASURE_TIMING_H
#define VDSOCHECK_MEASURE_TIMING_H

#include "base/kernel_clock.h"
#include "evidence.h"
#include "measure/call.h"

/*
 * Measures in a child, pinned to one CPU: many batches of about 20 us each, the ways taken in
 * turn so that drift hits all alike; batches that others disturbed are discarded. Fills
 * evidence->timing and the times in evidence->calls. Takes 0.6 ms for each call and path: 24 ms for
 * all, 7 ms for those that decide; about 40 ms more
 * where evidence->proof was not taken, so that the times must decide alone, on a noisy machine
 * up to 0.9 s.
 */
void timing_measure(
	struct evidence *evidence, const struct call_table *calls, const struct deadline *deadline);

/*
 * The same with less care, in about 2 ms for a few calls where the proof was taken: enough to
 * distinguish calls that cost as much as a system call from those that do not.
 */
void timing_measure_brief(
	struct evidence *evidence, const struct call_table *calls, const struct deadline *deadline);

#endif
