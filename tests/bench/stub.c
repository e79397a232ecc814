/* SPDX-License-Identifier: MIT */
/*
 * A reference that does not depend on the kernel's clocks: functions in the shape of clock_gettime
 * that do nothing but a chain of multiplications, each of which waits for the one before. One long
 * chain between two readings of the clock shows what a step takes; the timed loops of src/ then
 * time calls of a hundred steps and of two hundred. The difference is a hundred steps, whatever
 * the call itself takes.
 *
 *	stub CPU
 *
 * prints "step NS", "measured NS" (a hundredth of the difference) and, where the CPU's cycles
 * can be counted, "cycles N" for each step; else "no-cycles REASON".
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "measure/call.h"
#include "measure/sampler.h"

#define STEPS 100
#define LONG_CALLS 1000 /* about 0.1 ms: short enough to fall between two interrupts */
#define LONG_TRIES 4000
#define BATCH_NS 20000
#define ROUNDS 2000

#if defined(__x86_64__) || defined(__i386__)
#define STEP "imul %0, %0\n\t"
#elif defined(__aarch64__)
#define STEP "mul %0, %0, %0\n\t"
#else
#define STEP ""
#endif

#define TEN(text) text text text text text text text text text text

/* Each call depends on the result of the one before, or the CPU would overlap them. */
static volatile uintptr_t chain = 3;

static __attribute__((noinline)) int one_hundred(clockid_t clock, struct timespec *now)
{
	uintptr_t value = chain;

	(void)clock;
	(void)now;
	__asm__ volatile(TEN(TEN(STEP)) : "+r"(value));
	chain = value;
	return 0;
}

static __attribute__((noinline)) int two_hundred(clockid_t clock, struct timespec *now)
{
	uintptr_t value = chain;

	(void)clock;
	(void)now;
	__asm__ volatile(TEN(TEN(STEP)) TEN(TEN(STEP)) : "+r"(value));
	chain = value;
	return 0;
}

static double clock_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* One chain over all calls: nothing but its steps takes time. */
static void run_long(void)
{
	uintptr_t value = chain;

	for (int i = 0; i < LONG_CALLS; i++)
		__asm__ volatile(TEN(TEN(STEP)) : "+r"(value));
}

static double find_step(void)
{
	double least = 1e30;

	for (int i = 0; i < LONG_TRIES; i++) {
		double start = clock_ns(), taken;

		run_long();
		taken = (clock_ns() - start) / LONG_CALLS / STEPS;
		least = taken < least ? taken : least;
	}
	return least;
}

/* Least ns of a call, by the round sampler that the program uses; 0 if it cannot be measured. */
static void measure(double least[2])
{
	static double samples[2][ROUNDS];
	const struct sampler_limits limits = {.rounds_least = ROUNDS, .rounds_most = ROUNDS};
	struct timed_call cases[2] = {
		{.call = {.shape = SHAPE_CLOCK, .function.clock = one_hundred},
			.samples = samples[0],
			.capacity = ROUNDS},
		{.call = {.shape = SHAPE_CLOCK, .function.clock = two_hundred},
			.samples = samples[1],
			.capacity = ROUNDS},
	};
	struct sampler sampler = {.cases = cases, .count = 2};
	struct fact why = {0};

	if (!sampler_start(&sampler, BATCH_NS, &why))
		return;
	sampler_run(&sampler, &limits);
	for (int i = 0; i < 2; i++)
		least[i] = cases[i].least * timebase_ns_per_tick(&sampler.timebase);
}

static void count_cycles(void)
{
	struct perf_event_attr attributes = {.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
		.exclude_hv = 1};
	int counter = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
	uint64_t before = 0, after = 0;

	if (counter < 0) {
		printf("no-cycles %s\n", strerror(errno));
		return;
	}
	run_long();
	if (read(counter, &before, sizeof(before)) != sizeof(before))
		before = 0;
	run_long();
	if (read(counter, &after, sizeof(after)) != sizeof(after))
		after = 0;
	printf("cycles %.3f\n", (double)(after - before) / LONG_CALLS / STEPS);
	close(counter);
}

int main(int argc, char **argv)
{
	double least[2] = {0}, step;
	cpu_set_t set;

	if (argc != 2 || !*STEP) {
		fprintf(stderr, "usage: stub CPU (on x86 and arm64)\n");
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET((size_t)atoi(argv[1]), &set);
	sched_setaffinity(0, sizeof(set), &set);
	step = find_step();
	measure(least);
	printf("step %.4f\nmeasured %.4f\n", step, (least[1] - least[0]) / STEPS);
	count_cycles();
	return 0;
}
