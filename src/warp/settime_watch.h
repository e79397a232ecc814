/* SPDX-License-Identifier: MIT */
/*
 * Whether somebody set CLOCK_REALTIME while we looked: a clock that was put back says an
 * earlier time on all CPUs, and that is no warp. The kernel tells, by a timer that is
 * cancelled when the clock is set (by settimeofday, NTP's steps, leap seconds). Slewing, which
 * never makes a clock run backwards, is not told.
 */
#ifndef VDSOCHECK_WARP_SETTIME_WATCH_H
#define VDSOCHECK_WARP_SETTIME_WATCH_H

#include <stdbool.h>

struct clock_set {
	int timer; /* -1: this kernel cannot tell */
};

/* Begins to watch. End with clock_set_close(). */
void clock_set_open(struct clock_set *watch);

/* True if the clock was set since the last question, or since the start. */
bool clock_set_happened(struct clock_set *watch);

void clock_set_close(struct clock_set *watch);

#endif
