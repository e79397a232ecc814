/* SPDX-License-Identifier: MIT */
/* The clocks that are watched for warps, and how each is read as one number. */
#ifndef VDSOCHECK_WARP_CLOCK_H
#define VDSOCHECK_WARP_CLOCK_H

#include <stdint.h>

#include "measure/call.h"
#include "warp.h"

/* One way to read a clock. */
struct warp_way {
	bool counter; /* the bare counter; else by the call */
	struct call call;
	bool wide; /* the call writes 64-bit words, not 32-bit ones */
};

/* Ways taken in turn; the same twice where there is one. */
struct warp_clock {
	struct warp_way ways[2];
};

/*
 * Makes the clock ready to be read. False with the reason if it cannot be: no such call, no
 * counter, or reading it ends in a signal. One thread; meant for a forked child.
 */
bool warp_clock_prepare(enum warp_clock_id id, const struct evidence *names,
	const struct call calls[CALL_MAX][PATH_COUNT], struct warp_clock *clock, struct fact *why);

/*
 * Reads the clock after everything that the thread loaded before: ns, or ticks of the
 * counter. 0 if the call failed.
 */
int64_t warp_clock_read(const struct warp_clock *clock, unsigned turn);

#endif
