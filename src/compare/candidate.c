/* SPDX-License-Identifier: MIT */
/*
 * Measures one clocksource: whether its clock runs at all, the proof and the times. The switch is
 * made in a worker that may be killed.
 *
 * The speed of the new clock is compared with the CPU's counter, not with timers: a clock that
 * stands still also stops every timer, those that are to end the worker included.
 */
#include <string.h>

#include "base/child.h"
#include "collect.h"
#include "judge.h"
#include "measure.h"
#include "measure/cpus.h"
#include "measure/sampler.h"
#include "measure/timebase.h"
#include "model.h"

/*
 * The most that the speed check, the proof or one timing may take of the worker's time, so that one
 * that hangs leaves time for the others.
 */
#define PART_NS 10000000000

/* A window has several ticks of HZ=100, which is the resolution of the jiffies clock. */
#define SPEED_WINDOW_NS 60000000.0

#define TIMING_TRIES 5

/* No window has room for this many marks. */
#define CALIBRATION_MARKS_MAX 1000000

/* Jiffies advance by five ticks to seven in a window: 0.8 to 1.2 times its length. */
#define SPEED_SLOWEST 0.4
#define SPEED_FASTEST 2.5

/* ---- does the clock run? ---- */

/*
 * The window goes from one narrow pair of readings to another, so that it does not matter where in
 * between this process lost its CPU. The CPU is kept busy, since an idle one may stop its counter.
 */
static double measure_speed(double ns_per_tick)
{
	struct clock_mark start = clock_mark_take(CLOCK_MONOTONIC_RAW), end;

	while ((double)(counter_read_ordered() - start.ticks) < SPEED_WINDOW_NS / ns_per_tick)
		;
	end = clock_mark_take(CLOCK_MONOTONIC_RAW);
	return clock_marks_ns_per_tick(&start, &end) / ns_per_tick;
}

void candidate_judge_speed(double speed, struct fact *fact)
{
	if (speed >= SPEED_SLOWEST && speed <= SPEED_FASTEST)
		fact_set_known(fact);
	else
		fact_set(fact, FACT_FAILED,
			"its clock runs at %.2f times the speed of the one in use", speed);
}

/* Returns ns per tick under the clocksource in use; 0 if the clock cannot be read or stands still.
 */
static double calibrate(void)
{
	struct clock_mark start = clock_mark_take(CLOCK_MONOTONIC_RAW);
	struct clock_mark end = start;

	for (long i = 0; start.ns && i < CALIBRATION_MARKS_MAX; i++) {
		end = clock_mark_take(CLOCK_MONOTONIC_RAW);
		if ((double)(end.ns - start.ns) >= SPEED_WINDOW_NS)
			return clock_marks_ns_per_tick(&start, &end);
	}
	return 0;
}

/*
 * The candidate's fact is known if it was switched to and its clock runs. Runs pinned to one CPU,
 * since the counters of two may differ.
 */
static void switch_and_check(void *argument)
{
	const struct run *run = argument;
	struct candidate *candidate = &run->candidates[run->current];
	enum switch_result result;
	double ns_per_tick;
	int cpu;

	if (cpus_list(&cpu, 1) == 1)
		cpus_pin(cpu);
	/* The one before may still be in use, and its clock may not run. */
	result = clocksource_switch_restore(run->sw, &candidate->fact);
	ns_per_tick = counter_probe(&(struct fact){0}) ? calibrate() : 0;
	if (result == SWITCH_DONE)
		result = clocksource_switch_to(run->sw, candidate->name, &candidate->fact);
	candidate->foreign = result == SWITCH_FOREIGN;
	if (result != SWITCH_DONE || ns_per_tick <= 0)
		return;
	candidate_judge_speed(measure_speed(ns_per_tick), &candidate->fact);
	if (!fact_is_known(&candidate->fact))
		clocksource_switch_restore(run->sw, &(struct fact){0});
}

/* ---- the measurement ---- */

static bool is_still_in_use(const struct clocksource_switch *sw, struct candidate *candidate)
{
	char now[CLOCKSOURCE_NAME_SIZE];
	struct fact why = {0};

	if (clocksource_read(sw->root, now, &why)) {
		if (strcmp(now, candidate->name) == 0)
			return true;
		fact_set(&why, FACT_FAILED,
			"something else switched the clocksource to %s during the measurement",
			now);
	}
	candidate->fact = why;
	candidate->foreign = true;
	return false;
}

/* On a busy machine every batch of one timing may have been disturbed. */
static void time_candidate(const struct run *run, struct candidate *candidate)
{
	struct evidence *evidence = &candidate->evidence;
	bool timed = false;

	for (int i = 0; i < TIMING_TRIES && !timed; i++) {
		struct deadline part = deadline_within(&run->deadline, PART_NS);
		const struct call_evidence *call;

		timing_measure(
			run->calls, TIMING_WHOLE, &evidence->timing, evidence->calls, NULL, &part);
		call = clock_gettime_of(evidence, "CLOCK_MONOTONIC");
		timed = fact_is_known(&evidence->timing.fact) && call &&
		        fact_is_known(&call->path[call_judged_path(call)].fact);
	}
}

/* The switch is made in a child of its own, whose parent kills it on a clock that stands still. */
void candidate_measure(const struct run *run, struct candidate *candidate)
{
	const struct deadline *deadline = &run->deadline;
	struct evidence *evidence = &candidate->evidence;
	struct deadline part = deadline_within(deadline, PART_NS);
	struct fact why = {0};

	if (!child_run(switch_and_check, NULL, (void *)run, &part, &why))
		candidate->fact = why;
	if (!fact_is_known(&candidate->fact))
		return;
	call_table_name(run->calls, evidence);
	part = deadline_within(deadline, PART_NS);
	proof_take(run->calls, PROOF_SPREAD, &evidence->proof, evidence->calls, &part);
	time_candidate(run, candidate);
	if (is_still_in_use(run->sw, candidate))
		fact_set_known(&candidate->fact);
}
