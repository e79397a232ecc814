/* SPDX-License-Identifier: MIT */
/* measure/statistics: every number in the report's table goes through it. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "measure/statistics.h"
#include "unit/dice.h"
#include "unit/unit.h"

#define VALUES_MAX 64

static void of_nothing_it_says_zero(void **state)
{
	double value = 7;

	(void)state;
	assert_true(statistics_minimum(&value, 0) == 0);
	assert_true(statistics_median(&value, 0) == 0);
}

static void few_values_by_hand(void **state)
{
	double one[] = {25.9}, two[] = {30, 20}, three[] = {9, 1, 5}, four[] = {4, 1, 3, 2};

	(void)state;
	assert_true(statistics_minimum(one, 1) == 25.9);
	assert_true(statistics_median(one, 1) == 25.9);
	assert_true(statistics_minimum(two, 2) == 20);
	assert_true(statistics_median(two, 2) == 25);
	assert_true(statistics_median(three, 3) == 5);
	assert_true(statistics_median(four, 4) == 2.5);
	assert_true(statistics_minimum(three, 3) == 1);
}

/* One batch that was interrupted for a second must not show in the median. */
static void an_outlier_does_not_move_the_median(void **state)
{
	double values[] = {26, 26, 1e9, 26, 25, 27, 26};

	(void)state;
	assert_true(statistics_median(values, COUNT(values)) == 26);
}

static size_t roll_values(struct dice *dice, double values[VALUES_MAX])
{
	size_t count = dice_roll(dice, VALUES_MAX) + 1;
	size_t span = dice_roll(dice, 1000) + 1;

	for (size_t i = 0; i < count; i++)
		values[i] = (double)dice_roll(dice, span) / 8 - 10;
	return count;
}

static void the_minimum_is_a_value_and_none_is_less(void **state)
{
	struct dice dice = dice_start();
	double values[VALUES_MAX];

	(void)state;
	for (int round = 0; round < 5000; round++) {
		size_t count = roll_values(&dice, values);
		double least = statistics_minimum(values, count);
		bool found = false;

		for (size_t i = 0; i < count; i++) {
			assert_true(values[i] >= least);
			found |= values[i] == least;
		}
		assert_true(found);
	}
}

static void half_of_the_values_are_on_each_side_of_the_median(void **state)
{
	struct dice dice = dice_start();
	double values[VALUES_MAX];

	(void)state;
	for (int round = 0; round < 5000; round++) {
		size_t count = roll_values(&dice, values);
		double median = statistics_median(values, count);
		size_t not_above = 0, not_below = 0;

		for (size_t i = 0; i < count; i++) {
			not_above += values[i] <= median;
			not_below += values[i] >= median;
		}
		assert_true(not_above * 2 >= count && not_below * 2 >= count);
		assert_true(median >= statistics_minimum(values, count));
	}
}

static void the_order_of_the_values_does_not_matter(void **state)
{
	struct dice dice = dice_start();
	double values[VALUES_MAX], other[VALUES_MAX];

	(void)state;
	for (int round = 0; round < 5000; round++) {
		size_t count = roll_values(&dice, values);

		for (size_t i = 0; i < count; i++)
			other[i] = values[count - 1 - i];
		assert_true(statistics_minimum(values, count) == statistics_minimum(other, count));
		assert_true(statistics_median(values, count) == statistics_median(other, count));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_nothing_it_says_zero),
		cmocka_unit_test(few_values_by_hand),
		cmocka_unit_test(an_outlier_does_not_move_the_median),
		cmocka_unit_test(the_minimum_is_a_value_and_none_is_less),
		cmocka_unit_test(half_of_the_values_are_on_each_side_of_the_median),
		cmocka_unit_test(the_order_of_the_values_does_not_matter),
	};

	return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}
