/* SPDX-License-Identifier: MIT */
/* The kernel's clocks by system call, past any vDSO. */
#include "base/clock.h"
#include "base/units.h"

#include <sys/syscall.h>
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
