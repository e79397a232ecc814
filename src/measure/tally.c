/* SPDX-License-Identifier: MIT */
#include "measure/tally.h"

#include <sys/resource.h>

void tally_add(struct tally *tally, size_t calls)
{
	__atomic_store_n(&tally->calls, tally->calls + calls, __ATOMIC_RELAXED);
}

/* Who waits for a device or a lock of the kernel's is not preempted. */
void tally_look(struct tally *tally)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage) == 0)
		__atomic_store_n(&tally->preempted, usage.ru_nivcsw, __ATOMIC_RELAXED);
	__atomic_store_n(&tally->looks, tally->looks + 1, __ATOMIC_RELEASE);
}

static struct tally read_tally(const struct tally *tally)
{
	struct tally copy;

	copy.looks = __atomic_load_n(&tally->looks, __ATOMIC_ACQUIRE);
	copy.preempted = __atomic_load_n(&tally->preempted, __ATOMIC_RELAXED);
	copy.calls = __atomic_load_n(&tally->calls, __ATOMIC_RELAXED);
	return copy;
}

void tally_note(
	struct tally_moment *moment, const struct tally *tallies, size_t count, uint64_t ticks)
{
	moment->ticks = ticks;
	for (size_t i = 0; i < count; i++)
		moment->tallies[i] = read_tally(&tallies[i]);
}

struct tally_sum tally_sum(
	const struct tally_moment *start, const struct tally_moment *end, size_t count)
{
	struct tally_sum sum = {0};

	for (size_t i = 0; i < count; i++) {
		size_t calls = end->tallies[i].calls - start->tallies[i].calls;

		sum.calls += calls;
		sum.threads += calls > 0;
		if (calls > 0 && (!sum.fewest || calls < sum.fewest))
			sum.fewest = calls;
	}
	return sum;
}

bool tally_all_looked(const struct tally_moment *since, const struct tally *tallies, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (read_tally(&tallies[i]).looks == since->tallies[i].looks)
			return false;
	}
	return true;
}

bool tally_none_preempted(
	const struct tally_moment *since, const struct tally *tallies, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (read_tally(&tallies[i]).preempted != since->tallies[i].preempted)
			return false;
	}
	return true;
}
