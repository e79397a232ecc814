/* SPDX-License-Identifier: MIT */
/*
 * Tests of check/describe: times and costs in words. No thread is said to make more calls than fit
 * a second.
 */
#include <string.h>

#include "check/model.h"
#include "unit/unit.h"

static struct real_fact given(double value)
{
	return (struct real_fact){
		.fact.state = value > 0 ? FACT_KNOWN : FACT_ABSENT, .value = value};
}

static struct diagnosis judged(
	enum verdict_kind verdict, double call_ns, double user_ns, double rate)
{
	return (struct diagnosis){.verdict = {.kind = verdict, .summary = "summary."},
		.cost = {.call_ns = given(call_ns),
			.syscall_ns = 600,
			.vdso_ns = given(user_ns),
			.lost_ns = user_ns > 0 ? call_ns - user_ns : 0,
			.rate = given(rate)}};
}

static const char *cost_text(enum verdict_kind verdict, double call_ns, double user_ns, double rate)
{
	struct diagnosis diagnosis = judged(verdict, call_ns, user_ns, rate);
	static struct strbuf sb;

	sb = (struct strbuf){.used = 0};
	check_add_cost(&diagnosis, &sb);
	return sb.text;
}

static void a_loss_below_one_cpu_is_a_percentage(void **state)
{
	(void)state;
	assert_string_equal(cost_text(VERDICT_FALLBACK, 598.4, 28.4, 0),
		"570 ns lost per call: at 100,000 calls/s, 5.7% of one CPU.");
	assert_string_equal(cost_text(VERDICT_FALLBACK, 598.4, 28.4, 1),
		"570 ns lost per call: at 1 calls/s, less than 0.1% of one CPU.");
}

static void a_loss_beyond_one_cpu_counts_cpus(void **state)
{
	(void)state;
	assert_string_equal(cost_text(VERDICT_FALLBACK, 88679, 100, 100000),
		"88,579 ns lost per call: at 100,000 calls/s, 8.9 CPUs; one thread makes at most "
		"11,000 calls/s.");
}

/* The example's rate is none that this host can reach. */
static void no_example_exceeds_what_a_thread_can_call(void **state)
{
	(void)state;
	assert_string_equal(cost_text(VERDICT_FALLBACK, 88679, 0, 0),
		"88,679 ns per call: one thread makes at most 11,000 calls/s.");
}

static void a_healthy_host_has_a_cost_at_a_given_rate_only(void **state)
{
	(void)state;
	assert_string_equal(cost_text(VERDICT_OK, 20, 20, 2000000),
		"20 ns per call: at 2,000,000 calls/s, 4.0% of one CPU; as system calls 1.2 "
		"CPUs.");
	assert_string_equal(cost_text(VERDICT_OK, 20, 20, 0), "");
}

static void unknown_values_are_not_printed(void **state)
{
	(void)state;
	assert_string_equal(cost_text(VERDICT_UNKNOWN, 0, 0, 1000), "");
}

static const char *verdict_text(const struct diagnosis *diagnosis, const char *clocksource)
{
	static struct evidence evidence;
	static struct strbuf sb;

	evidence = (struct evidence){
		.clocksource.current_fact.state = FACT_KNOWN, .host.arch.fact.state = FACT_KNOWN};
	strcpy(evidence.clocksource.current, clocksource);
	strcpy(evidence.host.arch.value, "x86_64");
	sb = (struct strbuf){.used = 0};
	check_add_verdict(diagnosis, &evidence, &sb);
	return sb.text;
}

/* An estimate is no measurement, and where tsc is in use already it would change nothing. */
static void the_verdict_has_the_cost_in_its_sentence(void **state)
{
	struct diagnosis diagnosis = judged(VERDICT_FALLBACK, 1598.4, 28.4, 0);

	(void)state;
	assert_string_equal(verdict_text(&diagnosis, "xen"),
		"summary: 1,598 ns per call; the vDSO would take about 28 ns.");
	diagnosis.cost.measured = true;
	assert_string_equal(verdict_text(&diagnosis, "xen"),
		"summary: 1,598 ns per call; tsc would take 28 ns (measured on a copy of the "
		"vDSO).");
	assert_string_equal(verdict_text(&diagnosis, "tsc"),
		"summary: 1,598 ns per call; the vDSO would take 28 ns (measured on a copy of the "
		"vDSO).");
	diagnosis.cost.vdso_ns.fact.state = FACT_ABSENT;
	diagnosis.cost.lost_ns = 0;
	assert_string_equal(verdict_text(&diagnosis, "xen"),
		"summary: 1,598 ns per call; the vDSO would be no faster: reading the counter takes 28 ns "
		"(measured on a copy of the vDSO).");
	diagnosis.cost.measured = false;
	assert_string_equal(verdict_text(&diagnosis, "xen"), "summary: 1,598 ns per call.");
	diagnosis = judged(VERDICT_OK, 9.54, 9.54, 0);
	assert_string_equal(verdict_text(&diagnosis, "tsc"),
		"summary: 9.5 ns per call; a system call takes 600 ns.");
	diagnosis = judged(VERDICT_UNKNOWN, 0, 0, 0);
	assert_string_equal(verdict_text(&diagnosis, "tsc"), "summary.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loss_below_one_cpu_is_a_percentage),
		cmocka_unit_test(a_loss_beyond_one_cpu_counts_cpus),
		cmocka_unit_test(no_example_exceeds_what_a_thread_can_call),
		cmocka_unit_test(a_healthy_host_has_a_cost_at_a_given_rate_only),
		cmocka_unit_test(unknown_values_are_not_printed),
		cmocka_unit_test(the_verdict_has_the_cost_in_its_sentence),
	};

	return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
