/* SPDX-License-Identifier: MIT */
#include "measure/drift.h"

#include <time.h>

#include "base/kernel_clock.h"
#include "measure/counter.h"

#define TRIES 32

struct drift_mark drift_mark_take(void)
{
	struct drift_mark best = {.width = UINT64_MAX};

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = counter_read_ordered();
		int64_t raw_ns = kernel_clock_ns(CLOCK_MONOTONIC_RAW);
		uint64_t width = counter_read_ordered() - before;

		if (width < best.width)
			best = (struct drift_mark){before + width / 2, width, raw_ns};
	}
	return best;
}

double drift_ns_per_tick(const struct drift_mark *from, const struct drift_mark *to)
{
	return (double)(to->raw_ns - from->raw_ns) / (double)(int64_t)(to->ticks - from->ticks);
}
