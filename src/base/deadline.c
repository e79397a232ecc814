/* SPDX-License-Identifier: MIT */
/* Deadlines, in ticks. */
#include "base/deadline.h"

#include <sys/times.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"

static int64_t tick_ns(void)
{
	long per_second = sysconf(_SC_CLK_TCK);

	return NS_PER_SECOND / (per_second > 0 ? per_second : 100);
}

/*
 * If times() is refused another clock is used, or waits would never end. All deadlines must be of
 * one clock, so the first call decides. On 32-bit the ticks pass through these values for 41
 * seconds, the first time 5 minutes after boot: the other clock is right then, too.
 */
static clock_t now_ticks(void)
{
	static enum { UNDECIDED, TIMES, MONOTONIC } source;
	clock_t now = source == MONOTONIC ? 0 : times(NULL);

	/* C libraries return the kernel's errors as they are, except that glibc turns -1 into 0. */
	if (source == UNDECIDED)
		source = now <= 0 && now >= -4095 ? MONOTONIC : TIMES;
	if (source == MONOTONIC)
		return (clock_t)(kernel_clock_ns(CLOCK_MONOTONIC) / tick_ns());
	return now;
}

struct deadline deadline_after(int64_t ns)
{
	/* One more: the current tick is partly over. */
	return (struct deadline){
		.at_tick = (int64_t)now_ticks() + ns / tick_ns() + 1, .limit_ns = ns > 0 ? ns : 1};
}

struct deadline deadline_within(const struct deadline *other, int64_t ns)
{
	return deadline_left_ns(other) <= ns ? *other : deadline_after(ns);
}

struct deadline deadline_part(const struct deadline *whole, double part)
{
	if (!whole->limit_ns)
		return *whole;
	return deadline_within(whole, (int64_t)((double)deadline_left_ns(whole) * part));
}

int64_t deadline_left_ns(const struct deadline *deadline)
{
	int64_t ticks, most, tick = tick_ns();

	if (!deadline->limit_ns)
		return INT64_MAX;
	/* clock_t wraps on 32-bit: only the difference counts. */
	ticks = (clock_t)deadline->at_tick - now_ticks();
	/* times() may fail once, and succeed again. */
	most = deadline->limit_ns / tick + 1;
	if (ticks > most)
		ticks = most;
	return ticks > 0 ? ticks * tick : 0;
}
