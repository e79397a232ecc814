/* SPDX-License-Identifier: MIT */
/*
 * Preloaded: makes a plain file behave like the kernel's current_clocksource, which a write
 * replaces, also where it is not obedient. The name that is written decides:
 *
 *   FAKE_REFUSE=NAME   taken without a word and ignored, as the kernel does it
 *   FAKE_FAIL=NAME     the write fails with EINVAL
 *   FAKE_HANG=NAME     the write does not come back
 *   FAKE_LOSE=NAME     once another name was written this one is refused
 *
 * FAKE_SLOW makes each proof wait for so many seconds while another clocksource than tsc is in use.
 * FAKE_LEAP makes adjtimex() report a leap second to be inserted at the end of the day.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timex.h>
#include <sys/types.h>
#include <unistd.h>

#define CURRENT "/sys/devices/system/clocksource/clocksource0/current_clocksource"

typedef ssize_t write_function(int, const void *, size_t, off_t);

static int is_named(const char *variable, const char *line, size_t length)
{
	const char *name = getenv(variable);

	return name && strlen(name) + 1 == length && strncmp(name, line, length - 1) == 0;
}

/* Across processes: the file itself remembers. */
static int holds_another(int file, const char *name)
{
	char now[64] = "";
	ssize_t got = pread(file, now, sizeof(now) - 1, 0);

	return got > 0 && strncmp(now, name, strlen(name)) != 0;
}

static ssize_t write_like_the_kernel(int file, const void *line, size_t length, off_t offset)
{
	write_function *real;
	void *found = dlsym(RTLD_NEXT, "pwrite");
	char whole[32];

	memcpy(&real, &found, sizeof(real));
	if (is_named("FAKE_REFUSE", line, length))
		return (ssize_t)length;
	if (is_named("FAKE_LOSE", line, length) && holds_another(file, getenv("FAKE_LOSE")))
		return (ssize_t)length;
	if (is_named("FAKE_FAIL", line, length)) {
		errno = EINVAL;
		return -1;
	}
	while (is_named("FAKE_HANG", line, length))
		pause();
	/* In one go, as in the kernel: a process may be killed at any moment. */
	memset(whole, '\n', sizeof(whole));
	memcpy(whole, line, length < sizeof(whole) ? length : sizeof(whole));
	return real(file, whole, sizeof(whole), offset) < 0 ? -1 : (ssize_t)length;
}

/* Each child of a proof sets a filter. */
int prctl(int option, ...)
{
	int (*real)(int, ...);
	void *found = dlsym(RTLD_NEXT, "prctl");
	unsigned long values[4];
	char now[64] = "";
	va_list list;
	int file;

	memcpy(&real, &found, sizeof(real));
	va_start(list, option);
	for (int i = 0; i < 4; i++)
		values[i] = va_arg(list, unsigned long);
	va_end(list);
	file = option == PR_SET_SECCOMP && getenv("FAKE_SLOW") ? open(CURRENT, O_RDONLY | O_CLOEXEC)
	                                                       : -1;
	if (file >= 0 && read(file, now, sizeof(now) - 1) > 0 && strncmp(now, "tsc", 3) != 0)
		sleep((unsigned)atoi(getenv("FAKE_SLOW")));
	if (file >= 0)
		close(file);
	return real(option, values[0], values[1], values[2], values[3]);
}

ssize_t pwrite(int file, const void *line, size_t length, off_t offset);

ssize_t pwrite(int file, const void *line, size_t length, off_t offset)
{
	return write_like_the_kernel(file, line, length, offset);
}

#if defined(__GLIBC__)
ssize_t pwrite64(int file, const void *line, size_t length, off64_t offset);

ssize_t pwrite64(int file, const void *line, size_t length, off64_t offset)
{
	return write_like_the_kernel(file, line, length, (off_t)offset);
}
#endif

int adjtimex(struct timex *timex)
{
	int (*real)(struct timex *);
	void *found = dlsym(RTLD_NEXT, "adjtimex");
	int state;

	memcpy(&real, &found, sizeof(real));
	state = real(timex);
	if (state < 0 || !getenv("FAKE_LEAP"))
		return state;
	timex->status |= STA_INS;
	return TIME_INS;
}
