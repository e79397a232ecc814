/* SPDX-License-Identifier: MIT */
/*
 * An independent test for time warps, after Ingo Molnar's time-warp-test: processes, one on
 * each CPU, take a lock, read a clock, and compare it with the value that was read last under
 * the same lock. Shares neither code nor method with src/warp/cross_cpu.c.
 *
 *   time_warp_test SECONDS [CLOCK]    prints "CLOCK READS WARPS LARGEST" for each clock, or for one
 *
 * LARGEST is in ticks for rdtsc (on arm64, cntvct_el0), else in ns. Exit status: 0 no warp, 1
 * warps, 2 one CPU only.
 */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND 1000000000LL

struct shared {
	volatile int lock;
	volatile int stop;
	volatile uint64_t last;
	volatile uint64_t reads;
	volatile uint64_t warps;
	volatile uint64_t largest;
};

typedef uint64_t read_function(void);

static uint64_t read_counter(void)
{
#if defined(__x86_64__) || defined(__i386__)
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
	return ticks;
#else
	return 0;
#endif
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)(now.tv_sec * NS_PER_SECOND + now.tv_nsec);
}

static uint64_t read_monotonic(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static uint64_t read_realtime(void)
{
	return read_clock(CLOCK_REALTIME);
}

static void lock(struct shared *shared)
{
	while (__atomic_exchange_n(&shared->lock, 1, __ATOMIC_ACQUIRE)) {
		for (int i = 0; shared->lock; i++) {
			if (i % 10000 == 9999)
				sched_yield();
		}
	}
}

static void unlock(struct shared *shared)
{
	__atomic_store_n(&shared->lock, 0, __ATOMIC_RELEASE);
}

static void read_once(struct shared *shared, read_function *read_it)
{
	uint64_t now, last;

	lock(shared);
	last = shared->last;
	now = read_it();
	shared->reads++;
	if (now < last) {
		shared->warps++;
		if (last - now > shared->largest)
			shared->largest = last - now;
	}
	shared->last = now;
	unlock(shared);
}

static void be_cpu(int cpu, struct shared *shared, read_function *read_it)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	while (!shared->stop)
		read_once(shared, read_it);
	_exit(0);
}

static int run(const char *name, read_function *read_it, double seconds, int cpus)
{
	struct timespec left = {.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
	struct shared *shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t warps;

	if (shared == MAP_FAILED)
		exit(2);
	for (int cpu = 0; cpu < cpus; cpu++) {
		if (fork() == 0)
			be_cpu(cpu, shared, read_it);
	}
	nanosleep(&left, NULL);
	shared->stop = 1;
	while (wait(NULL) > 0)
		;
	warps = shared->warps;
	printf("%s %llu %llu %llu\n", name, (unsigned long long)shared->reads,
		(unsigned long long)warps, (unsigned long long)shared->largest);
	munmap(shared, sizeof(*shared));
	return warps > 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		read_function *read_it;
	} clocks[] = {{"rdtsc", read_counter}, {"CLOCK_MONOTONIC", read_monotonic},
		{"CLOCK_REALTIME", read_realtime}};
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	double seconds = argc > 1 ? atof(argv[1]) : 3;
	int warped = 0;

	if (cpus < 2) {
		puts("one CPU only");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < 3; i++) {
		if (argc > 2 && strcmp(argv[2], clocks[i].name) != 0)
			continue;
		warped |= run(
			clocks[i].name, clocks[i].read_it, argc > 2 ? seconds : seconds / 3, cpus);
	}
	return warped;
}
