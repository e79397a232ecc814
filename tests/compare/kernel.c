/* SPDX-License-Identifier: MIT */
/*
 * Preloaded: makes the plain file of a fake root behave like the kernel's current_clocksource
 * where it is not simply obedient. The name that is written decides:
 *
 *   FAKE_REFUSE=NAME   taken without a word and ignored, as the kernel does it
 *   FAKE_FAIL=NAME     the write fails with EINVAL
 *   FAKE_HANG=NAME     the write does not come back
 *   FAKE_LOSE=NAME     once another name was written this one is refused
 *
 * FAKE_LEAP makes adjtimex() report a leap second to be inserted at the end of the day.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/types.h>
#include <unistd.h>

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
	return real(file, line, length, offset);
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
