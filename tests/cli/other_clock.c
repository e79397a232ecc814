/* SPDX-License-Identifier: MIT */
/*
 * To be preloaded: takes the place of libc's clock_gettime() and gettimeofday(), and does what
 * CLOCK_KIND says: `shift`s the time by an hour, makes the system `call`, `fail`s with EINVAL, or
 * is `right` and uses the vDSO.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int is_kind(const char *name)
{
	const char *kind = getenv("CLOCK_KIND");

	return kind && strcmp(kind, name) == 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*own)(clockid_t, struct timespec *);
	int result;

	if (is_kind("fail")) {
		errno = EINVAL;
		return -1;
	}
	if (!own)
		own = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	result = is_kind("call") ? (int)syscall(SYS_clock_gettime, clock, now) : own(clock, now);
	if (is_kind("shift"))
		now->tv_sec += 3600;
	return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec exact;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &exact))
		return -1;
	*now = (struct timeval){.tv_sec = exact.tv_sec, .tv_usec = exact.tv_nsec / 1000};
	return 0;
}
