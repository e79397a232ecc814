/* SPDX-License-Identifier: MIT */
/* cli/phrase: the cost in words. No thread is said to make more calls than fit a second. */
#include <string.h>

#include "cli/phrase.h"
#include "unit/unit.h"

static const char *cost_text(enum verdict verdict, double call_ns, double user_ns, double rate)
{
	static struct judgement judgement;
	static struct phrase phrase;

	judgement = (struct judgement){.ruling.verdict = verdict,
		.cost = {.known = call_ns > 0,
			.call_ns = call_ns,
			.syscall_ns = 600,
			.estimated = user_ns > 0,
			.user_space_ns = user_ns,
			.rate = rate}};
	phrase = (struct phrase){.used = 0};
	phrase_cost(&judgement, &phrase);
	return phrase.text;
}

static void a_loss_below_one_cpu_is_a_percentage(void **state)
{
	(void)state;
	assert_string_equal(cost_text(VERDICT_FALLBACK, 598.4, 28.4, 0),
		"598.4 ns per call, where user space would take about 28.4 ns: "
		"at 100,000 calls/s, 5.7% of one CPU lost.");
	assert_string_equal(cost_text(VERDICT_FALLBACK, 598.4, 28.4, 1),
		"598.4 ns per call, where user space would take about 28.4 ns: "
		"at 1 calls/s, less than 0.1% of one CPU lost.");
}

static void a_loss_beyond_one_cpu_counts_cpus(void **state)
{
	(void)state;
	assert_string_equal(cost_text(VERDICT_FALLBACK, 88679, 100, 100000),
		"88679 ns per call, where user space would take about 100.0 ns: "
		"at 100,000 calls/s, 8.9 CPUs lost; one thread makes at most 11,000 calls/s.");
}

/* The example's rate is none that this host can reach. */
static void no_example_is_beyond_the_possible(void **state)
{
	(void)state;
	assert_string_equal(cost_text(VERDICT_FALLBACK, 88679, 0, 0),
		"88679 ns per call: one thread makes at most 11,000 calls/s.");
}

static void a_healthy_host_compares_both_ways(void **state)
{
	(void)state;
	assert_string_equal(cost_text(VERDICT_OK, 20, 20, 2000000),
		"20.0 ns per call, where a system call would take 600.0 ns: "
		"at 2,000,000 calls/s, 4.0% of one CPU instead of 1.2 CPUs.");
}

static void what_is_not_known_is_not_printed(void **state)
{
	(void)state;
	assert_string_equal(cost_text(VERDICT_UNKNOWN, 0, 0, 1000), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loss_below_one_cpu_is_a_percentage),
		cmocka_unit_test(a_loss_beyond_one_cpu_counts_cpus),
		cmocka_unit_test(no_example_is_beyond_the_possible),
		cmocka_unit_test(a_healthy_host_compares_both_ways),
		cmocka_unit_test(what_is_not_known_is_not_printed),
	};

	return cmocka_run_group_tests_name("phrase", tests, NULL, NULL);
}
