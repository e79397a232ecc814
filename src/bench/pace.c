/* SPDX-License-Identifier: MIT */
#include "pace.h"

#include <sys/resource.h>

void pace_add(struct pace *pace, size_t calls)
{
	__atomic_store_n(&pace->calls, pace->calls + calls, __ATOMIC_RELAXED);
}

/* Who waits for a device or a lock of the kernel's is not preempted. */
void pace_look(struct pace *pace)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage) == 0)
		__atomic_store_n(&pace->preempted, usage.ru_nivcsw, __ATOMIC_RELAXED);
	__atomic_store_n(&pace->looks, pace->looks + 1, __ATOMIC_RELEASE);
}

static struct pace read_pace(const struct pace *pace)
{
	struct pace copy;

	copy.looks = __atomic_load_n(&pace->looks, __ATOMIC_ACQUIRE);
	copy.preempted = __atomic_load_n(&pace->preempted, __ATOMIC_RELAXED);
	copy.calls = __atomic_load_n(&pace->calls, __ATOMIC_RELAXED);
	return copy;
}

void pace_note(struct pace_moment *moment, const struct pace *paces, size_t count, uint64_t ticks)
{
	moment->ticks = ticks;
	for (size_t i = 0; i < count; i++)
		moment->paces[i] = read_pace(&paces[i]);
}

struct pace_sum pace_sum(
	const struct pace_moment *start, const struct pace_moment *end, size_t count)
{
	struct pace_sum sum = {0};

	for (size_t i = 0; i < count; i++) {
		size_t calls = end->paces[i].calls - start->paces[i].calls;

		sum.calls += calls;
		sum.threads += calls > 0;
		if (calls > 0 && (!sum.fewest || calls < sum.fewest))
			sum.fewest = calls;
	}
	return sum;
}

bool pace_all_looked(const struct pace_moment *since, const struct pace *paces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (read_pace(&paces[i]).looks == since->paces[i].looks)
			return false;
	}
	return true;
}

bool pace_none_preempted(const struct pace_moment *since, const struct pace *paces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (read_pace(&paces[i]).preempted != since->paces[i].preempted)
			return false;
	}
	return true;
}
