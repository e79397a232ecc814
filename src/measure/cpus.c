/* SPDX-License-Identifier: MIT */
/*
 * Lists and chooses the CPUs of this process. A measurement stays on one CPU, and is discarded if
 * another thread had that CPU during it: the kernel counts a thread's context switches.
 */
#include "measure/cpus.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An array of sets, which the kernel takes as one longer set. */
#define SET_COUNT (CPUS_MAX / CPU_SETSIZE)

#define STACK_SIZE (64 * 1024 + (size_t)PTHREAD_STACK_MIN)

size_t cpus_list(int *cpus, size_t max)
{
	cpu_set_t set[SET_COUNT];
	size_t all, count = 0;

	if (sched_getaffinity(0, sizeof(set), set) < 0)
		return 0;
	all = (size_t)CPU_COUNT_S(sizeof(set), set);
	for (int cpu = 0; count < all && count < max; cpu++) {
		if (CPU_ISSET_S((size_t)cpu, sizeof(set), set))
			cpus[count++] = cpu;
	}
	return count;
}

size_t cpus_spread(int *cpus, size_t count, size_t max)
{
	size_t kept = count < max ? count : max;

	for (size_t i = 0; i < kept; i++)
		cpus[i] = cpus[i * count / kept];
	return kept;
}

bool cpus_use(const int *cpus, size_t count)
{
	cpu_set_t set[SET_COUNT];

	CPU_ZERO_S(sizeof(set), set);
	for (size_t i = 0; i < count; i++)
		CPU_SET_S((size_t)cpus[i], sizeof(set), set);
	return sched_setaffinity(0, sizeof(set), set) == 0;
}

bool cpus_pin(int cpu)
{
	return cpus_use(&cpu, 1);
}

bool cpus_start_thread(
	pthread_t *thread, int cpu, void *(*run)(void *), void *argument, struct fact *why)
{
	cpu_set_t set[SET_COUNT];
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);

	if (!error) {
		pthread_attr_setstacksize(&attributes, STACK_SIZE);
		error = pthread_create(thread, &attributes, run, argument);
		pthread_attr_destroy(&attributes);
	}
	if (error) {
		fact_set_errno(why, error, "a thread");
		return false;
	}
	CPU_ZERO_S(sizeof(set), set);
	CPU_SET_S((size_t)cpu, sizeof(set), set);
	if (pthread_setaffinity_np(*thread, sizeof(set), set) == 0)
		return true;
	fact_set(why, FACT_DENIED, "cannot pin a thread to CPU %d", cpu);
	return false;
}

/* A system call reads the CPU: the vDSO may be what is broken. */
struct sched_mark sched_mark_take(void)
{
	struct sched_mark mark = {.switches = -1, .cpu = -1};
	struct rusage usage;
	unsigned cpu;

	if (getrusage(RUSAGE_THREAD, &usage) == 0)
		mark.switches = usage.ru_nvcsw + usage.ru_nivcsw;
	if (syscall(SYS_getcpu, &cpu, NULL, NULL) == 0)
		mark.cpu = (int)cpu;
	return mark;
}

int cpus_pin_here(void)
{
	int cpu = sched_mark_take().cpu;

	return cpu >= 0 && cpus_pin(cpu) ? cpu : -1;
}
