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

	evidence_find_verdict(&evidence, &verdict);
	policy_judge(&policy, &evidence, verdict.kind, &outcome);
	return outcome.exit_status;
}

static void require(const char *name)
{
	policy.clocksources[policy.clocksource_count++] = text_span(name);
}

static void assert_met(bool met, const char *reason)
{
	assert_int_equal(outcome.requirements[0].met, met);
	assert_string_equal(outcome.requirements[0].reason, reason);
}

/* Exit statuses are a contract with scripts. */
static void without_a_policy_the_status_is_that_of_the_verdict(void **state)
{
	static const uint32_t statuses[] = {[VERDICT_UNKNOWN] = 2,
		[VERDICT_OK] = 0,
		[VERDICT_FALLBACK] = 1,
		[VERDICT_SLOW] = 1,
		[VERDICT_WRONG] = 1};

	(void)state;
	for (enum verdict_kind kind = 0; kind < ARRAY_SIZE(statuses); kind++) {
		policy_judge(&policy, &evidence, kind, &outcome);
		assert_int_equal(outcome.exit_status, statuses[kind]);
		assert_int_equal(outcome.count, 0);
	}
}

static void a_list_of_the_longest_names_is_whole(void **state)
{
	(void)state;
	for (int i = 0; i < POLICY_CLOCKSOURCE_MAX; i++)
		require("thirty-one-characters-of-a-name");
	status_of_policy();
	assert_int_equal(strlen(outcome.requirements[0].value),
		POLICY_CLOCKSOURCE_MAX * CLOCKSOURCE_NAME_SIZE - 1);
}

static void one_of_the_required_clocksources_must_be_in_use(void **state)
{
	(void)state;
	require("kvm-clock");
	assert_int_equal(status_of_policy(), 1);
	assert_met(false, "the clocksource is tsc");
	require("tsc");
	assert_int_equal(status_of_policy(), 0);
	assert_met(true, "the clocksource is tsc");
	assert_string_equal(outcome.requirements[0].value, "kvm-clock,tsc");
	strcpy(evidence.clocksource.changed_to, "hpet");
	assert_int_equal(status_of_policy(), 1);
	assert_met(false, "the clocksource changed to hpet");
}

static void an_unknown_clocksource_does_not_meet_the_policy(void **state)
{
	(void)state;
	require("tsc");
	fact_set(&evidence.clocksource.current_fact, FACT_DENIED, "no /sys");
	assert_int_equal(status_of_policy(), 1);
	assert_met(false, "the clocksource is unknown: no /sys");
}

/* The required clocksource does not excuse calls that fall back. */
static void a_policy_that_is_met_does_not_hide_a_fallback(void **state)
{
	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	require("hpet");
	assert_int_equal(status_of_policy(), 1);
	assert_int_equal(outcome.unmet, 0);
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
	assert_met(false, "CLOCK_MONOTONIC takes 40.5 ns");
}

static void a_call_that_was_not_timed_does_not_meet_the_policy(void **state)
{
	(void)state;
	policy.max_ns = 1000;
	evidence_find_call(&evidence, "gettimeofday", "")->path[PATH_VDSO].fact = (struct fact){0};
	assert_int_equal(status_of_policy(), 1);
	assert_met(false, "gettimeofday was not timed");
	policy.max_ns = 40;
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns = 40.5;
	assert_int_equal(status_of_policy(), 1);
	assert_met(false, "CLOCK_MONOTONIC takes 40.5 ns");
	evidence.call_count = 0;
	status_of_policy();
	assert_met(false, "the clock was not timed");
}

/* A call that does not decide may take longer. */
static void only_deciding_calls_are_judged(void **state)
{
	(void)state;
	policy.max_ns = 100;
	require("tsc");
	evidence_find_call(&evidence, "clock_gettime", "CLOCK_THREAD_CPUTIME_ID")
		->path[PATH_VDSO]
		.min_ns = 400;
	assert_int_equal(status_of_policy(), 0);
	assert_int_equal(outcome.count, 2);
	policy.max_ns = 1;
	assert_int_equal(status_of_policy(), 1);
	assert_int_equal(outcome.unmet, 1);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

/* A misspelt name would never be met: each that a kernel may offer is accepted, and no other. */
static void any_clocksource_that_a_kernel_may_offer_can_be_required(void **state)
{
	const char *name;
	size_t known = 0;

	(void)state;
	for (; (name = clocksource_known_name(known)); known++) {
		evidence_make_falling_back(&evidence, "nameless");
		evidence_set_available(&evidence, "nameless");
		policy.clocksource_count = 0;
		require(name);
		assert_true(check_clocksources_exist(&policy, &evidence));
	}
	assert_true(known > 10);
	policy.clocksource_count = 0;
	require("nameless");
	assert_true(check_clocksources_exist(&policy, &evidence));
	policy.clocksource_count = 0;
	require("nobodys");
	assert_false(check_clocksources_exist(&policy, &evidence));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_policy_the_status_is_that_of_the_verdict),
		TEST(a_list_of_the_longest_names_is_whole),
		TEST(one_of_the_required_clocksources_must_be_in_use),
		TEST(an_unknown_clocksource_does_not_meet_the_policy),
		TEST(a_policy_that_is_met_does_not_hide_a_fallback),
		TEST(no_deciding_call_may_take_longer),
		TEST(a_call_that_was_not_timed_does_not_meet_the_policy),
		TEST(only_deciding_calls_are_judged),
		TEST(any_clocksource_that_a_kernel_may_offer_can_be_required),
	};

	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
