/* SPDX-License-Identifier: MIT */
/*
 * measure/timing, series and disturbance: the numbers in the table. Nothing here asserts
 * an absolute time: the machine may be any and busy.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "measure/counter.h"
#include "measure/cpus.h"
#include "measure/samples.h"
#include "measure/timing.h"
#include "measure/vdso.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct call_table calls;
static struct evidence evidence;
static struct vdso_image image;

static void every_way_that_exists_is_timed_and_no_other(void **state)
{
	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	timing_measure(&evidence, &calls, TIMING_WHOLE, NO_LIMIT);
	assert_true(fact_is_known(&evidence.timing.fact));
	assert_true(fact_is_known(&evidence.timing.syscall_floor_fact));
	assert_true(evidence.timing.syscall_floor_ns > 0);
	for (size_t i = 0; i < evidence.call_count; i++) {
		for (int path = 0; path < PATH_COUNT; path++) {
			const struct path_evidence *times = &evidence.calls[i].path[path];

			assert_int_equal(times->timed, times->available);
			assert_true(!times->timed || times->min_ns > 0);
			assert_true(!times->timed || times->min_ns <= times->median_ns);
			assert_int_equal(times->signal, 0);
			assert_int_equal(times->attempts, 0);
		}
	}
}

static bool is_judged_by(const struct call_evidence *call, int path)
{
	return path == (call->path[PATH_VDSO].available ? PATH_VDSO : PATH_LIBC);
}

/* For --quiet: what a verdict needs is there. */
static void the_brief_timing_has_what_a_verdict_needs(void **state)
{
	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	timing_measure(&evidence, &calls, TIMING_BRIEF, NO_LIMIT);
	assert_true(fact_is_known(&evidence.timing.fact));
	assert_true(evidence.timing.syscall_floor_ns > 0);
	for (size_t i = 0; i < evidence.call_count; i++) {
		const struct call_evidence *call = &evidence.calls[i];

		for (int path = 0; path < PATH_COUNT; path++) {
			if (call->decides && is_judged_by(call, path))
				assert_true(call->path[path].timed);
		}
	}
}

static void assert_in_tenths(double ns)
{
	assert_true(fabs(ns * 10 - round(ns * 10)) < 1e-6);
}

/* A document with one decimal has all that its run printed and judged. */
static void times_are_in_tenths_of_a_nanosecond(void **state)
{
	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	timing_measure(&evidence, &calls, TIMING_WHOLE, NO_LIMIT);
	assert_in_tenths(evidence.timing.counter_ns);
	assert_in_tenths(evidence.timing.ordered_ns);
	assert_in_tenths(evidence.timing.syscall_floor_ns);
	for (size_t i = 0; i < evidence.call_count; i++) {
		for (int path = 0; path < PATH_COUNT; path++) {
			assert_in_tenths(evidence.calls[i].path[path].min_ns);
			assert_in_tenths(evidence.calls[i].path[path].median_ns);
			assert_in_tenths(evidence.calls[i].path[path].p99_ns);
		}
	}
}

static int crash(clockid_t clock, struct timespec *now)
{
	(void)clock;
	(void)now;
	__builtin_trap();
}

/* One broken function of a vDSO must not cost the user the times of all the others. */
static void a_call_that_crashes_is_told_and_the_rest_is_timed(void **state)
{
	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	calls.rows[3].path[PATH_VDSO] =
		(struct call){.shape = SHAPE_CLOCK, .function.clock = crash};
	evidence.calls[3].path[PATH_VDSO].available = true;
	timing_measure(&evidence, &calls, TIMING_WHOLE, NO_LIMIT);
	assert_true(fact_is_known(&evidence.timing.fact));
	assert_int_not_equal(evidence.calls[3].path[PATH_VDSO].signal, 0);
	assert_false(evidence.calls[3].path[PATH_VDSO].timed);
	assert_true(evidence.calls[3].path[PATH_LIBC].timed);
	assert_true(evidence.calls[4].path[PATH_LIBC].timed);
}

static unsigned long done;

static void work(const void *unused, size_t count)
{
	(void)unused;
	done += count;
	counter_repeat(count * 10);
}

#define SAMPLES 16

/* Every batch is kept or counted as discarded; the least is no more than any sample. */
static void a_series_accounts_for_all_its_batches(void **state)
{
	double samples[SAMPLES];
	struct series series = {.repeat = work, .samples = samples, .capacity = SAMPLES};
	struct timebase timebase;

	(void)state;
	assert_true(timebase_start(&timebase, false));
	series_calibrate(&series, &timebase, 5000);
	assert_int_equal(series.signal, 0);
	assert_true(series.iterations >= 1);
	assert_false(series_is_measured(&series));
	for (int i = 0; i < 200; i++)
		series_take_batch(&series, &timebase, 5000);
	assert_int_equal(series.batches, 200);
	assert_true(series.preempted + series.moved + series.too_short + series.stalled < 200);
	assert_true(series_is_measured(&series));
	assert_true(series.count <= SAMPLES);
	for (size_t i = 0; i < series.count; i++)
		assert_true(series.samples[i] >= series.least);
	assert_true(done >= 200 * series.iterations);
}

static void a_series_of_nothing_is_left_alone(void **state)
{
	struct series series = {.repeat = NULL};
	struct timebase timebase;

	(void)state;
	assert_true(timebase_start(&timebase, false));
	series_calibrate(&series, &timebase, 5000);
	series_take_batch(&series, &timebase, 5000);
	assert_int_equal(series.batches, 0);
	assert_false(series_is_measured(&series));
}

static void switches_and_migrations_are_distinguished(void **state)
{
	const struct sched_mark here = {7, 1}, later = {8, 1}, elsewhere = {7, 2}, both = {9, 3};

	(void)state;
	assert_int_equal(sched_mark_compare(here, here), SCHED_UNCHANGED);
	assert_int_equal(sched_mark_compare(here, later), SCHED_SWITCHED);
	assert_int_equal(sched_mark_compare(here, elsewhere), SCHED_MIGRATED);
	assert_int_equal(sched_mark_compare(here, both), SCHED_MIGRATED);
}

/* Sleeping gives the CPU away: had it gone unseen, a stolen batch would be a time. */
static void a_pause_is_seen(void **state)
{
	struct sched_mark before = sched_mark_take();

	(void)state;
	if (before.switches < 0)
		unit_skip("the kernel does not count switches here");
	usleep(1000);
	assert_int_not_equal(sched_mark_compare(before, sched_mark_take()), SCHED_UNCHANGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_that_exists_is_timed_and_no_other),
		cmocka_unit_test(the_brief_timing_has_what_a_verdict_needs),
		cmocka_unit_test(times_are_in_tenths_of_a_nanosecond),
		cmocka_unit_test(a_call_that_crashes_is_told_and_the_rest_is_timed),
		cmocka_unit_test(a_series_accounts_for_all_its_batches),
		cmocka_unit_test(a_series_of_nothing_is_left_alone),
		cmocka_unit_test(switches_and_migrations_are_distinguished),
		cmocka_unit_test(a_pause_is_seen),
	};

	return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
