/* SPDX-License-Identifier: MIT */
/*
 *   counter_rate [PPM]
 *
 * Prints the rate of the CPU's counter in Hz, and the ppm by which it may be wrong: measured
 * against CLOCK_MONOTONIC_RAW by system call, for a second or as many as it takes. It shares no
 * code with the program. The moment of a reading of the clock is known between two readings of the
 * counter; the narrowest of many counts, so that load only makes the error larger. Fails where it
 * stays above PPM (2), or where there is no counter here.
 */
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TRIES 2000
#define SECONDS_MAX 20

struct moment {
	uint64_t before, after;
	int64_t ns;
};

static uint64_t read_counter(void)
{
	uint64_t ticks = 0;

#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	ticks = (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
#endif
	return ticks;
}

static struct moment find_moment(void)
{
	struct moment best = {.after = UINT64_MAX};

	for (int i = 0; i < TRIES; i++) {
		struct timespec now = {.tv_sec = 0};
		struct moment moment = {.before = read_counter()};

		if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &now) != 0)
			break;
		moment.after = read_counter();
		moment.ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
		if (moment.after - moment.before < best.after - best.before)
			best = moment;
	}
	return best;
}

int main(int argc, char **argv)
{
	double limit = argc > 1 ? atof(argv[1]) : 2;
	struct timespec second = {.tv_sec = 1};
	struct moment start, end = {.ns = 0};
	double ticks = 0, error = HUGE_VAL;
	cpu_set_t cpus;
	int cpu = sched_getcpu();

	CPU_ZERO(&cpus);
	CPU_SET((size_t)(cpu < 0 ? 0 : cpu), &cpus);
	if (!read_counter() || sched_setaffinity(0, sizeof(cpus), &cpus) != 0) {
		fputs("no counter that can be read here, or no pinning\n", stderr);
		return 1;
	}
	start = find_moment();
	for (int i = 0; i < SECONDS_MAX && error > limit; i++) {
		nanosleep(&second, NULL);
		end = find_moment();
		ticks = ((double)(end.before - start.before) + (double)(end.after - start.after)) /
		        2;
		error = ((double)(start.after - start.before) + (double)(end.after - end.before)) /
		        2 / ticks * 1e6;
	}
	if (end.ns <= start.ns || error > limit) {
		fprintf(stderr, "too busy: the measurement is good to %.1f ppm only\n", error);
		return 1;
	}
	printf("%.0f %.2f\n", ticks * 1e9 / (double)(end.ns - start.ns), error);
	return 0;
}
