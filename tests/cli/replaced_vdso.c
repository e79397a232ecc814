/* SPDX-License-Identifier: MIT */
/*
 * To be preloaded (x86-64): before main() begins, the auxiliary vector names a copy of the vDSO
 * whose functions do what VDSO_KIND says. Without it they make the system calls, as a sandbox may
 * do that wants to see them all. Else they are served and wrong: `ahead` by a second, `behind` by
 * 50 us, `still` since the start, `realtime` for CLOCK_MONOTONIC. Or they fail: with `einval` and
 * `enosys` clock_gettime(), with `monotonic` for this clock alone, with `timeofday` gettimeofday();
 * with `none` it writes nothing, with `half` the seconds alone. With `in-place`, the kernel's own
 * vDSO answers CLOCK_REALTIME for each clock.
 */
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__) && !defined(__ILP32__)

#define IMAGE_SIZE 8192
#define CLOCKS 12

static const char *kind;

enum { GETTIME, TIMEOFDAY, TIME, GETRES, GETCPU, CALL_COUNT };

static const struct {
	const char *name;
	uint32_t number;
} calls[CALL_COUNT] = {
	[GETTIME] = {"__vdso_clock_gettime", SYS_clock_gettime},
	[TIMEOFDAY] = {"__vdso_gettimeofday", SYS_gettimeofday},
	[TIME] = {"__vdso_time", SYS_time},
	[GETRES] = {"__vdso_clock_getres", SYS_clock_getres},
	[GETCPU] = {"__vdso_getcpu", SYS_getcpu},
};

/* The kernel's functions, and what they said at the start. */
typedef int gettime_function(clockid_t clock, struct timespec *now);
typedef int timeofday_function(struct timeval *now, void *zone);
static gettime_function *kernels_gettime;
static timeofday_function *kernels_timeofday;
static struct timespec at_start[CLOCKS];

static int is_kind(const char *name)
{
	return strcmp(kind, name) == 0;
}

static int wrong_gettime(clockid_t clock, struct timespec *now)
{
	long parts = now->tv_nsec;
	int result;

	if (is_kind("einval") || (is_kind("monotonic") && clock == CLOCK_MONOTONIC))
		return -EINVAL;
	if (is_kind("enosys"))
		return -ENOSYS;
	if (is_kind("none"))
		return 0;
	result = kernels_gettime(
		is_kind("realtime") && clock == CLOCK_MONOTONIC ? CLOCK_REALTIME : clock, now);
	if (result)
		return result;
	if (is_kind("half"))
		now->tv_nsec = parts;
	if (is_kind("ahead"))
		now->tv_sec++;
	if (is_kind("still") && clock < CLOCKS)
		*now = at_start[clock];
	if (is_kind("behind")) {
		now->tv_nsec -= 50000;
		if (now->tv_nsec < 0) {
			now->tv_sec--;
			now->tv_nsec += 1000000000;
		}
	}
	return 0;
}

static int wrong_timeofday(struct timeval *now, void *zone)
{
	struct timespec exact;

	(void)zone;
	if (is_kind("timeofday"))
		return -EINVAL;
	if (is_kind("einval") || is_kind("enosys") || is_kind("none") || is_kind("half"))
		return kernels_timeofday(now, NULL);
	wrong_gettime(CLOCK_REALTIME, &exact);
	*now = (struct timeval){.tv_sec = exact.tv_sec, .tv_usec = exact.tv_nsec / 1000};
	return 0;
}

static int realtime_alone(clockid_t clock, struct timespec *now)
{
	struct timeval us;

	(void)clock;
	kernels_timeofday(&us, NULL);
	*now = (struct timespec){.tv_sec = us.tv_sec, .tv_nsec = us.tv_usec * 1000};
	return 0;
}

/* mov $number, %eax; syscall; ret */
static void put_call(unsigned char *entry, uint32_t number)
{
	unsigned char code[] = {0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0xc3};

	memcpy(code + 1, &number, sizeof(number));
	memcpy(entry, code, sizeof(code));
}

/* movabs $function, %rax; jmp *%rax */
static void put_jump(unsigned char *entry, uintptr_t function)
{
	unsigned char code[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};

	memcpy(code + 2, &function, sizeof(function));
	memcpy(entry, code, sizeof(code));
}

/* Where the calls are in an image; 0: nowhere. */
static void find_calls(const unsigned char *image, uintptr_t at[CALL_COUNT])
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	const Elf64_Shdr *section = (const Elf64_Shdr *)(image + header->e_shoff);

	while (section->sh_type != SHT_DYNSYM)
		section++;
	for (size_t i = 0; i < section->sh_size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *symbol = (const Elf64_Sym *)(image + section->sh_offset) + i;
		const Elf64_Shdr *names =
			(const Elf64_Shdr *)(image + header->e_shoff) + section->sh_link;

		for (size_t k = 0; k < CALL_COUNT; k++) {
			if (!strcmp((const char *)image + names->sh_offset + symbol->st_name,
				    calls[k].name))
				at[k] = symbol->st_value;
		}
	}
}

static void announce(uintptr_t image)
{
	char **end = environ;
	Elf64_auxv_t *entry;

	while (*end)
		end++;
	for (entry = (Elf64_auxv_t *)(end + 1); entry->a_type != AT_NULL; entry++) {
		if (entry->a_type == AT_SYSINFO_EHDR)
			entry->a_un.a_val = image;
	}
}

__attribute__((constructor)) static void replace(void)
{
	unsigned char *kernels = (unsigned char *)getauxval(AT_SYSINFO_EHDR);
	unsigned char *image =
		mmap(NULL, IMAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t at[CALL_COUNT] = {0}, base = (uintptr_t)kernels;

	kind = getenv("VDSO_KIND");
	find_calls(kernels, at);
	kernels_gettime = (gettime_function *)(base + at[GETTIME]);
	kernels_timeofday = (timeofday_function *)(base + at[TIMEOFDAY]);
	if (kind && is_kind("in-place")) {
		if (mprotect(kernels, IMAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
			perror("replaced_vdso");
		else
			put_jump(kernels + at[GETTIME], (uintptr_t)realtime_alone);
		return;
	}
	memcpy(image, kernels, IMAGE_SIZE);
	for (clockid_t clock = 0; clock < CLOCKS; clock++)
		kernels_gettime(clock, &at_start[clock]);
	for (size_t i = 0; i < CALL_COUNT; i++) {
		if (!at[i])
			continue;
		if (!kind)
			put_call(image + at[i], calls[i].number);
		else
			put_jump(image + at[i], i == GETTIME     ? (uintptr_t)wrong_gettime
						: i == TIMEOFDAY ? (uintptr_t)wrong_timeofday
								 : base + at[i]);
	}
	mprotect(image, IMAGE_SIZE, PROT_READ | PROT_EXEC);
	announce((uintptr_t)image);
}
#else
typedef int replaced_vdso_on_x86_64_only;
#endif
