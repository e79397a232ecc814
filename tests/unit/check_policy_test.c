/* SPDX-License-Identifier: MIT */
/* Tests of check/policy: what each requirement makes of the evidence, and of the exit status. */
#include <string.h>

#include "check/model.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct evidence evidence;
static struct policy policy;
static struct outcome outcome;

static int set_up(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	memset(&policy, 0, sizeof(policy));
	return 0;
}

static uint32_t status_of_policy(void)
{
	struct verdict verdict;

	verdict_find(&evidence, &verdict);
	policy_judge(&policy, &evidence, verdict.kind, &outcome);
	return outcome.exit_status;
}

static void require(const char *name)
{
	strcpy(policy.clocksources[policy.clocksource_count++], name);
}

static void decide_by(const char *call, const char *clock)
{
	policy.deciding[policy.deciding_count].call = call;
	policy.deciding[policy.deciding_count++].clock = clock;
}

static void assert_answer(enum policy_answer answer, const char *reason)
{
	assert_int_equal(outcome.requirements[0].answer, answer);
	assert_string_equal(outcome.requirements[0].reason, reason);
}

static void without_a_policy_the_status_is_that_of_the_verdict(void **state)
{
	(void)state;
	assert_int_equal(status_of_policy(), 0);
	assert_int_equal(outcome.count, 0);
	evidence_remove_proof(&evidence, "Operation not permitted");
	evidence_remove_timing(&evidence);
	assert_int_equal(status_of_policy(), 2);
	evidence_make_falling_back(&evidence, "hpet");
	assert_int_equal(status_of_policy(), 1);
}

static void one_of_the_required_clocksources_must_be_in_use(void **state)
{
	(void)state;
	require("kvm-clock");
	assert_int_equal(status_of_policy(), 1);
	assert_answer(POLICY_NOT_MET, "the clocksource is tsc");
	require("tsc");
	assert_int_equal(status_of_policy(), 0);
	assert_answer(POLICY_MET, "the clocksource is tsc");
	assert_string_equal(outcome.requirements[0].value, "kvm-clock,tsc");
	strcpy(evidence.clocksource.changed_to, "hpet");
	assert_int_equal(status_of_policy(), 1);
	assert_answer(POLICY_NOT_MET, "the clocksource changed to hpet");
}

static void an_unknown_clocksource_is_undetermined(void **state)
{
	(void)state;
	require("tsc");
	fact_set(&evidence.clocksource.current_fact, FACT_DENIED, "no /sys");
	assert_int_equal(status_of_policy(), 2);
	assert_answer(POLICY_UNDETERMINED, "the clocksource is unknown: no /sys");
}

/* The required clocksource does not excuse calls that fall back. */
static void a_policy_that_is_met_does_not_hide_a_fallback(void **state)
{
	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	require("hpet");
	assert_int_equal(status_of_policy(), 1);
	assert_null(policy_find(&outcome, POLICY_NOT_MET));
}

static void a_deciding_call_with_wrong_values_does_not_meet_the_policy(void **state)
{
	struct call_evidence *call =
		evidence_find_call(&evidence, "clock_gettime", "CLOCK_BOOTTIME");

	(void)state;
	call->ahead_ns = 1000000000;
	fact_set_flag(&call->agrees, false);
	assert_int_equal(status_of_policy(), 0);
	decide_by("clock_gettime", "CLOCK_BOOTTIME");
	assert_int_equal(status_of_policy(), 1);
	assert_answer(POLICY_NOT_MET,
		"the vDSO serves the clock calls, but its values are not the kernel's: "
		"CLOCK_BOOTTIME is 1.000 s ahead");
}

static void no_deciding_call_may_take_longer(void **state)
{
	struct path_evidence *path = evidence_monotonic(&evidence, PATH_VDSO);

	(void)state;
	policy.max_ns = 40;
	path->min_ns = 40;
	assert_int_equal(status_of_policy(), 0);
	path->min_ns = 40.5;
	assert_int_equal(status_of_policy(), 1);
	assert_answer(POLICY_NOT_MET, "CLOCK_MONOTONIC takes 40.5 ns");
}

static void a_call_that_was_not_timed_is_undetermined_unless_another_is_too_slow(void **state)
{
	(void)state;
	policy.max_ns = 1000;
	evidence_find_call(&evidence, "gettimeofday", "")->path[PATH_VDSO].fact = (struct fact){0};
	assert_int_equal(status_of_policy(), 2);
	assert_answer(POLICY_UNDETERMINED, "gettimeofday was not timed");
	policy.max_ns = 1;
	assert_int_equal(status_of_policy(), 1);
}

