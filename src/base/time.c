/* SPDX-License-Identifier: MIT */
/* Reads the kernel's clocks by system call, without any vDSO, and counts deadlines in ticks. */
#include "base/time.h"

#include <linux/posix_types.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <unistd.h>

/* A machine has the calls with 64-bit times, those with times of the kernel's words, or both. */
#ifndef SYS_clock_gettime
#define SYS_clock_gettime (-1)
#define SYS_clock_getres (-1)
#endif
#ifndef SYS_clock_gettime64
#define SYS_clock_gettime64 (-1)
#define SYS_clock_getres_time64 (-1)
#endif

/* The first came with 5.1 to 32-bit machines. */
static int64_t call_ns(long call64, long call, clockid_t clock)
{
	int64_t wide[2];
	__kernel_long_t words[2];

	if (call64 >= 0 && syscall(call64, clock, wide) == 0)
		return wide[0] * NS_PER_SECOND + wide[1];
	if (call >= 0 && syscall(call, clock, words) == 0)
		return words[0] * NS_PER_SECOND + words[1];
	return 0;
}

int64_t kernel_clock_ns(clockid_t clock)
{
	return call_ns(SYS_clock_gettime64, SYS_clock_gettime, clock);
}

int64_t kernel_clock_step_ns(clockid_t clock)
{
	return call_ns(SYS_clock_getres_time64, SYS_clock_getres, clock);
}

struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / NS_PER_SECOND), .tv_nsec = (long)(ns % NS_PER_SECOND)};
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

/*
 * Where times() is refused another clock is used, or waits would never end. All deadlines must be
 * of one clock, so the first call decides. On 32-bit the ticks pass through these values for 41
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
	/* The current tick is partly over, so one is added. */
	return (struct deadline){
		.at_tick = (int64_t)now_ticks() + ns / tick_ns() + 1, .limit_ns = ns > 0 ? ns : 1};
}

struct deadline deadline_within(const struct deadline *other, int64_t ns)
{
	return deadline_left_ns(other) <= ns ? *other : deadline_after(ns);
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
