/* SPDX-License-Identifier: MIT */
/*
 * The child's run: the clocks take turns in short slices until the time is up and all CPUs have
 * been compared, so that a disturbance of the machine hits every clock alike.
 */
#include "model.h"

#include <time.h>

#include "base/memory.h"
#include "base/time.h"
#include "measure/cpus.h"

#define SLICES_PER_CLOCK 10
#define SLICE_LONGEST_NS 20000000
#define SLICE_SHORTEST_NS 1000000

/* The kernel sets the clock first and cancels the timer a moment later. */
#define SETTIME_DELAY_NS 10000000

/*
 * CPUs that run at the same time see each other's values within a few readings plus the transfer
 * between the CPUs. A larger gap means that one thread was not running.
 */
#define TRANSFER_NS 2000
#define TRANSFER_READINGS 10

/* True if the clock was set during the slice, so that its warps mean nothing. */
static bool was_set(struct warp_state *state, enum warp_clock_id id)
{
	static const struct timespec delay = {.tv_nsec = SETTIME_DELAY_NS};
	bool warps = false;

	if (id != WARP_REALTIME && id != WARP_TIMEOFDAY)
		return false;
	for (size_t i = 0; i < state->count && !warps; i++)
		warps = state->results[i].warps;
	if (warps)
		nanosleep(&delay, NULL);
	return settime_timer_fired(state->settime_timer);
}

static void add_slice(struct warp_state *state, enum warp_clock_id id, size_t cpu)
{
	const struct cross_cpu_result *slice = &state->results[cpu];
	struct warp_result *sum = &state->warp->results[id];
	int64_t *least = state->least[id] + cpu * state->count;

	sum->reads += slice->reads;
	sum->warps += slice->warps;
	if (slice->largest > sum->largest_ns) {
		sum->largest_ns = slice->largest;
		sum->cpu_behind = state->warp->cpus[cpu];
		sum->cpu_ahead = state->warp->cpus[slice->against];
	}
	for (size_t i = 0; i < state->count; i++)
		least[i] = slice->least[i] < least[i] ? slice->least[i] : least[i];
}

static int64_t elapsed_ns(const struct warp_state *state)
{
	return kernel_clock_ns(CLOCK_MONOTONIC) - state->start_ns;
}

static void run_round(struct warp_state *state, int64_t slice_ns)
{
	int64_t duration_ns = state->job->duration_ns;

	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		if (!fact_is_known(&state->warp->results[id].fact))
			continue;
		cross_cpu_run(state->cross_cpu, &state->clocks[id], slice_ns);
		if (was_set(state, (enum warp_clock_id)id)) {
			state->warp->results[id].discarded++;
		} else {
			for (size_t i = 0; i < state->count; i++)
				add_slice(state, (enum warp_clock_id)id, i);
		}
		/* The middle mark is the first one taken in the second half. */
		if (warp_has_counter(state) && !state->marks[1].ns &&
			elapsed_ns(state) >= duration_ns / 2)
			state->marks[1] = clock_mark_take(CLOCK_MONOTONIC_RAW);
		state->job->done = (double)elapsed_ns(state) / (double)duration_ns;
	}
}

/* The time that one reading takes, in the clock's unit: the smallest gap on one CPU. */
static int64_t reading_time(const struct warp_state *state, enum warp_clock_id id)
{
	int64_t least = CROSS_CPU_NO_GAP;

	for (size_t i = 0; i < state->count; i++) {
		int64_t gap = state->least[id][i * state->count + i];

		least = gap < least ? gap : least;
	}
	return least;
}

