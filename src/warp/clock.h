/* SPDX-License-Identifier: MIT */
/* The clocks that warp tests, each read as one number, and whether one was set meanwhile. */
#ifndef VDSOCHECK_WARP_CLOCK_H
#define VDSOCHECK_WARP_CLOCK_H

#include <stdint.h>

#include "measure/call.h"
#include "warp.h"

/* One way to read a clock. */
struct warp_path {
	bool counter; /* the bare counter; otherwise by the call */
	struct call call;
	bool wide; /* the call writes 64-bit words, not 32-bit ones */
};

/* Paths taken in turn; the same one twice where there is only one. */
struct warp_clock {
	struct warp_path paths[2];
};

/*
 * Makes the clock ready to be read. False with the reason if it cannot be: no such call, no
 * counter, or reading it raises a signal. For a single-threaded, forked child.
 */
bool warp_clock_prepare(enum warp_clock_id id, const struct call_table *calls,
	struct warp_clock *clock, struct fact *why);

/*
 * Reads the clock after everything that the thread loaded before. Returns ns, or ticks of the
 * counter; 0 if the call failed.
 */
int64_t warp_clock_read(const struct warp_clock *clock, unsigned turn);

/*
 * Whether CLOCK_REALTIME was set: a clock that was set back returns an earlier time on all CPUs,
 * which is no warp. Slewing never makes a clock run backwards and is not reported.
 */
struct settime_watch {
	int timer; /* a timerfd; -1: this kernel cannot report it */
};

/* Starts watching. Release with settime_watch_close(). */
void settime_watch_open(struct settime_watch *watch);

/* True if the clock was set since the last call, or since the start. */
bool settime_watch_fired(struct settime_watch *watch);

void settime_watch_close(struct settime_watch *watch);

#endif
