/* SPDX-License-Identifier: MIT */
/* Tests of judge/query: how many of the deciding calls entered the kernel, by which path. */
#include <signal.h>

#include "judge.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct evidence evidence;

static void counts_are_those_of_deciding_calls_only(void **state)
{
	struct entry_counts counts;

	(void)state;
	evidence_make_healthy(&evidence);
	evidence_find_call(&evidence, "clock_gettime", "CLOCK_TAI")->path[PATH_VDSO].entered = 9;
	evidence_monotonic(&evidence, PATH_VDSO)->entered = 7;
	counts = counts_deciding(&evidence);
	assert_int_equal(counts.calls, 3);
	assert_int_equal(counts.proven, 3);
	assert_int_equal(counts.entering, 1);
	assert_int_equal(counts.always, 0);
	assert_int_equal(counts.attempts, 3 * BUILDER_ATTEMPTS);
	assert_int_equal(counts.entered, 7);
	assert_int_equal(counts.signal, 0);
	evidence_monotonic(&evidence, PATH_VDSO)->entered = BUILDER_ATTEMPTS;
	assert_int_equal(counts_deciding(&evidence).always, 1);
}

static void without_a_vdso_function_libc_decides(void **state)
{
	struct entry_counts counts;

	(void)state;
	evidence_make_healthy(&evidence);
	*evidence_monotonic(&evidence, PATH_VDSO) = (struct path_evidence){0};
	evidence_monotonic(&evidence, PATH_LIBC)->entered = BUILDER_ATTEMPTS;
	evidence_monotonic(&evidence, PATH_LIBC)->signal = SIGBUS;
	counts = counts_deciding(&evidence);
	assert_int_equal(counts.calls, 3);
	assert_int_equal(counts.always, 1);
	assert_int_equal(counts.signal, SIGBUS);
	assert_int_equal(counts_by_path(&evidence, PATH_VDSO).calls, 2);
	assert_int_equal(counts_by_path(&evidence, PATH_LIBC).calls, 3);
	assert_int_equal(counts_by_path(&evidence, PATH_LIBC).entered, BUILDER_ATTEMPTS);
}

static void a_call_without_attempts_is_not_proven(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	evidence_monotonic(&evidence, PATH_VDSO)->attempts = 0;
	assert_int_equal(counts_deciding(&evidence).calls, 3);
	assert_int_equal(counts_deciding(&evidence).proven, 2);
	assert_int_equal(counts_deciding(&evidence).always, 0);
}

static void a_clock_is_found_by_its_whole_name(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	assert_string_equal(clock_gettime_of(&evidence, "CLOCK_MONOTONIC")->call, "clock_gettime");
	assert_string_equal(
		clock_gettime_of(&evidence, "CLOCK_MONOTONIC")->clock, "CLOCK_MONOTONIC");
	assert_null(clock_gettime_of(&evidence, "CLOCK_MONO"));
	assert_null(clock_gettime_of(&evidence, ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_those_of_deciding_calls_only),
		cmocka_unit_test(without_a_vdso_function_libc_decides),
		cmocka_unit_test(a_call_without_attempts_is_not_proven),
		cmocka_unit_test(a_clock_is_found_by_its_whole_name),
	};

	return cmocka_run_group_tests_name("counts", tests, NULL, NULL);
}
