/* SPDX-License-Identifier: MIT */
/*
 * The CPUs of this process. A measurement stays on one CPU, and is discarded if another thread
 * had that CPU during it: the kernel counts a thread's context switches.
 */
#include "measure/cpus.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

size_t cpus_list(int *cpus, size_t max)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	size_t count = 0;

	if (!set)
		return 0;
	if (sched_getaffinity(0, size, set) == 0) {
		for (int cpu = 0; cpu < CPUS_MAX && count < max; cpu++) {
			if (CPU_ISSET_S((size_t)cpu, size, set))
				cpus[count++] = cpu;
		}
	}
	CPU_FREE(set);
	return count;
}

size_t cpus_spread(int *cpus, size_t count, size_t most)
{
	size_t few = count < most ? count : most;

	for (size_t i = 0; i < few; i++)
		cpus[i] = cpus[i * count / few];
	return few;
}

bool cpus_use(const int *cpus, size_t count)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	bool done;

	if (!set)
		return false;
	CPU_ZERO_S(size, set);
	for (size_t i = 0; i < count; i++)
		CPU_SET_S((size_t)cpus[i], size, set);
	done = sched_setaffinity(0, size, set) == 0;
	CPU_FREE(set);
	return done;
}

bool cpus_pin(int cpu)
{
	return cpus_use(&cpu, 1);
}

/* The CPU by system call: the vDSO may be what is broken. */
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

enum sched_change sched_mark_compare(struct sched_mark before, struct sched_mark after)
{
	if (before.cpu != after.cpu)
		return SCHED_MIGRATED;
	if (before.switches != after.switches)
		return SCHED_SWITCHED;
	return SCHED_UNCHANGED;
}

int cpus_pin_here(void)
{
	int cpu = sched_mark_take().cpu;

	return cpu >= 0 && cpus_pin(cpu) ? cpu : -1;
}
