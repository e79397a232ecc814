/* SPDX-License-Identifier: MIT */
/* judge/cost: what the calls cost, and what user space would take instead. */
#include <string.h>

#include "judge/rules.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct evidence evidence;

static void find_cost(enum verdict_kind verdict, struct cost *cost)
{
	struct view view = view_of(&evidence);

	view.verdict = verdict;
	cost_find(&view, cost);
}

static void the_cost_is_the_call_against_its_parts(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns = 596;
	evidence_monotonic(&evidence, PATH_SYSCALL)->min_ns = 601;
	evidence_monotonic(&evidence, PATH_LIBC)->min_ns = 650; /* enters as often: no bypass */
	find_cost(VERDICT_FALLBACK, &cost);
	assert_true(fact_is_known(&cost.call_ns.fact) && fact_is_known(&cost.vdso_ns.fact));
	assert_true(cost.call_ns.value == 596 && cost.syscall_ns == 601);
	/* The counter in order, 17 ns, and the arithmetic that a COARSE clock takes, 3.7 ns. */
	assert_true(cost.vdso_ns.value > 20.69 && cost.vdso_ns.value < 20.71);
	assert_true(cost.lost_ns > 575.2 && cost.lost_ns < 575.4);
}

static void a_measured_time_overrides_the_estimate(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns = 596;
	evidence.copy.what_if_ns.value = 27.9;
	fact_set_known(&evidence.copy.what_if_ns.fact);
	find_cost(VERDICT_FALLBACK, &cost);
	assert_true(fact_is_known(&cost.call_ns.fact) && fact_is_known(&cost.vdso_ns.fact) &&
		    cost.measured);
	assert_true(cost.vdso_ns.value == 27.9);
	find_cost(VERDICT_OK, &cost);
	assert_false(cost.measured);
}

/* A counter whose reads are trapped, for an erratum or by the hypervisor. */
static void a_counter_that_gains_nothing_loses_nothing(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns = 596;
	evidence.copy.what_if_ns.value = 550;
	fact_set_known(&evidence.copy.what_if_ns.fact);
	find_cost(VERDICT_FALLBACK, &cost);
	assert_true(fact_is_known(&cost.call_ns.fact) && cost.measured &&
		    !fact_is_known(&cost.vdso_ns.fact));
	assert_true(cost.lost_ns == 0);
	assert_non_null(strstr(cost.vdso_ns.fact.reason, "takes as long"));
}

/* Documents of older versions are judged, too. */
static void the_unordered_counter_is_used_where_no_ordered_one_is(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	fact_set(&evidence.timing.ordered_ns.fact, FACT_UNREAD, "the document does not say");
	find_cost(VERDICT_FALLBACK, &cost);
	assert_true(cost.vdso_ns.value > 11.69 && cost.vdso_ns.value < 11.71);
}

/* The minimum alone would show almost no loss on a host that is slow for half of the calls. */
static void a_partial_fallback_costs_the_mean_of_both(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_healthy(&evidence);
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns = 20;
	evidence_monotonic(&evidence, PATH_VDSO)->entered =
		evidence_monotonic(&evidence, PATH_VDSO)->attempts / 2;
	evidence_monotonic(&evidence, PATH_SYSCALL)->min_ns = 600;
	find_cost(VERDICT_FALLBACK, &cost);
	assert_true(cost.call_ns.value > 309.9 && cost.call_ns.value < 310.1);
	assert_true(cost.mixed);
	evidence_monotonic(&evidence, PATH_VDSO)->entered = 1;
	find_cost(VERDICT_FALLBACK, &cost);
	assert_true(cost.mixed && cost.call_ns.value > 20 && cost.call_ns.value < 21);
}

/* A monitor that looks for a loss would raise an alarm on a healthy host, or on a guess. */
static void a_loss_is_reported_for_slow_hosts_only(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_healthy(&evidence);
	find_cost(VERDICT_OK, &cost);
	assert_true(fact_is_known(&cost.vdso_ns.fact) && cost.vdso_ns.value == cost.call_ns.value &&
		    !cost.mixed);
	assert_true(cost.lost_ns == 0);
	evidence_make_falling_back(&evidence, "hpet");
	find_cost(VERDICT_FALLBACK, &cost);
	assert_true(fact_is_known(&cost.vdso_ns.fact) && cost.lost_ns > 0);
	find_cost(VERDICT_UNKNOWN, &cost);
	assert_true(!fact_is_known(&cost.call_ns.fact) && !fact_is_known(&cost.vdso_ns.fact) &&
		    cost.lost_ns == 0);
}

