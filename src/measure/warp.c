/* SPDX-License-Identifier: MIT */
#include "measure/warp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/child.h"
#include "base/kernel_clock.h"
#include "measure/affinity.h"
#include "measure/clock_set.h"
#include "measure/drift.h"
#include "measure/warp_clock.h"
#include "measure/warp_race.h"

#define NS_PER_SECOND 1000000000

/* The child's time beyond what it was asked for, on a machine that is very busy. */
#define GRACE_SECONDS 30

/* Each clock has its turn many times, so that what happens meanwhile happens to all. */
#define SLICES_OF_EACH 10
#define SLICE_LONGEST_NS 20000000
#define SLICE_SHORTEST_NS 1000000

/* The kernel sets the clock first and tells of it a moment later. */
#define TELLING_NS 10000000

/* More than was asked for, if some CPUs could not be compared in that time. */
#define EXTRA_NS 2000000000

/* Values further apart are those of a thread that did not run: less than a time slice. */
#define MEETING_NS 1e6

#define POLL_NS 20000000

/* For what tests inject into the counter. */
#define CALIBRATION_NS 10000000

/* gettimeofday tells whole microseconds: two equal ones may be so far apart. */
#define TIMEOFDAY_STEP_NS 1000

/* What parent and child share; the pairs follow it. */
struct shared {
	struct warp_evidence warp;
	volatile double done;
	struct warp_pair pairs[];
};

/* What the parent hands to the child. */
struct job {
	const struct evidence *names;
	const struct call (*calls)[PATH_COUNT];
	const struct warp_setup *setup;
	struct shared *shared;
};

/* The child's own. */
struct watch {
	const struct job *job;
	struct warp_evidence *warp;
	size_t count; /* CPUs */
	struct warp_clock clocks[WARP_CLOCK_COUNT];
	struct warp_score *scores;        /* of a slice, by CPU */
	int64_t *least[WARP_CLOCK_COUNT]; /* over all slices: count rows of count */
	int64_t *injected_ticks;          /* NULL: none */
	struct clock_set clock_set;
	struct warp_race *race;
	struct drift_mark marks[3]; /* start, middle, end */
	int64_t start_ns;
};

static size_t pairs_of(size_t cpus)
{
	return cpus * (cpus - 1) / 2;
}

static bool is_counter_known(const struct watch *watch)
{
	return fact_is_known(&watch->warp->tallies[WARP_COUNTER].fact);
}

/* While it runs. */
static double running_unit_ns(const struct watch *watch, enum warp_clock_id id)
{
	struct drift_mark now;

	if (id != WARP_COUNTER)
		return 1;
	now = drift_mark_take();
	return drift_ns_per_tick(&watch->marks[0], &now);
}

/* After the last slice. */
static double unit_ns(const struct watch *watch, enum warp_clock_id id)
{
	return id == WARP_COUNTER ? drift_ns_per_tick(&watch->marks[0], &watch->marks[2]) : 1;
}

/* ---- slices ---- */

static bool is_settable(enum warp_clock_id id)
{
	return id == WARP_REALTIME || id == WARP_TIMEOFDAY;
}

static bool saw_warps(const struct watch *watch)
{
	for (size_t i = 0; i < watch->count; i++) {
		if (watch->scores[i].warps)
			return true;
	}
	return false;
}

static bool was_set(struct watch *watch, enum warp_clock_id id)
{
	static const struct timespec telling = {.tv_nsec = TELLING_NS};

	if (!is_settable(id))
		return false;
	if (saw_warps(watch))
		nanosleep(&telling, NULL);
	return clock_set_happened(&watch->clock_set);
}

static void add_score(struct watch *watch, enum warp_clock_id id, size_t cpu)
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

static void run_slice(struct watch *watch, enum warp_clock_id id, int64_t slice_ns)
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

static int64_t elapsed_ns(const struct watch *watch)
{
	return kernel_clock_ns(CLOCK_MONOTONIC) - watch->start_ns;
}

/* The middle mark is the first one taken in the second half. */
static void mark(struct watch *watch)
{
	if (is_counter_known(watch) && !watch->marks[1].raw_ns &&
		elapsed_ns(watch) >= watch->job->setup->duration_ns / 2)
		watch->marks[1] = drift_mark_take();
}

static void run_round(struct watch *watch, int64_t slice_ns)
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

/*
 * How far a clock may be ahead of another: the least gap bounds it. The worst of all ordered
 * pairs is what can be promised for each of them.
 */
static int64_t worst_gap(const struct watch *watch, enum warp_clock_id id)
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

/* Clocks that warp were surely compared. */
static bool is_clock_compared(const struct watch *watch, enum warp_clock_id id)
{
	const struct warp_tally *tally = &watch->warp->tallies[id];

	if (!fact_is_known(&tally->fact) || tally->warps)
		return true;
	return (double)worst_gap(watch, id) * running_unit_ns(watch, id) < MEETING_NS;
}

/* On a busy machine the threads may not yet have run at the same time. */
static bool is_compared(const struct watch *watch)
{
	for (int id = 0; watch->count > 1 && id < WARP_CLOCK_COUNT; id++) {
		if (!is_clock_compared(watch, (enum warp_clock_id)id))
			return false;
	}
	return true;
}

