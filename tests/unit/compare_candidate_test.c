/* SPDX-License-Identifier: MIT */
/* Tests of compare/candidate: whether a clock runs, and the CPUs that read a device. */
#include "compare/model.h"
#include "unit/unit.h"

static void one_wrong_window_does_not_reject_a_clock(void **state)
{
	static const double ratios[][SPEED_WINDOWS] = {
		{1, 1, 1, 1, 1}, {3.34, 1, 1, 1, 1}, {0, 1, 0, 1, 1}, {1, 7, 0, 1.01, 0.99}};
	struct fact fact = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(ratios); i++) {
		candidate_judge_speed(ratios[i], &fact);
		assert_int_equal(fact.state, FACT_KNOWN);
	}
}

static void windows_that_agree_reject_a_clock(void **state)
{
	static const double ratios[][SPEED_WINDOWS] = {
		{0, 0, 0, 0, 0}, {0, 1, 0, 1, 0}, {3, 1, 3, 3, 1}};
	struct fact fact = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(ratios); i++) {
		candidate_judge_speed(ratios[i], &fact);
		assert_int_equal(fact.state, FACT_FAILED);
	}
}

static void devices_are_read_from_few_cpus_of_many(void **state)
{
	(void)state;
	assert_int_equal(candidate_warp_cpus("hpet", 32), 32);
	assert_int_equal(candidate_warp_cpus("hpet", 33), 4);
	assert_int_equal(candidate_warp_cpus("acpi_pm", 256), 4);
	assert_int_equal(candidate_warp_cpus("tsc", 256), 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_wrong_window_does_not_reject_a_clock),
		cmocka_unit_test(windows_that_agree_reject_a_clock),
		cmocka_unit_test(devices_are_read_from_few_cpus_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