/* Timed before a change, proven after it: 22.7 ns are not what a fallback costs. */
static void calls_served_while_timed_have_no_cost(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns = 22.7;
	find_cost(VERDICT_FALLBACK, &cost);
	assert_true(!fact_is_known(&cost.call_ns.fact) &&
		    strstr(cost.call_ns.fact.reason, "when they were timed"));
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns =
		evidence_monotonic(&evidence, PATH_SYSCALL)->min_ns * 0.6;
	find_cost(VERDICT_FALLBACK, &cost);
	assert_true(fact_is_known(&cost.call_ns.fact));
	evidence_make_healthy(&evidence);
	find_cost(VERDICT_FALLBACK, &cost);
	assert_false(fact_is_known(&cost.call_ns.fact));
}

static void calls_per_thread_fit_a_second(void **state)
{
	struct cost cost = {.call_ns = {.fact.state = FACT_KNOWN, .value = 88679}};

	(void)state;
	assert_true(cost_calls_per_thread(&cost) == 11000);
	cost.call_ns.value = 599;
	assert_true(cost_calls_per_thread(&cost) == 1600000);
	cost.call_ns.fact.state = FACT_ABSENT;
	assert_true(cost_calls_per_thread(&cost) == 0);
}

/* The time of an intercepted counter is not what user space would take. */
static void a_slow_counter_gives_no_estimate(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "arch_sys_counter");
	fact_set_text(&evidence.host.arch, "armv7l");
	evidence.timing.syscall_floor_ns.value = 9000;
	evidence.timing.counter_ns.value = 8257;
	find_cost(VERDICT_FALLBACK, &cost);
	assert_true(fact_is_known(&cost.call_ns.fact) && !fact_is_known(&cost.vdso_ns.fact));
}

/* As on User-Mode Linux: its time has a system call in it. */
static void a_coarse_clock_that_enters_gives_no_estimate(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	evidence_find_call(&evidence, "clock_gettime", "CLOCK_MONOTONIC_COARSE")
		->path[PATH_VDSO]
		.entered = 1;
	find_cost(VERDICT_FALLBACK, &cost);
	assert_true(fact_is_known(&cost.call_ns.fact) && !fact_is_known(&cost.vdso_ns.fact));
}

static void unknown_times_have_no_cost(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	fact_set(&evidence.timing.counter_ns.fact, FACT_FAILED, "x");
	find_cost(VERDICT_FALLBACK, &cost);
	assert_true(fact_is_known(&cost.call_ns.fact) && !fact_is_known(&cost.vdso_ns.fact));
	assert_true(cost.lost_ns == 0);
	evidence_remove_timing(&evidence);
	find_cost(VERDICT_FALLBACK, &cost);
	assert_false(fact_is_known(&cost.call_ns.fact) || fact_is_known(&cost.vdso_ns.fact));
	assert_true(cost.lost_ns == 0);
	memset(&evidence, 0, sizeof(evidence));
	find_cost(VERDICT_FALLBACK, &cost);
	assert_false(fact_is_known(&cost.call_ns.fact));
}

/* A loss below zero would be nonsense in a report. */
static void no_loss_is_negative(void **state)
{
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct cost cost;

		evidence_roll(&evidence, &dice);
		find_cost(VERDICT_FALLBACK, &cost);
		assert_true(cost.lost_ns >= 0);
	}
}

/* The sums that were published: what a service lost, and what the article measured. */
static void the_cost_matches_published_figures(void **state)
{
	(void)state;
	assert_true(cost_seconds(1718430 + 706702, 530, 28) > 1.2165);
	assert_true(cost_seconds(1718430 + 706702, 530, 28) < 1.2175);
	assert_true(cost_seconds(5e6, 0.547e9 / 5e6, 0.123e9 / 5e6) > 0.4239);
	assert_true(cost_seconds(5e6, 0.547e9 / 5e6, 0.123e9 / 5e6) < 0.4241);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cost_matches_published_figures),
		cmocka_unit_test(the_cost_is_the_call_against_its_parts),
		cmocka_unit_test(a_measured_time_overrides_the_estimate),
		cmocka_unit_test(a_counter_that_gains_nothing_loses_nothing),
		cmocka_unit_test(the_unordered_counter_is_used_where_no_ordered_one_is),
		cmocka_unit_test(a_partial_fallback_costs_the_mean_of_both),
		cmocka_unit_test(a_loss_is_reported_for_slow_hosts_only),
		cmocka_unit_test(unknown_times_have_no_cost),
		cmocka_unit_test(calls_served_while_timed_have_no_cost),
		cmocka_unit_test(calls_per_thread_fit_a_second),
		cmocka_unit_test(a_slow_counter_gives_no_estimate),
		cmocka_unit_test(a_coarse_clock_that_enters_gives_no_estimate),
		cmocka_unit_test(no_loss_is_negative),
	};

	return cmocka_run_group_tests_name("cost", tests, NULL, NULL);
}