static bool is_enough(const struct watch *watch)
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

static void run_all(struct watch *watch)
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

/* ---- what it comes to ---- */

static void set_apart(struct watch *watch, enum warp_clock_id id)
{
	struct warp_tally *tally = &watch->warp->tallies[id];
	int64_t gap;

	if (watch->count < 2) {
		fact_set(&tally->apart_fact, FACT_ABSENT, "one CPU only");
		return;
	}
	gap = worst_gap(watch, id);
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

static void finish_tally(struct watch *watch, enum warp_clock_id id)
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

static struct warp_pair make_pair(const struct watch *watch, size_t a, size_t b, double ns_per_tick)
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

static void find_pairs(struct watch *watch)
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

static void find_drift(struct watch *watch)
{
	if (is_counter_known(watch))
		drift_compute(watch->marks, &watch->warp->drift);
	else
		watch->warp->drift.fact = watch->warp->tallies[WARP_COUNTER].fact;
}

static void finish(struct watch *watch)
{
	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		finish_tally(watch, (enum warp_clock_id)id);
	find_pairs(watch);
	find_drift(watch);
	fact_set_known(&watch->warp->fact);
}

/* ---- before it starts ---- */

static void prepare_clocks(struct watch *watch)
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

static bool has_clocks(const struct watch *watch)
{
	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		if (fact_is_known(&watch->warp->tallies[id].fact))
			return true;
	}
	return false;
}

static bool make_room(struct watch *watch)
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

static void inject(struct watch *watch)
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

static bool set_up(struct watch *watch)
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

/* The child's memory goes with the child. */
static void be_watch(void *argument)
{
	static struct watch watch;

	watch.job = argument;
	watch.warp = &watch.job->shared->warp;
	watch.count = watch.warp->cpu_count;
	if (!set_up(&watch))
		return;
	run_all(&watch);
	warp_race_end(watch.race);
	finish(&watch);
}

/* ---- the parent ---- */

static void choose_cpus(struct warp_evidence *warp)
{
	static int cpus[AFFINITY_CPU_MAX];

	warp->allowed = affinity_list(cpus, AFFINITY_CPU_MAX);
	warp->cpu_count = warp->allowed < WARP_CPU_MAX ? warp->allowed : WARP_CPU_MAX;
	for (size_t i = 0; i < warp->cpu_count; i++)
		warp->cpus[i] = cpus[i * warp->allowed / warp->cpu_count];
}

static void tell(const struct job *job)
{
	double done = job->shared->done;

	if (job->setup->progress)
		job->setup->progress(job->setup->argument, done < 1 ? done : 1);
}

static bool await_child(pid_t pid, const struct job *job, unsigned seconds, struct fact *why)
{
	static const struct timespec poll = {.tv_nsec = POLL_NS};
	int status = 0;
	pid_t ended;

	while ((ended = waitpid(pid, &status, WNOHANG)) <= 0) {
		if (ended < 0 && errno != EINTR) {
			fact_set_errno(why, errno, "waitpid");
			return false;
		}
		tell(job);
		nanosleep(&poll, NULL);
	}
	return child_judge(status, seconds, why);
}

static void take_answer(const struct shared *shared, struct warp_evidence *warp)
{
	size_t count = shared->warp.pair_count;

	*warp = shared->warp;
	warp->pairs = calloc(count ? count : 1, sizeof(*warp->pairs));
	if (!warp->pairs) {
		warp->pair_count = 0;
		fact_set(&warp->pair_fact, FACT_FAILED, "no memory for %zu pairs", count);
		return;
	}
	memcpy(warp->pairs, shared->pairs, count * sizeof(*warp->pairs));
}

static void run_child(struct job *job, struct warp_evidence *warp)
{
	unsigned seconds = (unsigned)(job->setup->duration_ns / NS_PER_SECOND) + GRACE_SECONDS;
	struct fact why = {0};
	pid_t pid;

	job->shared->warp = *warp;
	pid = child_start(be_watch, job, seconds, &why);
	if (pid >= 0 && await_child(pid, job, seconds, &why))
		take_answer(job->shared, warp);
	else
		warp->fact = why;
}

void warp_measure(const struct evidence *names, const struct call calls[CALL_MAX][PATH_COUNT],
	const struct warp_setup *setup, struct warp_evidence *warp)
{
	struct job job = {.names = names, .calls = calls, .setup = setup};
	size_t size;

	*warp = (struct warp_evidence){.fact.state = FACT_UNREAD};
	choose_cpus(warp);
	if (!warp->cpu_count) {
		fact_set(&warp->fact, FACT_FAILED, "the kernel does not say which CPUs we may use");
		return;
	}
	size = sizeof(*job.shared) + pairs_of(warp->cpu_count) * sizeof(struct warp_pair);
	job.shared = child_share(size, &warp->fact);
	if (!job.shared)
		return;
	run_child(&job, warp);
	child_unshare(job.shared, size);
}

void warp_release(struct warp_evidence *warp)
{
	free(warp->pairs);
	warp->pairs = NULL;
	warp->pair_count = 0;
}
