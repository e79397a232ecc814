/* SPDX-License-Identifier: MIT */
/* One clocksource tried out: switched to, proven, timed, looked at for warps. */
#ifndef VDSOCHECK_COMPARE_CANDIDATE_H
#define VDSOCHECK_COMPARE_CANDIDATE_H

#include "clocksource_switch.h"
#include "measure/call.h"
#include "warp.h"

/* The kernel's clocks; what the counter does on its own is the same whatever the source. */
#define TRIAL_CLOCKS (WARP_ALL_CLOCKS & ~WARP_CLOCK(WARP_COUNTER))

struct trial {
	char name[CLOCKSOURCE_NAME_SIZE];
	struct fact switched;     /* known: the kernel ran on it */
	struct fact fact;         /* known: all that follows was tried, each with its own fact */
	struct evidence evidence; /* proof, timing, calls */
	struct warp_evidence
		warp; /* of TRIAL_CLOCKS; has no pairs, so there is nothing to release */
};

/* What is the same for all trials. */
struct trial_setup {
	const struct evidence *names; /* as call_list() filled it */
	const struct call (*calls)[PATH_COUNT];
	int64_t warp_ns; /* time to look for warps */
};

/*
 * Switches to trial->name and measures. It is not switched back: meant for a child whose
 * parent sees to that, and which may be killed at any moment.
 */
void trial_run(
	const struct clock_switch *clock, const struct trial_setup *setup, struct trial *trial);

#endif
