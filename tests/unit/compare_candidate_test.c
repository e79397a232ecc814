/* SPDX-License-Identifier: MIT */
/* Tests of compare/candidate: whether a clock runs. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_wrong_window_does_not_reject_a_clock),
		cmocka_unit_test(windows_that_agree_reject_a_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
