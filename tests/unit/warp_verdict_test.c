/* SPDX-License-Identifier: MIT */
/* Tests of warp/verdict: each rule, and what decides between two. */
#include <string.h>

#include "unit/unit.h"
#include "warp/model.h"

static struct warp_evidence two_quiet_cpus(void)
{
	struct warp_evidence quiet = {.duration_s = 2,
		.allowed = 2,
		.cpu_count = 2,
		.cpus = {0, 1},
		.fact.state = FACT_KNOWN};

	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		quiet.results[id].name = warp_clock_name((enum warp_clock_id)id);
		quiet.results[id].fact.state = FACT_KNOWN;
		quiet.results[id].max_offset.fact.state = FACT_KNOWN;
		quiet.results[id].reads = 1000;
	}
	return quiet;
}

static void set_warp(
	struct warp_evidence *evidence, enum warp_clock_id id, int64_t ns, int earlier, int later)
{
	evidence->results[id].warps = 1;
	evidence->results[id].largest_ns = ns;
	evidence->results[id].cpu_behind = earlier;
	evidence->results[id].cpu_ahead = later;
}

static const struct number_fact several = {.fact.state = FACT_KNOWN, .value = 2};

static void expect_verdict(
	const struct warp_evidence *evidence, const char *rule, int status, const char *words)
{
	struct report verdict;

	warp_judge(evidence, &several, &verdict);
	assert_string_equal(verdict.rule, rule);
	assert_int_equal(verdict.exit_status, status);
	assert_non_null(strstr(verdict.summary, words));
}

static void rules_none(void **state)
{
	struct warp_evidence evidence = two_quiet_cpus();

	(void)state;
	expect_verdict(&evidence, "no-warps", 0, "no clock ran backwards between 2 CPUs in 2.0 s");
}

static void rules_backwards(void **state)
{
	struct warp_evidence evidence = two_quiet_cpus();

	(void)state;
	set_warp(&evidence, WARP_COUNTER, 900, 1, 0);
	set_warp(&evidence, WARP_MONOTONIC, 70, 1, 0);
	set_warp(&evidence, WARP_REALTIME, 80, 0, 1);
	set_warp(&evidence, WARP_KERNEL, 900, 0, 1);
	expect_verdict(&evidence, "clock-backwards", 1,
		"CLOCK_REALTIME runs backwards between CPUs: CPU 0 was up to 80 ns behind CPU 1");
	set_warp(&evidence, WARP_REALTIME, 80, 1, 1);
	expect_verdict(&evidence, "clock-backwards", 1, "ran backwards on CPU 1, by up to 80 ns");
}

static void rules_disagreement(void **state)
{
	struct warp_evidence evidence = two_quiet_cpus();

	(void)state;
	set_warp(&evidence, WARP_COUNTER, 900, 1, 0);
	set_warp(&evidence, WARP_KERNEL, 3000000000, 0, 0);
	expect_verdict(&evidence, "vdso-disagrees", 1, "by up to 3000000000 ns");
	evidence.cpu_count = 1;
	expect_verdict(&evidence, "vdso-disagrees", 1, "disagree");
}

static void rules_counters(void **state)
{
	struct warp_evidence evidence = two_quiet_cpus();
	struct report verdict;

	(void)state;
	set_warp(&evidence, WARP_COUNTER, 900, 1, 0);
	expect_verdict(&evidence, "counters-disagree", 1, "CPU 1 was up to 900 ns behind CPU 0");
	/* The clocksource in use is not known here: it may be tsc. */
	warp_judge(&evidence, &several, &verdict);
	assert_null(strstr(verdict.advice, "Leave"));
	assert_non_null(strstr(verdict.advice, "If tsc is in use"));
}

static void rules_not_compared(void **state)
{
	struct warp_evidence evidence = two_quiet_cpus();

	(void)state;
	fact_set(&evidence.results[WARP_MONOTONIC].max_offset.fact, FACT_FAILED, "they never met");
	expect_verdict(&evidence, "not-compared", 2, "they never met");
}

static void a_clock_that_cannot_be_read_is_unknown_and_no_longer_test_is_advised(void **state)
{
	struct warp_evidence evidence = two_quiet_cpus();
	struct report verdict;

	(void)state;
	fact_set(
		&evidence.results[WARP_MONOTONIC].fact, FACT_FAILED, "reading it ends with SIGBUS");
	expect_verdict(&evidence, "not-read", 2, "reading it ends with SIGBUS");
	evidence.cpu_count = 1;
	warp_judge(&evidence, &several, &verdict);
	assert_string_equal(verdict.rule, "not-read");
	assert_null(strstr(verdict.advice, "longer"));
	/* A busy host gave it no CPU: the vDSO is not to blame. */
	fact_set(&evidence.results[WARP_MONOTONIC].fact, FACT_UNREAD, "no CPU time");
	warp_judge(&evidence, &several, &verdict);
	assert_non_null(strstr(verdict.advice, "less busy"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_none),
		cmocka_unit_test(rules_backwards),
		cmocka_unit_test(rules_disagreement),
		cmocka_unit_test(rules_counters),
		cmocka_unit_test(rules_not_compared),
		cmocka_unit_test(
			a_clock_that_cannot_be_read_is_unknown_and_no_longer_test_is_advised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
