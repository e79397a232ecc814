/* SPDX-License-Identifier: MIT */
#include "measure/drift.h"

#include <time.h>

#include "base/kernel_clock.h"
#include "measure/counter.h"

#define TRIES 32
#define NS_PER_SECOND 1e9
#define PPM 1e6

/* Of a shorter half the rate is too uncertain to be told. */
#define SHORTEST_HALF_NS 1000000

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

static double rate(const struct drift_mark *from, const struct drift_mark *to)
{
	return (double)(int64_t)(to->ticks - from->ticks) / (double)(to->raw_ns - from->raw_ns);
}

double drift_ns_per_tick(const struct drift_mark *from, const struct drift_mark *to)
{
	return 1 / rate(from, to);
}

static double uncertainty(const struct drift_mark *from, const struct drift_mark *to)
{
	return ((double)from->width + (double)to->width) / 2 /
	       (double)(int64_t)(to->ticks - from->ticks);
}

void drift_compute(const struct drift_mark marks[3], struct warp_drift *drift)
{
	if (!marks[0].raw_ns || !marks[1].raw_ns || !marks[2].raw_ns) {
		fact_set(&drift->fact, FACT_DENIED, "the kernel does not tell CLOCK_MONOTONIC_RAW");
		return;
	}
	if (marks[1].raw_ns - marks[0].raw_ns < SHORTEST_HALF_NS ||
		marks[2].raw_ns - marks[1].raw_ns < SHORTEST_HALF_NS) {
		fact_set(&drift->fact, FACT_FAILED, "the time was too short to see a drift");
		return;
	}
	drift->counter_hz = rate(&marks[0], &marks[2]) * NS_PER_SECOND;
	drift->drift_ppm = (rate(&marks[1], &marks[2]) / rate(&marks[0], &marks[1]) - 1) * PPM;
	drift->error_ppm =
		(uncertainty(&marks[0], &marks[1]) + uncertainty(&marks[1], &marks[2])) * PPM;
	fact_set_known(&drift->fact);
}
