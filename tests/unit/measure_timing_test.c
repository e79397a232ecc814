/* SPDX-License-Identifier: MIT */
/*
 * measure/timing: ns of each call by each path. Nothing here asserts an absolute time: the
 * machine may be any, and busy.
 */
#include <math.h>
#include <string.h>

#include "measure.h"
#include "measure/vdso.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct call_table calls;
static struct evidence evidence;
static struct vdso_image image;

static void measure(unsigned options)
{
	timing_measure(&calls, options, &evidence.timing, evidence.calls, NULL, DEADLINE_NONE);
}

static void every_available_path_is_timed_and_no_other(void **state)
{
	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	measure(TIMING_WHOLE);
	assert_true(fact_is_known(&evidence.timing.fact));
	assert_true(fact_is_known(&evidence.timing.syscall_floor_ns.fact));
	assert_true(evidence.timing.syscall_floor_ns.value > 0);
	for (size_t i = 0; i < evidence.call_count; i++) {
		for (int path = 0; path < PATH_COUNT; path++) {
			const struct path_evidence *times = &evidence.calls[i].path[path];

			assert_int_equal(fact_is_known(&times->fact), times->available);
			assert_true(!fact_is_known(&times->fact) || times->min_ns > 0);
			assert_true(
				!fact_is_known(&times->fact) || times->min_ns <= times->median_ns);
			assert_int_equal(times->signal, 0);
			assert_int_equal(times->attempts, 0);
		}
	}
}

/* The part that follows takes a child less, and is as good as one of proof_take(). */
static void a_part_of_the_proof_follows(void **state)
{
	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	call_table_keep_deciding(&calls);
	call_table_name(&calls, &evidence);
	proof_take(&calls, PROOF_HERE, &evidence.proof, evidence.calls, DEADLINE_NONE);
	if (!fact_is_known(&evidence.proof.fact) || evidence.proof.method != PROOF_SECCOMP)
		unit_skip("no proof by seccomp here");
	assert_true(timing_measure(&calls, TIMING_BRIEF, &evidence.timing, evidence.calls,
		&evidence.proof, DEADLINE_NONE));
	assert_true(fact_is_known(&evidence.timing.fact));
	assert_true(evidence.proof.cpus > 0);
	for (size_t i = 0; i < evidence.call_count; i++) {
		for (int path = PATH_VDSO; path <= PATH_LIBC; path++) {
			const struct path_evidence *counts = &evidence.calls[i].path[path];

			assert_int_equal(counts->attempts, counts->available ? 2 * PROOF_CALLS : 0);
		}
	}
}

/* For --quiet: the times of one call, by the vDSO and by system call. */
static void brief_timing_is_of_one_call(void **state)
{
	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	measure(TIMING_BRIEF);
	assert_true(fact_is_known(&evidence.timing.syscall_floor_ns.fact));
	assert_int_equal(evidence.timing.ordered_ns.fact.state, FACT_UNREAD);
	for (size_t i = 0; i < evidence.call_count; i++) {
		const struct call_evidence *call = &evidence.calls[i];
		bool bears = strcmp(call->clock, "CLOCK_MONOTONIC") == 0;

		for (int path = 0; path < PATH_COUNT; path++)
			assert_int_equal(fact_is_known(&call->path[path].fact),
				bears && path != PATH_LIBC && call->path[path].available);
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
	measure(TIMING_WHOLE);
	assert_in_tenths(evidence.timing.counter_ns.value);
	assert_in_tenths(evidence.timing.ordered_ns.value);
	assert_in_tenths(evidence.timing.syscall_floor_ns.value);
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
static void a_call_that_crashes_is_reported_and_the_others_are_timed(void **state)
{
	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	calls.rows[3].path[PATH_VDSO] =
		(struct call){.shape = SHAPE_CLOCK, .function.clock = crash};
	evidence.calls[3].path[PATH_VDSO].available = true;
	measure(TIMING_WHOLE);
	assert_true(fact_is_known(&evidence.timing.fact));
	assert_int_not_equal(evidence.calls[3].path[PATH_VDSO].signal, 0);
	assert_false(fact_is_known(&evidence.calls[3].path[PATH_VDSO].fact));
	assert_true(fact_is_known(&evidence.calls[3].path[PATH_LIBC].fact));
	assert_true(fact_is_known(&evidence.calls[4].path[PATH_LIBC].fact));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_available_path_is_timed_and_no_other),
		cmocka_unit_test(a_part_of_the_proof_follows),
		cmocka_unit_test(brief_timing_is_of_one_call),
		cmocka_unit_test(times_are_in_tenths_of_a_nanosecond),
		cmocka_unit_test(a_call_that_crashes_is_reported_and_the_others_are_timed),
	};

	return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
