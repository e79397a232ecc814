/* SPDX-License-Identifier: MIT */
/*
 * The kernel's clocks by system call, past any vDSO, and deadlines. A deadline counts with
 * times(2): it works where a sandbox kills for reading a clock, and while the clocksource under
 * test stands still.
 */
#include "base/clock.h"
#include "base/units.h"

#include <sys/syscall.h>
#include <sys/times.h>
#include <unistd.h>

struct kernel_time {
	int64_t seconds;
	int64_t ns;
};

#if defined(SYS_clock_gettime64)

/* 32-bit: 64-bit times came with 5.1; before there is only the older call. */
static struct kernel_time read_clock(clockid_t clock)
{
	struct kernel_time wide = {0, 0};

	if (syscall(SYS_clock_gettime64, clock, &wide) == 0)
		return wide;
#if defined(SYS_clock_gettime)
	long narrow[2] = {0, 0};

	if (syscall(SYS_clock_gettime, clock, narrow) == 0)
		wide = (struct kernel_time){narrow[0], narrow[1]};
#endif
	return wide;
}

#else

static struct kernel_time read_clock(clockid_t clock)
{
	struct kernel_time time = {0, 0};

	/* 64-bit: the kernel's struct timespec is two 64-bit words. */
	syscall(SYS_clock_gettime, clock, &time);
	return time;
}

#endif

int64_t kernel_clock_ns(clockid_t clock)
{
	struct kernel_time time = read_clock(clock);

	return time.seconds * NS_PER_SECOND + time.ns;
}

int64_t kernel_clock_seconds(clockid_t clock)
{
	return read_clock(clock).seconds;
}

double timeval_seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / (double)US_PER_SECOND;
}

double rusage_seconds(const struct rusage *usage)
{
	return timeval_seconds(usage->ru_utime) + timeval_seconds(usage->ru_stime);
}

static int64_t tick_ns(void)
{
	long per_second = sysconf(_SC_CLK_TCK);

	return NS_PER_SECOND / (per_second > 0 ? per_second : 100);
}

struct deadline deadline_after(int64_t ns)
{
	/* One more: the current tick is partly over. */
	return (struct deadline){
		.at_tick = (int64_t)times(NULL) + ns / tick_ns() + 1, .limit_ns = ns > 0 ? ns : 1};
}

struct deadline deadline_within(const struct deadline *other, int64_t ns)
{
	return deadline_left_ns(other) <= ns ? *other : deadline_after(ns);
}

struct deadline deadline_half(const struct deadline *whole)
{
	return whole->limit_ns ? deadline_within(whole, deadline_left_ns(whole) / 2) : *whole;
}

int64_t deadline_left_ns(const struct deadline *deadline)
{
	int64_t ticks, most, tick = tick_ns();

	if (!deadline->limit_ns)
		return INT64_MAX;
	/* clock_t wraps on 32-bit: only the difference counts. */
	ticks = (clock_t)deadline->at_tick - times(NULL);
	/* times() may fail. */
	most = deadline->limit_ns / tick + 1;
	if (ticks > most)
		ticks = most;
	return ticks > 0 ? ticks * tick : 0;
}
