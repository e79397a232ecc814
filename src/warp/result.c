/* SPDX-License-Identifier: MIT */
#include "result.h"

#include <math.h>

/* gettimeofday tells whole microseconds: two equal ones may be so far apart. */
#define TIMEOFDAY_STEP_NS 1000

#define NS_PER_SECOND 1e9
#define PPM 1e6

/* Of a shorter half the rate is too uncertain to be reported. */
#define SHORTEST_HALF_NS 1000000

static bool is_counter_known(const struct warp_watch *watch)
{
	return fact_is_known(&watch->warp->tallies[WARP_COUNTER].fact);
}

/* After the last slice. */
static double unit_ns(const struct warp_watch *watch, enum warp_clock_id id)
{
	return id == WARP_COUNTER ? drift_ns_per_tick(&watch->marks[0], &watch->marks[2]) : 1;
}

int64_t warp_result_worst_gap(const struct warp_watch *watch, enum warp_clock_id id)
{
	int64_t worst = INT64_MIN;

	for (size_t i = 0; i < watch->count; i++) {
		for (size_t k = 0; k < watch->count; k++) {
			int64_t gap = watch->least[id][i * watch->count + k];

			if (i != k && gap > worst)
				worst = gap;
		}
	}
	return worst;
}

static void set_apart(struct warp_watch *watch, enum warp_clock_id id)
{
	struct warp_tally *tally = &watch->warp->tallies[id];
	int64_t gap;

	if (watch->count < 2) {
		fact_set(&tally->apart_fact, FACT_ABSENT, "one CPU only");
		return;
	}
	gap = warp_result_worst_gap(watch, id);
	if (gap == WARP_RACE_NO_GAP) {
		fact_set(&tally->apart_fact, FACT_FAILED,
			"some CPUs did not run at the same time, so they were not compared");
		return;
	}
	tally->apart_ns = (int64_t)ceil((double)gap * unit_ns(watch, id));
	if (id == WARP_TIMEOFDAY)
		tally->apart_ns += TIMEOFDAY_STEP_NS;
	fact_set_known(&tally->apart_fact);
}

static void finish_tally(struct warp_watch *watch, enum warp_clock_id id)
{
	struct warp_tally *tally = &watch->warp->tallies[id];

	if (!fact_is_known(&tally->fact))
		return;
	if (!tally->reads) {
		fact_set(&tally->fact, FACT_FAILED, "the clock was set all the time (%u slices)",
			tally->discarded);
		return;
	}
	tally->largest_ns = (int64_t)ceil((double)tally->largest_ns * unit_ns(watch, id));
	set_apart(watch, id);
}

static struct warp_pair make_pair(
	const struct warp_watch *watch, size_t a, size_t b, double ns_per_tick)
{
	const int64_t *least = watch->least[WARP_COUNTER];
	int64_t most = least[b * watch->count + a];
	int64_t fewest = least[a * watch->count + b];
	struct warp_pair pair = {.cpu = watch->warp->cpus[a], .other_cpu = watch->warp->cpus[b]};

	if (most == WARP_RACE_NO_GAP || fewest == WARP_RACE_NO_GAP)
		return pair;
	pair.state = most + fewest < 0 ? WARP_PAIR_MOVED : WARP_PAIR_KNOWN;
	pair.offset_ns = (double)(most - fewest) / 2 * ns_per_tick;
	pair.error_ns = (double)(most + fewest) / 2 * ns_per_tick;
	return pair;
}

static void find_pairs(struct warp_watch *watch)
{
	struct warp_evidence *warp = watch->warp;
	double ns_per_tick;

	if (!is_counter_known(watch)) {
		warp->pair_fact = warp->tallies[WARP_COUNTER].fact;
		return;
	}
	ns_per_tick = unit_ns(watch, WARP_COUNTER);
	for (size_t a = 0; a < watch->count; a++) {
		for (size_t b = a + 1; b < watch->count; b++)
			watch->job->shared->pairs[warp->pair_count++] =
				make_pair(watch, a, b, ns_per_tick);
	}
	fact_set_known(&warp->pair_fact);
}

static void find_drift(struct warp_watch *watch)
{
	if (is_counter_known(watch))
		warp_result_drift(watch->marks, &watch->warp->drift);
	else
		watch->warp->drift.fact = watch->warp->tallies[WARP_COUNTER].fact;
}

void warp_result_finish(struct warp_watch *watch)
{
	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		finish_tally(watch, (enum warp_clock_id)id);
	find_pairs(watch);
	find_drift(watch);
	fact_set_known(&watch->warp->fact);
}

static double counter_hz(const struct drift_mark *from, const struct drift_mark *to)
{
	return NS_PER_SECOND / drift_ns_per_tick(from, to);
}

static double uncertainty(const struct drift_mark *from, const struct drift_mark *to)
{
	return ((double)from->width + (double)to->width) / 2 /
	       (double)(int64_t)(to->ticks - from->ticks);
}

void warp_result_drift(const struct drift_mark marks[3], struct warp_drift *drift)
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
	drift->counter_hz = counter_hz(&marks[0], &marks[2]);
	drift->drift_ppm =
		(counter_hz(&marks[1], &marks[2]) / counter_hz(&marks[0], &marks[1]) - 1) * PPM;
	drift->error_ppm =
		(uncertainty(&marks[0], &marks[1]) + uncertainty(&marks[1], &marks[2])) * PPM;
	fact_set_known(&drift->fact);
}
