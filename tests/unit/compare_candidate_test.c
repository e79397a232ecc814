/* SPDX-License-Identifier: MIT */
/* Tests of compare/candidate: whether a clock runs. */
#include <math.h>

#include "compare/model.h"
#include "unit/unit.h"

static void expect_speed(double speed, enum fact_state wanted)
{
	struct fact fact = {0};

	candidate_judge_speed(speed, &fact);
	assert_int_equal(fact.state, wanted);
}

static void a_clock_of_whole_ticks_is_accepted(void **state)
{
	(void)state;
	expect_speed(1, FACT_KNOWN);
	expect_speed(0.83, FACT_KNOWN);
	expect_speed(1.17, FACT_KNOWN);
}

static void a_clock_that_stands_still_or_races_is_rejected(void **state)
{
	(void)state;
	expect_speed(0, FACT_FAILED);
	expect_speed(-1, FACT_FAILED);
	expect_speed(3.34, FACT_FAILED);
	expect_speed(NAN, FACT_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_of_whole_ticks_is_accepted),
		cmocka_unit_test(a_clock_that_stands_still_or_races_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
