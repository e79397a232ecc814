/* SPDX-License-Identifier: MIT */
#include "run.h"

#include <stdlib.h>
#include <time.h>

#include "base/kernel_clock.h"
#include "measure/affinity.h"
#include "result.h"

/* Each clock has its turn many times, so that what happens meanwhile happens to all. */
#define SLICES_OF_EACH 10
#define SLICE_LONGEST_NS 20000000
#define SLICE_SHORTEST_NS 1000000

/* The kernel sets the clock first and tells of it a moment later. */
#define TELLING_NS 10000000

/* More than was asked for, if some CPUs could not be compared in that time. */
#define EXTRA_NS 2000000000

/*
 * CPUs that run at the same time see each other's values within a few readings, and the way
 * from CPU to CPU. Values further apart are those of a thread that did not run.
 */
#define MEETING_NS 2000
#define MEETING_READINGS 10

/* For what tests inject into the counter. */
#define CALIBRATION_NS 10000000

static bool is_counter_known(const struct warp_watch *watch)
{
	return fact_is_known(&watch->warp->tallies[WARP_COUNTER].fact);
}

/* While it runs. */
static double running_unit_ns(const struct warp_watch *watch, enum warp_clock_id id)
{
	struct drift_mark now;

	if (id != WARP_COUNTER)
		return 1;
	now = drift_mark_take();
	return drift_ns_per_tick(&watch->marks[0], &now);
}

/* ---- slices ---- */

static bool is_settable(enum warp_clock_id id)
{
	return id == WARP_REALTIME || id == WARP_TIMEOFDAY;
}

static bool saw_warps(const struct warp_watch *watch)
{
	for (size_t i = 0; i < watch->count; i++) {
		if (watch->scores[i].warps)
			return true;
	}
	return false;
}

static bool was_set(struct warp_watch *watch, enum warp_clock_id id)
{
	static const struct timespec telling = {.tv_nsec = TELLING_NS};

	if (!is_settable(id))
		return false;
	if (saw_warps(watch))
		nanosleep(&telling, NULL);
	return clock_set_happened(&watch->clock_set);
}

static void add_score(struct warp_watch *watch, enum warp_clock_id id, size_t cpu)
{
	const struct warp_score *score = &watch->scores[cpu];
	struct warp_tally *tally = &watch->warp->tallies[id];
	int64_t *least = watch->least[id] + cpu * watch->count;

	tally->reads += score->reads;
	tally->warps += score->warps;
	if (score->largest > tally->largest_ns) {
		tally->largest_ns = score->largest;
		tally->earlier_cpu = watch->warp->cpus[cpu];
		tally->later_cpu = watch->warp->cpus[score->against];
	}
	for (size_t i = 0; i < watch->count; i++)
		least[i] = score->least[i] < least[i] ? score->least[i] : least[i];
}

static void run_slice(struct warp_watch *watch, enum warp_clock_id id, int64_t slice_ns)
{
	const int64_t *injected =
		id == WARP_COUNTER ? watch->injected_ticks : watch->job->setup->injected_ns;

	warp_race_run(watch->race, &watch->clocks[id], slice_ns, injected);
	if (was_set(watch, id)) {
		watch->warp->tallies[id].discarded++;
		return;
	}
	for (size_t i = 0; i < watch->count; i++)
		add_score(watch, id, i);
}

static int64_t elapsed_ns(const struct warp_watch *watch)
{
	return kernel_clock_ns(CLOCK_MONOTONIC) - watch->start_ns;
}

/* The middle mark is the first one taken in the second half. */
static void mark(struct warp_watch *watch)
{
	if (is_counter_known(watch) && !watch->marks[1].raw_ns &&
		elapsed_ns(watch) >= watch->job->setup->duration_ns / 2)
		watch->marks[1] = drift_mark_take();
}

static void run_round(struct warp_watch *watch, int64_t slice_ns)
{
	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		if (!fact_is_known(&watch->warp->tallies[id].fact))
			continue;
		run_slice(watch, (enum warp_clock_id)id, slice_ns);
		mark(watch);
		watch->job->shared->done =
			(double)elapsed_ns(watch) / (double)watch->job->setup->duration_ns;
	}
}

/* What a reading takes, in the clock's own unit: the least between two on the same CPU. */
static int64_t reading(const struct warp_watch *watch, enum warp_clock_id id)
{
	int64_t least = WARP_RACE_NO_GAP;

	for (size_t i = 0; i < watch->count; i++) {
		int64_t gap = watch->least[id][i * watch->count + i];

		least = gap < least ? gap : least;
	}
	return least;
}

static bool has_met(const struct warp_watch *watch, enum warp_clock_id id)
{
	int64_t gap = warp_result_worst_gap(watch, id);
	double unit_ns = running_unit_ns(watch, id);
	double few_readings_ns = MEETING_READINGS * (double)reading(watch, id) * unit_ns;

	return gap != WARP_RACE_NO_GAP && (double)gap * unit_ns < MEETING_NS + few_readings_ns;
}

