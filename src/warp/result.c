/* SPDX-License-Identifier: MIT */
/*
 * Sums up all slices of a run: from the smallest gaps between two CPUs' readings, in both
 * directions, how far apart their clocks are at the most; from three marks, the counter's drift.
 *
 * A reading on CPU b that follows one on CPU a by a gap g was made g after it by their clocks, and
 * certainly later: b's clock is at most g ahead. The smallest gap is the best bound, and that of
 * the other direction bounds the offset from below. Readings are whole steps of their clock, so
 * that each bound may be short by one.
 */
#include "model.h"

#include <math.h>

#include "base/time.h"

/* gettimeofday() returns whole microseconds. */
#define TIMEOFDAY_STEP_NS 1000

#define PPM 1e6

/* The rate of a shorter half is too uncertain to be reported. */
#define SHORTEST_HALF_NS 1000000

bool warp_has_counter(const struct warp_state *state)
{
	return fact_is_known(&state->warp->results[WARP_COUNTER].fact);
}

/* Returns ns per unit of the clock, after the last slice. */
static double unit_ns(const struct warp_state *state, enum warp_clock_id id)
{
	return id == WARP_COUNTER ? clock_marks_ns_per_tick(&state->marks[0], &state->marks[2]) : 1;
}

/* Returns the ns by which two equal readings may be apart; the kernel's clocks count ticks, too. */
static double step_ns(const struct warp_state *state, enum warp_clock_id id)
{
	if (id == WARP_TIMEOFDAY)
		return TIMEOFDAY_STEP_NS;
	return warp_has_counter(state) ? unit_ns(state, WARP_COUNTER) : 1;
}

int64_t warp_worst_gap(const struct warp_state *state, enum warp_clock_id id)
{
	int64_t worst = INT64_MIN;

	for (size_t i = 0; i < state->count; i++) {
		for (size_t k = 0; k < state->count; k++) {
			int64_t gap = state->least[id][i * state->count + k];

			if (i != k && gap > worst)
				worst = gap;
		}
	}
	return worst;
}

/*
 * Bounds of the two directions that contradict each other: no constant offset fits them, because
 * the clocks drift, or because two paths of the same clock disagree.
 */
static bool warp_has_moved(
	const struct warp_state *state, enum warp_clock_id id, size_t a, size_t b)
{
	int64_t ahead = state->least[id][a * state->count + b];
	int64_t behind = state->least[id][b * state->count + a];

	return ahead != CROSS_CPU_NO_GAP && behind != CROSS_CPU_NO_GAP && ahead + behind < 0;
}

static void finish_result(struct warp_state *state, enum warp_clock_id id)
{
	struct warp_result *result = &state->warp->results[id];
	int64_t gap = warp_worst_gap(state, id);
	bool moved = false;

	if (!fact_is_known(&result->fact))
		return;
	if (!result->reads && result->discarded)
		fact_set(&result->fact, FACT_FAILED, "the clock was set in every slice (%u)",
			result->discarded);
	else if (!result->reads)
		fact_set(&result->fact, FACT_UNREAD, "the test had no CPU time for it");
	if (!result->reads)
		return;
	result->largest_ns = (int64_t)ceil((double)result->largest_ns * unit_ns(state, id));
	if (result->warps)
		fact_set_known(&result->cpu_fact);
	else
		fact_set(&result->cpu_fact, FACT_ABSENT, "no warp was seen");
	for (size_t a = 0; a < state->count; a++) {
		for (size_t b = a + 1; b < state->count; b++)
			moved |= warp_has_moved(state, id, a, b);
	}
	if (state->count < 2)
		fact_set(&result->max_offset.fact, FACT_ABSENT, "one CPU only");
	else if (gap == CROSS_CPU_NO_GAP)
		fact_set(&result->max_offset.fact, FACT_FAILED,
			"some CPUs did not run at the same time, so they were not compared");
	else if (moved)
		fact_set(&result->max_offset.fact, FACT_FAILED,
			"no single offset fits all readings");
	else
		fact_set_number(&result->max_offset,
			(int64_t)ceil((double)gap * unit_ns(state, id) + step_ns(state, id)));
}

