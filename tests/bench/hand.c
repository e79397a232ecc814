/* SPDX-License-Identifier: MIT */
/*
 * A hand-written benchmark to compare with: a loop around the call, and the clock before and after.
 * Shares no code with src/.
 *
 *	hand CPU MILLISECONDS [8]
 *
 * prints "NAME MINIMUM MEAN" in ns per call for each call, measured in turn: the least of the
 * batches, and wall time per call with all that happened meanwhile. With the 8 there are eight
 * calls for each count, as in src/: an emulator takes longer for them, since it looks up each place
 * that a function returns to.
 */
#define _GNU_SOURCE 1
#include <elf.h>
#include <link.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define CALLS 1000
#define BATCHES_MAX 200000

typedef int gettime(clockid_t, struct timespec *);
typedef int timeofday(struct timeval *, void *);

static gettime *vdso_gettime;
static timeofday *vdso_timeofday;
static struct timespec now;
static struct timeval day;

static int eight;

/* The function is in a register: what is loaded anew each time is part of the cost. */
#define REPEAT(call)                                                                               \
	do {                                                                                       \
		if (eight) {                                                                       \
			for (int i = 0; i < CALLS; i += 8) {                                       \
				call;                                                              \
				call;                                                              \
				call;                                                              \
				call;                                                              \
				call;                                                              \
				call;                                                              \
				call;                                                              \
				call;                                                              \
			}                                                                          \
		} else {                                                                           \
			for (int i = 0; i < CALLS; i++)                                            \
				call;                                                              \
		}                                                                                  \
	} while (0)

static __attribute__((noinline)) void loop_gettime(gettime *function, clockid_t clock)
{
	REPEAT(function(clock, &now));
}

static __attribute__((noinline)) void loop_timeofday(timeofday *function)
{
	REPEAT(function(&day, NULL));
}

static void vdso_monotonic(void)
{
	loop_gettime(vdso_gettime, CLOCK_MONOTONIC);
}

static void vdso_realtime(void)
{
	loop_gettime(vdso_gettime, CLOCK_REALTIME);
}

static void vdso_coarse(void)
{
	loop_gettime(vdso_gettime, CLOCK_MONOTONIC_COARSE);
}

static void vdso_day(void)
{
	loop_timeofday(vdso_timeofday);
}

static void libc_monotonic(void)
{
	loop_gettime(clock_gettime, CLOCK_MONOTONIC);
}

static int raw_gettime(clockid_t clock, struct timespec *time)
{
	return (int)syscall(SYS_clock_gettime, clock, time);
}

static void raw_monotonic(void)
{
	loop_gettime(raw_gettime, CLOCK_MONOTONIC);
}

static struct {
	const char *name;
	void (*loop)(void);
	size_t count;
	double ns[BATCHES_MAX];
} rows[] = {
	{.name = "gettimeofday--vdso", .loop = vdso_day},
	{.name = "clock_gettime-CLOCK_REALTIME-vdso", .loop = vdso_realtime},
	{.name = "clock_gettime-CLOCK_MONOTONIC-vdso", .loop = vdso_monotonic},
	{.name = "clock_gettime-CLOCK_MONOTONIC_COARSE-vdso", .loop = vdso_coarse},
	{.name = "clock_gettime-CLOCK_MONOTONIC-libc", .loop = libc_monotonic},
	{.name = "clock_gettime-CLOCK_MONOTONIC-syscall", .loop = raw_monotonic},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static double clock_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double least_of(const double *values, size_t count)
{
	double least = values[0];

	for (size_t i = 1; i < count; i++)
		least = values[i] < least ? values[i] : least;
	return least;
}

static double mean_of(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum / (double)count;
}

/* Its file is in memory whole, from the first byte on. A static program has no dlsym(). */
static void *find_symbol(const char *image, const char *name)
{
	const ElfW(Ehdr) *file = (const void *)image;
	const ElfW(Shdr) *sections = (const void *)(image + file->e_shoff);

	for (size_t i = 0; i < file->e_shnum; i++) {
		const ElfW(Sym) *symbols = (const void *)(image + sections[i].sh_offset);

		if (sections[i].sh_type != SHT_DYNSYM)
			continue;
		for (size_t j = 0; j < sections[i].sh_size / sizeof(*symbols); j++) {
			const char *names = image + sections[sections[i].sh_link].sh_offset;

			if (strcmp(names + symbols[j].st_name, name) == 0)
				return (void *)((uintptr_t)image + symbols[j].st_value);
		}
	}
	return NULL;
}

static void *find_function(const char *prefix, const char *name)
{
	const char *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	char whole[64];

	snprintf(whole, sizeof(whole), "%s%s", prefix, name);
	return image ? find_symbol(image, whole) : NULL;
}

static int find_functions(void)
{
	const char *prefix = find_function("__vdso_", "gettimeofday") ? "__vdso_" : "__kernel_";
	void *gettime_address = find_function(prefix, "clock_gettime");
	void *timeofday_address = find_function(prefix, "gettimeofday");

	memcpy(&vdso_gettime, &gettime_address, sizeof(vdso_gettime));
	memcpy(&vdso_timeofday, &timeofday_address, sizeof(vdso_timeofday));
	return gettime_address && timeofday_address;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
	double until;

	if (argc < 3 || argc > 4 || !find_functions()) {
		fprintf(stderr, "usage: hand CPU MILLISECONDS [8] (where there is a vDSO)\n");
		return 2;
	}
	eight = argc == 4;
	pin(atoi(argv[1]));
	until = clock_ns() + atof(argv[2]) * 1e6;
	while (clock_ns() < until && rows[0].count < BATCHES_MAX) {
		for (size_t i = 0; i < ROW_COUNT; i++) {
			double start = clock_ns();

			rows[i].loop();
			rows[i].ns[rows[i].count++] = (clock_ns() - start) / CALLS;
		}
	}
	for (size_t i = 0; i < ROW_COUNT; i++) {
		printf("%s %.3f %.3f\n", rows[i].name, least_of(rows[i].ns, rows[i].count),
			mean_of(rows[i].ns, rows[i].count));
	}
	return 0;
}
