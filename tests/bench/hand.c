/* SPDX-License-Identifier: MIT */
/*
 * What somebody in doubt would write: a loop around the call, so many times, and the clock
 * before and after. Shares no code with src/.
 *
 *	hand CPU MILLISECONDS
 *
 * prints "NAME MINIMUM MEDIAN" in ns per call for each call, measured in turn.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define CALLS 1000
#define CHUNKS_MAX 200000

typedef int gettime(clockid_t, struct timespec *);
typedef int timeofday(struct timeval *, void *);

static gettime *vdso_gettime;
static timeofday *vdso_timeofday;
static struct timespec now;
static struct timeval day;

/* The function is in a register: what is loaded anew each time is part of the price. */
static __attribute__((noinline)) void loop_gettime(gettime *function, clockid_t clock)
{
	for (int i = 0; i < CALLS; i++)
		function(clock, &now);
}

static __attribute__((noinline)) void loop_timeofday(timeofday *function)
{
	for (int i = 0; i < CALLS; i++)
		function(&day, NULL);
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
	double ns[CHUNKS_MAX];
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

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static int find_functions(void)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *functions[2];

	if (!vdso)
		return 0;
	functions[0] = dlsym(vdso, "__vdso_clock_gettime");
	functions[1] = dlsym(vdso, "__vdso_gettimeofday");
	memcpy(&vdso_gettime, &functions[0], sizeof(vdso_gettime));
	memcpy(&vdso_timeofday, &functions[1], sizeof(vdso_timeofday));
	return functions[0] && functions[1];
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

	if (argc != 3 || !find_functions()) {
		fprintf(stderr, "usage: hand CPU MILLISECONDS (on a host with an x86 vDSO)\n");
		return 2;
	}
	pin(atoi(argv[1]));
	until = clock_ns() + atof(argv[2]) * 1e6;
	while (clock_ns() < until && rows[0].count < CHUNKS_MAX) {
		for (size_t i = 0; i < ROW_COUNT; i++) {
			double start = clock_ns();

			rows[i].loop();
			rows[i].ns[rows[i].count++] = (clock_ns() - start) / CALLS;
		}
	}
	for (size_t i = 0; i < ROW_COUNT; i++) {
		qsort(rows[i].ns, rows[i].count, sizeof(double), compare);
		printf("%s %.3f %.3f\n", rows[i].name, rows[i].ns[0],
			rows[i].ns[rows[i].count / 2]);
	}
	return 0;
}
