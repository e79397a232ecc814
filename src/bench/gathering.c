/* SPDX-License-Identifier: MIT */
#include "gathering.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

#include "base/child.h"
#include "base/fault.h"
#include "base/kernel_clock.h"
#include "measure/affinity.h"
#include "measure/counter.h"
#include "measure/series.h"
#include "measure/stopwatch.h"
#include "pace.h"

/* Calls are counted by chunks, and looked around after several: neither may cost much. */
#define CHUNK_NS 5000
#define CHUNKS_PER_LOOK 16

/*
 * A slice is many chunks, as the others' last one is counted whole or not at all, and short
 * beside what other processes leave us.
 */
#define SLICE_NS 1000000
#define SLICE_LOOKS 4
#define SLICES_LEAST 3

/* On a machine too busy for them it ends so much later. */
#define PATIENCE_NS 200000000

#define SLACK_NS 60000000000
#define NS_PER_SECOND 1000000000

/* Who has not come to the start by then is not waited for. */
#define START_NS 2000000000

_Static_assert(GATHERING_THREADS_MAX <= PACE_MAX, "there is a pace for each");

static const struct timespec short_while = {.tv_nsec = 1000000};

/* What the members share. */
struct hall {
	const struct gathering *gathering;
	volatile bool go;
	volatile bool over;
	unsigned ready;
	int signal; /* that the call ended with */
	struct gathering_price price;
	struct pace paces[GATHERING_THREADS_MAX];
};

struct member {
	struct hall *hall;
	unsigned index;
	int cpu;
};

static bool is_over(const struct hall *hall)
{
	return hall->over || *hall->gathering->stop;
}

static void make_calls(const struct series *series, struct pace *pace)
{
	for (int i = 0; i < CHUNKS_PER_LOOK; i++) {
		call_repeat(series->subject, series->repeats);
		pace_add(pace, series->repeats);
	}
	pace_look(pace);
}

/* The one that keeps the time for all. */
struct keeper {
	struct hall *hall;
	const struct series *series;
	struct stopwatch *watch;
	struct pace_moment start, end; /* of the slice */
	uint64_t until;                /* in ticks: then it is over, good slices or not */
};

static void keeper_note(struct keeper *keeper, struct pace_moment *moment)
{
	pace_note(moment, keeper->hall->paces, keeper->hall->gathering->threads,
		stopwatch_ticks(keeper->watch));
}

static void keeper_make_calls(struct keeper *keeper)
{
	make_calls(keeper->series, &keeper->hall->paces[0]);
}

static bool keeper_may_go_on(const struct keeper *keeper)
{
	return !is_over(keeper->hall) &&
	       (int64_t)(keeper->until - stopwatch_ticks(keeper->watch)) > 0;
}

/*
 * Whether the threads had their CPUs to themselves, as far as the kernel of this machine can
 * tell. Where one did not, the others show the price that they have alone, and all seem to
 * wait. Who lost its CPU tells it when it looks again. More threads than CPUs take turns.
 */
static bool were_undisturbed(struct keeper *keeper)
{
	const struct hall *hall = keeper->hall;
	size_t threads = hall->gathering->threads;

	if (threads > hall->gathering->cpu_count)
		return true;
	while (!pace_all_looked(&keeper->end, hall->paces, threads)) {
		if (!keeper_may_go_on(keeper))
			return false;
		keeper_make_calls(keeper);
	}
	return pace_none_preempted(&keeper->start, hall->paces, threads);
}

/* In ticks. Who made no call at all, for want of a CPU or of a lock, has no price. */
static struct gathering_price price_of_slice(const struct keeper *keeper)
{
	const struct gathering *gathering = keeper->hall->gathering;
	size_t cpus = gathering->threads < gathering->cpu_count ? gathering->threads
	                                                        : gathering->cpu_count;
	struct pace_sum sum = pace_sum(&keeper->start, &keeper->end, gathering->threads);
	double ticks = (double)(keeper->end.ticks - keeper->start.ticks) * (double)cpus;

	if (!sum.calls)
		return (struct gathering_price){0};
	return (struct gathering_price){.ns = ticks / (double)sum.calls,
		.slowest_ns = ticks / (double)sum.threads / (double)sum.fewest};
}

/* False if nothing is learnt from it. */
static bool take_slice(struct keeper *keeper, uint64_t ticks, struct gathering_price *price)
{
	int looks = 0;

	keeper_note(keeper, &keeper->start);
	do {
		keeper_make_calls(keeper);
		keeper_note(keeper, &keeper->end);
	} while ((++looks < SLICE_LOOKS || keeper->end.ticks - keeper->start.ticks < ticks) &&
		 keeper_may_go_on(keeper));
	*price = price_of_slice(keeper);
	return were_undisturbed(keeper);
}

/* The best slice, in ticks. */
static struct gathering_price keep_time(struct keeper *keeper, double ns_per_tick)
{
	uint64_t slice = (uint64_t)(SLICE_NS / ns_per_tick);
	uint64_t all = (uint64_t)((double)keeper->hall->gathering->ns / ns_per_tick);
	uint64_t begin = stopwatch_ticks(keeper->watch);
	struct gathering_price best = {0}, price;
	int good = 0;