/* Clocks that warp were surely compared. */
static bool is_clock_compared(const struct warp_watch *watch, enum warp_clock_id id)
{
	const struct warp_tally *tally = &watch->warp->tallies[id];

	return !fact_is_known(&tally->fact) || tally->warps || has_met(watch, id);
}

/* On a busy machine the threads may not yet have run at the same time. */
static bool is_compared(const struct warp_watch *watch)
{
	for (int id = 0; watch->count > 1 && id < WARP_CLOCK_COUNT; id++) {
		if (!is_clock_compared(watch, (enum warp_clock_id)id))
			return false;
	}
	return true;
}

static bool is_enough(const struct warp_watch *watch)
{
	int64_t missing_ns = watch->job->setup->duration_ns - elapsed_ns(watch);

	return missing_ns <= 0 && (is_compared(watch) || missing_ns <= -EXTRA_NS);
}

static int64_t slice_length(int64_t duration_ns)
{
	int64_t slice_ns = duration_ns / (WARP_CLOCK_COUNT * SLICES_OF_EACH);

	if (slice_ns > SLICE_LONGEST_NS)
		return SLICE_LONGEST_NS;
	return slice_ns < SLICE_SHORTEST_NS ? SLICE_SHORTEST_NS : slice_ns;
}

static void run_all(struct warp_watch *watch)
{
	int64_t duration_ns = watch->job->setup->duration_ns;

	watch->start_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	if (is_counter_known(watch))
		watch->marks[0] = drift_mark_take();
	do
		run_round(watch, slice_length(duration_ns));
	while (!is_enough(watch));
	if (is_counter_known(watch))
		watch->marks[2] = drift_mark_take();
	watch->warp->duration_ns = elapsed_ns(watch);
}

/* ---- before it starts ---- */

static void prepare_clocks(struct warp_watch *watch)
{
	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		struct fact *fact = &watch->warp->tallies[id].fact;

		if (watch->job->setup->clocks & WARP_CLOCK(id))
			warp_clock_prepare((enum warp_clock_id)id, watch->job->names,
				watch->job->calls, &watch->clocks[id], fact);
		else
			fact_set(fact, FACT_ABSENT, "not asked for");
	}
}

static bool has_clocks(const struct warp_watch *watch)
{
	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		if (fact_is_known(&watch->warp->tallies[id].fact))
			return true;
	}
	return false;
}

static bool make_room(struct warp_watch *watch)
{
	size_t rows = watch->count * watch->count;
	int64_t *of_slice = calloc(rows, sizeof(*of_slice));

	watch->scores = calloc(watch->count, sizeof(*watch->scores));
	for (size_t i = 0; of_slice && watch->scores && i < watch->count; i++)
		watch->scores[i].least = of_slice + i * watch->count;
	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		watch->least[id] = malloc(rows * sizeof(*watch->least[id]));
		if (!watch->least[id])
			return false;
		for (size_t i = 0; i < rows; i++)
			watch->least[id][i] = WARP_RACE_NO_GAP;
	}
	return of_slice && watch->scores;
}

static double calibrate(void)
{
	static const struct timespec while_it_runs = {.tv_nsec = CALIBRATION_NS};
	struct drift_mark start = drift_mark_take();
	struct drift_mark end;

	nanosleep(&while_it_runs, NULL);
	end = drift_mark_take();
	return drift_ns_per_tick(&start, &end);
}

static void inject(struct warp_watch *watch)
{
	const int64_t *injected_ns = watch->job->setup->injected_ns;
	double ns_per_tick;

	if (!injected_ns || !is_counter_known(watch))
		return;
	ns_per_tick = calibrate();
	watch->injected_ticks = calloc(watch->count, sizeof(*watch->injected_ticks));
	for (size_t i = 0; watch->injected_ticks && i < watch->count; i++)
		watch->injected_ticks[i] = (int64_t)((double)injected_ns[i] / ns_per_tick);
}

static bool set_up(struct warp_watch *watch)
{
	struct fact *fact = &watch->warp->fact;

	prepare_clocks(watch);
	if (!has_clocks(watch)) {
		*fact = watch->warp->tallies[WARP_MONOTONIC].fact;
		return false;
	}
	if (!make_room(watch)) {
		fact_set(fact, FACT_FAILED, "no memory to compare %zu CPUs", watch->count);
		return false;
	}
	affinity_pin(watch->warp->cpus[0]);
	if (!kernel_clock_ns(CLOCK_MONOTONIC_RAW)) {
		fact_set(fact, FACT_DENIED, "the kernel refuses to tell the time");
		return false;
	}
	inject(watch);
	clock_set_open(&watch->clock_set);
	watch->race = warp_race_start(watch->warp->cpus, watch->count, watch->scores, fact);
	return watch->race != NULL;
}

void warp_watch_run(void *job)
{
	static struct warp_watch watch;

	watch.job = job;
	watch.warp = &watch.job->shared->warp;
	watch.count = watch.warp->cpu_count;
	if (!set_up(&watch))
		return;
	run_all(&watch);
	warp_race_end(watch.race);
	warp_result_finish(&watch);
}
