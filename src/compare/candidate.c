/* SPDX-License-Identifier: MIT */
#include "candidate.h"

#include <time.h>

#include "base/child.h"
#include "base/kernel_clock.h"
#include "measure/affinity.h"
#include "measure/counter.h"
#include "measure/drift.h"
#include "measure/proof.h"
#include "measure/timing.h"

#define CHILD_SECONDS 10

/* The counter is compared with the old clock for so long, and then with the new one. */
#define COMPARED_NS 20000000

/* Beyond these the clock does not tell the time. The jiffies clock moves every 10 ms at most. */
#define SLOWEST 0.4
#define FASTEST 2.5

struct first_look {
	const struct clock_switch *clock;
	const char *name;
	struct fact *switched;
	struct fact fact; /* of the clock: whether it runs */
};

static double compare_with_clock(void)
{
	static const struct timespec while_it_runs = {.tv_nsec = COMPARED_NS};
	struct drift_mark start = drift_mark_take();
	struct drift_mark end;

	nanosleep(&while_it_runs, NULL);
	end = drift_mark_take();
	return drift_ns_per_tick(&start, &end);
}

/* The kernel's nanoseconds while the counter says that COMPARED_NS go by. */
static double clock_against_counter(double ns_per_tick)
{
	uint64_t ticks = (uint64_t)(COMPARED_NS / ns_per_tick);
	int64_t before = kernel_clock_ns(CLOCK_MONOTONIC);
	uint64_t start = counter_read_ordered();

	while (counter_read_ordered() - start < ticks)
		;
	return (double)(kernel_clock_ns(CLOCK_MONOTONIC) - before);
}

static void judge_speed(double ns, struct fact *fact)
{
	double speed = ns / COMPARED_NS;

	if (speed < SLOWEST || speed > FASTEST)
		fact_set(fact, FACT_FAILED, "a clock that runs at %.2f of its speed", speed);
	else
		fact_set_known(fact);
}

/*
 * A clock that stands still also stops all timers, those that are to end us included: so it is
 * looked at first, by the counter, and left at once.
 */
static void switch_and_look(void *argument)
{
	struct first_look *look = argument;
	double ns_per_tick;
	struct fact why = {0};

	counter_probe(&look->fact);
	if (!fact_is_known(&look->fact)) {
		fact_set_known(&look->fact);
		clock_switch_to(look->clock, look->name, look->switched);
		return;
	}
	ns_per_tick = compare_with_clock();
	if (!clock_switch_to(look->clock, look->name, look->switched))
		return;
	judge_speed(clock_against_counter(ns_per_tick), &look->fact);
	if (!fact_is_known(&look->fact))
		clock_switch_restore(look->clock, &why);
}

/* On one CPU, since the counters of two may differ. */
static void look_pinned(void *argument)
{
	int cpu;

	if (affinity_list(&cpu, 1) == 1)
		affinity_pin(cpu);
	switch_and_look(argument);
}

static bool switch_carefully(const struct clock_switch *clock, struct trial *trial)
{
	struct first_look *look = child_share(sizeof(*look), &trial->fact);
	bool done;

	if (!look)
		return false;
	look->clock = clock;
	look->name = trial->name;
	look->switched = &trial->switched;
	done = child_run(look_pinned, look, CHILD_SECONDS, &trial->fact);
	if (done)
		trial->fact = look->fact;
	child_unshare(look, sizeof(*look));
	return done && fact_is_known(&trial->switched) && fact_is_known(&trial->fact);
}

static void measure(const struct trial_setup *setup, struct trial *trial)
{
	struct warp_setup warp = {.duration_ns = setup->warp_ns, .clocks = TRIAL_CLOCKS};

	trial->evidence = *setup->names;
	proof_take(&trial->evidence, setup->calls);
	timing_measure(&trial->evidence, setup->calls);
	proof_take(&trial->evidence, setup->calls);
	warp_measure(setup->names, setup->calls, &warp, &trial->warp);
	warp_release(&trial->warp);
}

void trial_run(
	const struct clock_switch *clock, const struct trial_setup *setup, struct trial *trial)
{
	if (!switch_carefully(clock, trial))
		return;
	fact_set(&trial->fact, FACT_FAILED, "not done");
	measure(setup, trial);
	fact_set_known(&trial->fact);
}