	keeper->until = begin + all + (uint64_t)(PATIENCE_NS / ns_per_tick);
	while (keeper_may_go_on(keeper)) {
		if (good >= SLICES_LEAST && stopwatch_ticks(keeper->watch) - begin >= all)
			break;
		if (take_slice(keeper, slice, &price)) {
			best = !good || price.ns < best.ns ? price : best;
			good++;
		}
	}
	return best;
}

static void measure_all(struct hall *hall, const struct series *series, struct stopwatch *watch)
{
	static struct keeper keeper;
	struct gathering_price best;
	double ns_per_tick;

	keeper = (struct keeper){.hall = hall, .series = series, .watch = watch};
	best = keep_time(&keeper, stopwatch_ns_per_tick(watch));
	ns_per_tick = stopwatch_ns_per_tick(watch);
	hall->over = true;
	hall->price.ns = best.ns * ns_per_tick;
	hall->price.slowest_ns = best.slowest_ns * ns_per_tick;
}

static void wait_for_the_others(struct hall *hall)
{
	__atomic_add_fetch(&hall->ready, 1, __ATOMIC_SEQ_CST);
	while (!hall->go && !is_over(hall))
		sched_yield();
}

static bool may_read_counter(void)
{
	struct fact counter = {0};

	counter_probe(&counter);
	return fact_is_known(&counter);
}

/* False if the call cannot be made or the time cannot be told. */
static bool prepare(struct hall *hall, struct series *series, struct stopwatch *watch)
{
	if (!stopwatch_start(watch, may_read_counter()))
		return false;
	series_calibrate(series, watch, (uint64_t)(CHUNK_NS / stopwatch_ns_per_tick(watch)));
	if (series->signal)
		hall->signal = series->signal;
	return !series->signal;
}

static void be_member(void *argument)
{
	const struct member *member = argument;
	struct hall *hall = member->hall;
	struct series series = {.repeat = series_repeat_call, .subject = hall->gathering->call};
	struct stopwatch watch;

	affinity_pin(member->cpu);
	if (!prepare(hall, &series, &watch)) {
		hall->over = true;
		return;
	}
	wait_for_the_others(hall);
	if (member->index == 0)
		measure_all(hall, &series, &watch);
	while (!is_over(hall))
		make_calls(&series, &hall->paces[member->index]);
}

/* Before the start nobody is done: who ended has failed, and is judged later. */
static bool is_anyone_gone(void)
{
	siginfo_t gone = {.si_pid = 0};

	return waitid(P_ALL, 0, &gone, WEXITED | WNOHANG | WNOWAIT) == 0 && gone.si_pid != 0;
}

static void give_the_start(struct hall *hall, unsigned members)
{
	int64_t until = kernel_clock_ns(CLOCK_MONOTONIC) + START_NS;

	while (__atomic_load_n(&hall->ready, __ATOMIC_SEQ_CST) < members && !is_over(hall) &&
		!is_anyone_gone() && kernel_clock_ns(CLOCK_MONOTONIC) < until)
		nanosleep(&short_while, NULL);
	hall->go = true;
}

static unsigned start_members(struct hall *hall, const struct deadline *deadline, struct fact *why)
{
	const struct gathering *gathering = hall->gathering;
	unsigned started = 0;

	for (; started < gathering->threads; started++) {
		struct member member = {
			hall, started, gathering->cpus[started % gathering->cpu_count]};

		if (child_start(be_member, &member, deadline, why) < 0) {
			hall->over = true;
			break;
		}
	}
	return started;
}

/* Whoever dies takes the others with it: nobody else may keep the time. */
static bool await_members(
	struct hall *hall, unsigned members, const struct deadline *deadline, struct fact *why)
{
	bool well = true;
	int status;

	while (members > 0) {
		if (wait(&status) > 0) {
			if (well)
				well = child_judge(status, deadline, why);
			hall->over = hall->over || !well;
			members--;
		} else if (errno != EINTR) {
			break;
		}
	}
	return well;
}

static bool hold(struct hall *hall, struct fact *why)
{
	const struct gathering *gathering = hall->gathering;
	struct deadline deadline = deadline_after(gathering->ns + SLACK_NS);
	unsigned started = start_members(hall, &deadline, why);

	give_the_start(hall, started);
	if (started < gathering->threads) {
		struct fact ignored = {0};

		await_members(hall, started, &deadline, &ignored);
		return false;
	}
	if (!await_members(hall, started, &deadline, why))
		return false;
	if (hall->signal)
		fact_set(
			why, FACT_FAILED, "the call ends with %s", fault_signal_name(hall->signal));
	return !hall->signal;
}

bool gathering_measure(
	const struct gathering *gathering, struct gathering_price *price, struct fact *why)
{
	struct hall *hall = child_share(sizeof(*hall), why);
	bool well;

	if (!hall)
		return false;
	hall->gathering = gathering;
	well = hold(hall, why);
	*price = hall->price;
	child_unshare(hall, sizeof(*hall));
	return well;
}
