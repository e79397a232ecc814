/* SPDX-License-Identifier: MIT */
#include "measure/affinity.h"

size_t affinity_list(int *cpus, size_t max)
{
	size_t size = CPU_ALLOC_SIZE(AFFINITY_CPU_MAX);
	cpu_set_t *set = CPU_ALLOC(AFFINITY_CPU_MAX);
	size_t count = 0;

	if (!set)
		return 0;
	if (sched_getaffinity(0, size, set) == 0) {
		for (int cpu = 0; cpu < AFFINITY_CPU_MAX && count < max; cpu++) {
			if (CPU_ISSET_S((size_t)cpu, size, set))
				cpus[count++] = cpu;
		}
	}
	CPU_FREE(set);
	return count;
}

bool affinity_pin(int cpu)
{
	size_t size = CPU_ALLOC_SIZE(AFFINITY_CPU_MAX);
	cpu_set_t *set = CPU_ALLOC(AFFINITY_CPU_MAX);
	bool pinned;

	if (!set)
		return false;
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	pinned = sched_setaffinity(0, size, set) == 0;
	CPU_FREE(set);
	return pinned;
}