static struct warp_pair find_pair(const struct warp_state *state, size_t a, size_t b)
{
	const int64_t *least = state->least[WARP_COUNTER];
	int64_t gap_ahead = least[b * state->count + a], gap_behind = least[a * state->count + b];
	double ns_per_tick = unit_ns(state, WARP_COUNTER);
	struct warp_pair pair = {.cpu = state->warp->cpus[a], .other_cpu = state->warp->cpus[b]};

	if (gap_ahead == CROSS_CPU_NO_GAP || gap_behind == CROSS_CPU_NO_GAP) {
		fact_set(&pair.fact, FACT_UNREAD, "CPU %d and CPU %d never ran at the same time",
			pair.cpu, pair.other_cpu);
		return pair;
	}
	pair.offset_ns = (double)(gap_ahead - gap_behind) / 2 * ns_per_tick;
	pair.error_ns = ((double)(gap_ahead + gap_behind) / 2 + 1) * ns_per_tick;
	if (warp_has_moved(state, WARP_COUNTER, a, b))
		fact_set(&pair.fact, FACT_FAILED,
			"CPU %d and CPU %d drift apart: the offset is not constant", pair.cpu,
			pair.other_cpu);
	else
		fact_set_known(&pair.fact);
	return pair;
}

/* The larger, the worse: a pair that drifts apart is the worst, one that was not seen the least. */
static double weight(const struct warp_pair *pair)
{
	if (fact_is_known(&pair->fact))
		return fabs(pair->offset_ns);
	return pair->fact.state == FACT_FAILED ? INFINITY : -1;
}

static void find_worst_pair(struct warp_state *state)
{
	struct warp_pair *worst = &state->warp->worst;
	bool any = false;

	fact_set(&worst->fact, FACT_ABSENT, "one CPU only");
	for (size_t a = 0; a < state->count; a++) {
		for (size_t b = a + 1; b < state->count; b++) {
			struct warp_pair pair = find_pair(state, a, b);

			if (!any || weight(&pair) > weight(worst))
				*worst = pair;
			any = true;
		}
	}
}

static double counter_hz(const struct clock_mark *from, const struct clock_mark *to)
{
	return NS_PER_SECOND / clock_marks_ns_per_tick(from, to);
}

/* A mark is accurate to half its width. */
static double uncertainty(const struct clock_mark *from, const struct clock_mark *to)
{
	return ((double)from->width + (double)to->width) / 2 /
	       (double)(int64_t)(to->ticks - from->ticks);
}

void warp_drift_compute(const struct clock_mark marks[3], struct warp_drift *drift)
{
	if (!marks[0].ns || !marks[2].ns) {
		fact_set(&drift->fact, FACT_DENIED,
			"the kernel refuses to read CLOCK_MONOTONIC_RAW");
		return;
	}
	/* A run that is stopped early has no middle mark. */
	if (!marks[1].ns || marks[1].ns - marks[0].ns < SHORTEST_HALF_NS ||
		marks[2].ns - marks[1].ns < SHORTEST_HALF_NS) {
		fact_set(&drift->fact, FACT_FAILED, "the test was too short to measure a drift");
		return;
	}
	drift->counter_hz = counter_hz(&marks[0], &marks[2]);
	drift->hz_error_ppm = uncertainty(&marks[0], &marks[2]) * PPM;
	drift->drift_ppm =
		(counter_hz(&marks[1], &marks[2]) / counter_hz(&marks[0], &marks[1]) - 1) * PPM;
	drift->error_ppm =
		(uncertainty(&marks[0], &marks[1]) + uncertainty(&marks[1], &marks[2])) * PPM;
	fact_set_known(&drift->fact);
}

bool warp_is_one_tick(const struct warp_drift *drift, double ns)
{
	double tick_ns = fact_is_known(&drift->fact) ? NS_PER_SECOND / drift->counter_hz : 0;

	return tick_ns >= 1 && ns < tick_ns + 1;
}

void warp_finish(struct warp_state *state)
{
	struct warp_evidence *warp = state->warp;

	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		finish_result(state, (enum warp_clock_id)id);
	warp->worst.fact = warp->drift.fact = warp->results[WARP_COUNTER].fact;
	if (warp_has_counter(state)) {
		find_worst_pair(state);
		warp_drift_compute(state->marks, &warp->drift);
	}
	fact_set_known(&warp->fact);
}