/* Clocks that warp were certainly compared. */
static bool is_clock_compared(const struct warp_state *state, enum warp_clock_id id)
{
	const struct warp_result *result = &state->warp->results[id];
	int64_t gap = warp_worst_gap(state, id);
	double unit_ns = 1, few_readings_ns;
	struct clock_mark now;

	if (!fact_is_known(&result->fact) || result->warps)
		return true;
	if (gap == CROSS_CPU_NO_GAP)
		return false;
	if (id == WARP_COUNTER) {
		now = clock_mark_take(CLOCK_MONOTONIC_RAW);
		unit_ns = clock_marks_ns_per_tick(&state->marks[0], &now);
	}
	few_readings_ns = TRANSFER_READINGS * (double)reading_time(state, id) * unit_ns;
	return (double)gap * unit_ns < TRANSFER_NS + few_readings_ns;
}

static bool has_run_enough(const struct warp_state *state)
{
	int64_t missing_ns = state->job->duration_ns - elapsed_ns(state);

	if (state->job->stop)
		return true;
	if (missing_ns > 0 || missing_ns <= -WARP_EXTRA_NS)
		return missing_ns <= 0;
	/* On a busy machine the workers may not yet have run, or not at the same time. */
	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		const struct warp_result *result = &state->warp->results[id];

		if (fact_is_known(&result->fact) && !result->reads && !result->discarded)
			return false;
		if (state->count > 1 && !is_clock_compared(state, (enum warp_clock_id)id))
			return false;
	}
	return true;
}

static void run_rounds(struct warp_state *state)
{
	int64_t duration_ns = state->job->duration_ns;
	int64_t slice_ns = duration_ns / (WARP_CLOCK_COUNT * SLICES_PER_CLOCK);
	int64_t lasted_ns;

	if (slice_ns > SLICE_LONGEST_NS)
		slice_ns = SLICE_LONGEST_NS;
	if (slice_ns < SLICE_SHORTEST_NS)
		slice_ns = SLICE_SHORTEST_NS;
	state->start_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	if (warp_has_counter(state))
		state->marks[0] = clock_mark_take(CLOCK_MONOTONIC_RAW);
	do
		run_round(state, slice_ns);
	while (!has_run_enough(state));
	if (warp_has_counter(state))
		state->marks[2] = clock_mark_take(CLOCK_MONOTONIC_RAW);
	lasted_ns = elapsed_ns(state);
	state->warp->duration_s = (double)lasted_ns / NS_PER_SECOND;
	state->warp->stopped = lasted_ns < duration_ns;
}

static bool prepare_run(struct warp_state *state)
{
	struct warp_evidence *warp = state->warp;
	size_t gaps = state->count * state->count;
	int64_t *slice_gaps = xcalloc(gaps, sizeof(*slice_gaps));
	bool any = false;

	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		struct fact *fact = &warp->results[id].fact;

		any |= warp_clock_prepare(
			(enum warp_clock_id)id, state->job->calls, &state->clocks[id], fact);
		state->least[id] = xcalloc(gaps, sizeof(*state->least[id]));
		for (size_t i = 0; i < gaps; i++)
			state->least[id][i] = CROSS_CPU_NO_GAP;
	}
	if (!any) {
		warp->fact = warp->results[WARP_MONOTONIC].fact;
		return false;
	}
	state->results = xcalloc(state->count, sizeof(*state->results));
	for (size_t i = 0; i < state->count; i++)
		state->results[i].least = slice_gaps + i * state->count;
	/* All marks of the drift are taken on this CPU. */
	cpus_pin(warp->cpus[0]);
	if (!kernel_clock_ns(CLOCK_MONOTONIC_RAW)) {
		fact_set(&warp->fact, FACT_DENIED, "the clock system calls are blocked");
		return false;
	}
	state->settime_timer = settime_timer_open();
	state->cross_cpu = cross_cpu_start(warp->cpus, state->count, state->results, &warp->fact);
	return state->cross_cpu != NULL;
}

void warp_run_job(void *job)
{
	static struct warp_state state;

	state.job = job;
	state.warp = &state.job->warp;
	state.count = state.warp->cpu_count;
	if (!prepare_run(&state))
		return;
	run_rounds(&state);
	cross_cpu_stop(state.cross_cpu);
	warp_finish(&state);
}