static void the_named_calls_decide(void **state)
{
	struct path_evidence *path;

	(void)state;
	decide_by("clock_gettime", "CLOCK_BOOTTIME");
	path = evidence_find_call(&evidence, "clock_gettime", "CLOCK_BOOTTIME")->path;
	assert_int_equal(status_of_policy(), 0);
	assert_answer(POLICY_MET, "served by the vDSO");
	path[PATH_VDSO].entered = path[PATH_VDSO].attempts;
	assert_int_equal(status_of_policy(), 1);
	assert_answer(POLICY_NOT_MET, "CLOCK_BOOTTIME falls back to a system call");
	path[PATH_VDSO].entered--;
	assert_int_equal(status_of_policy(), 1);
	assert_answer(POLICY_NOT_MET, "CLOCK_BOOTTIME sometimes falls back to a system call");
	decide_by("clock_gettime", "CLOCK_THREAD_CPUTIME_ID");
	assert_int_equal(status_of_policy(), 1);
	assert_answer(POLICY_NOT_MET,
		"CLOCK_BOOTTIME and CLOCK_THREAD_CPUTIME_ID sometimes fall back to system calls");
}

static void the_named_calls_take_the_place_of_the_usual_ones(void **state)
{
	struct path_evidence *path = evidence_find_call(&evidence, "gettimeofday", "")->path;

	(void)state;
	path[PATH_VDSO].entered = path[PATH_VDSO].attempts;
	assert_int_equal(status_of_policy(), 1);
	decide_by("clock_gettime", "CLOCK_MONOTONIC");
	assert_int_equal(status_of_policy(), 0);
	policy.max_ns = 1;
	assert_int_equal(status_of_policy(), 1);
	assert_string_equal(outcome.requirements[1].option, "max-ns");
}

static void a_named_call_that_was_not_measured_or_proven_is_undetermined(void **state)
{
	(void)state;
	decide_by("getcpu", "");
	evidence_find_call(&evidence, "getcpu", "")->call[0] = '?';
	assert_int_equal(status_of_policy(), 2);
	assert_answer(POLICY_UNDETERMINED, "getcpu was not measured");
	set_up(state);
	decide_by("clock_gettime", "CLOCK_MONOTONIC");
	evidence_remove_proof(&evidence, "Operation not permitted");
	evidence_remove_timing(&evidence);
	assert_int_equal(status_of_policy(), 2);
	assert_answer(POLICY_UNDETERMINED,
		"could not determine whether the vDSO serves the clock calls: Operation not "
		"permitted");
}

static void the_exit_status_follows_from_what_settles_it(void **state)
{
	(void)state;
	policy.max_ns = 1;
	require("tsc");
	assert_int_equal(status_of_policy(), 1);
	assert_false(policy_settles(&outcome, &outcome.requirements[0]));
	assert_true(policy_settles(&outcome, &outcome.requirements[1]));
	set_up(state);
	policy.max_ns = 1000;
	evidence_find_call(&evidence, "gettimeofday", "")->path[PATH_VDSO].fact = (struct fact){0};
	assert_int_equal(status_of_policy(), 2);
	assert_true(policy_settles(&outcome, &outcome.requirements[0]));
	evidence_make_falling_back(&evidence, "hpet");
	evidence_find_call(&evidence, "gettimeofday", "")->path[PATH_VDSO].fact = (struct fact){0};
	assert_int_equal(status_of_policy(), 1);
	assert_false(policy_settles(&outcome, &outcome.requirements[0]));
	decide_by("time", "");
	policy.max_ns = 0;
	evidence_find_call(&evidence, "time", "")->path[PATH_VDSO].entered = 0;
	assert_int_equal(status_of_policy(), 0);
	assert_true(policy_settles(&outcome, &outcome.requirements[0]));
}

static void what_is_not_met_outranks_what_is_undetermined(void **state)
{
	(void)state;
	fact_set(&evidence.clocksource.current_fact, FACT_DENIED, "no /sys");
	require("tsc");
	policy.max_ns = 1;
	assert_int_equal(status_of_policy(), 1);
	assert_string_equal(policy_find(&outcome, POLICY_UNDETERMINED)->option, "require");
	assert_string_equal(policy_find(&outcome, POLICY_NOT_MET)->option, "max-ns");
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_policy_the_status_is_that_of_the_verdict),
		TEST(one_of_the_required_clocksources_must_be_in_use),
		TEST(an_unknown_clocksource_is_undetermined),
		TEST(a_policy_that_is_met_does_not_hide_a_fallback),
		TEST(a_deciding_call_with_wrong_values_does_not_meet_the_policy),
		TEST(no_deciding_call_may_take_longer),
		TEST(a_call_that_was_not_timed_is_undetermined_unless_another_is_too_slow),
		TEST(the_named_calls_decide),
		TEST(the_named_calls_take_the_place_of_the_usual_ones),
		TEST(a_named_call_that_was_not_measured_or_proven_is_undetermined),
		TEST(the_exit_status_follows_from_what_settles_it),
		TEST(what_is_not_met_outranks_what_is_undetermined),
	};

	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
