/* SPDX-License-Identifier: MIT */
/*
 * A copy of the vDSO and of its data pages in private memory, called there. Which word of the
 * data pages decides whether a clock is served is found by cause and effect, without a table of
 * layouts; and on a host that falls back, the copy shows what the CPU's counter would cost.
 */
#ifndef VDSOCHECK_MEASURE_COPY_H
#define VDSOCHECK_MEASURE_COPY_H

#include "base/time.h"
#include "evidence.h"
#include "measure/call.h"

/*
 * Makes the copy in a child and fills in *copy. `calls` was made from the vDSO at *vdso;
 * *vclock spares the search where it was read from the data page. Needs x86 or arm64, and a seccomp
 * filter. Where the clocks are served, every word that holds a mode is cleared in turn, and the one
 * that makes CLOCK_REALTIME and CLOCK_MONOTONIC fall back is the mode; where they fall back, every
 * word that may hold a mode is set to that of the CPU's counter in turn, and the one that makes
 * both stop falling back is it. In the second case the cost of the patched copy is measured, too.
 * Nothing outside the child changes.
 */
void copy_measure(const struct vdso_image *vdso, const struct call_table *calls,
	const struct vclock_evidence *vclock, struct copy_evidence *copy,
	const struct deadline *deadline);

/*
 * Fills in the mode that the copy found, unless it is the word that was read by a known layout:
 * a layout is a hint, and the copy shows by its effect which word decides. vclock->fact keeps the
 * reason why the mode was not read.
 */
void copy_set_mode(const struct copy_evidence *copy, struct vclock_evidence *vclock);

#endif
