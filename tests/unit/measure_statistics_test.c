/* SPDX-License-Identifier: MIT */
/*
 * measure/statistics: the minimum, median, mean and percentiles of a series. Outliers are left out
 * of the mean by rule, and only out of the mean.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "measure/sampler.h"
#include "unit/dice.h"
#include "unit/unit.h"

#define VALUES_MAX 64
#define MANY_MAX 400

static void no_values_give_zero(void **state)
{
	double value = 7;

	(void)state;
	assert_true(statistics_median(&value, 0) == 0);
}

static void few_values_give_the_values_by_hand(void **state)
{
	double one[] = {25.9}, two[] = {30, 20}, three[] = {9, 1, 5}, four[] = {4, 1, 3, 2};

	(void)state;
	assert_true(statistics_median(one, 1) == 25.9);
	assert_true(statistics_median(two, 2) == 25);
	assert_true(statistics_median(three, 3) == 5);
	assert_true(statistics_median(four, 4) == 2.5);
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
		assert_true(statistics_median(values, count) == statistics_median(other, count));
	}
}

static bool is_near(double a, double b, double part)
{
	return fabs(a - b) <= part * fabs(b);
}

static void an_empty_series_has_an_empty_summary(void **state)
{
	struct statistics_summary summary = statistics_summarise(NULL, 0);

	(void)state;
	assert_int_equal(summary.count, 0);
	assert_true(isnan(summary.trimmed_mean));
	assert_true(summary.minimum == 0 && summary.median == 0 && summary.p99 == 0);
}

static void few_values_have_no_mean(void **state)
{
	double values[STATISTICS_MEAN_LEAST] = {5, 4, 3, 6, 7, 5, 4, 6, 5, 5};
	struct statistics_summary few = statistics_summarise(values, STATISTICS_MEAN_LEAST - 1);
	struct statistics_summary enough = statistics_summarise(values, STATISTICS_MEAN_LEAST);

	(void)state;
	assert_true(isnan(few.trimmed_mean));
	assert_true(!isnan(enough.trimmed_mean));
}

static void the_99th_percentile_is_that_by_hand(void **state)
{
	double ordered[200];

	(void)state;
	for (size_t i = 0; i < COUNT(ordered); i++)
		ordered[i] = (double)(i + 1);
	assert_true(statistics_summarise(ordered, 200).p99 == 198);
	assert_true(statistics_summarise(ordered, 100).p99 == 99);
	assert_true(statistics_summarise(ordered, 10).p99 == 10);
	assert_true(statistics_summarise(ordered, 1).p99 == 1);
}

/* A tick's interrupt must not move the mean, and must be seen in the 99th percentile. */
static void outliers_are_left_out_of_the_mean_only(void **state)
{
	double values[100];
	struct statistics_summary summary;

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++)
		values[i] = i % 50 == 7 ? 90 : 26 + 0.01 * (double)(i % 10);
	summary = statistics_summarise(values, COUNT(values));
	assert_int_equal(summary.outliers, 2);
	assert_true(is_near(summary.trimmed_mean, 26.045, 0.001));
	assert_true(summary.p99 == 90);
	assert_true(summary.minimum == 26);
	assert_int_equal(summary.count, COUNT(values));
}

/* All batches of a call that the vDSO serves may take the same number of ticks. */
static void half_a_tick_is_not_an_outlier(void **state)
{
	double values[50];
	struct statistics_summary summary;

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++)
		values[i] = i == 3 ? 26.1 : 26;
	summary = statistics_summarise(values, COUNT(values));
	assert_int_equal(summary.outliers, 0);
}

static size_t roll_with_outliers(struct dice *dice, double values[MANY_MAX])
{
	size_t count = dice_roll(dice, MANY_MAX) + 1;

	for (size_t i = 0; i < count; i++) {
		values[i] = 20 + (double)dice_roll(dice, 1000) / 500;
		if (dice_roll(dice, 40) == 0)
			values[i] *= (double)dice_roll(dice, 100) + 1;
	}
	return count;
}

static void minimum_median_and_p99_are_in_order(void **state)
{
	struct dice dice = dice_start();
	double values[MANY_MAX];

	(void)state;
	for (int round = 0; round < 3000; round++) {
		size_t count = roll_with_outliers(&dice, values);
		struct statistics_summary summary = statistics_summarise(values, count);

		assert_true(summary.minimum <= summary.median);
		assert_true(summary.median <= summary.p99);
		assert_true(summary.p99 <= values[count - 1]);
		assert_true(summary.outliers < count);
		assert_int_equal(!isnan(summary.trimmed_mean),
			count - summary.outliers >= STATISTICS_MEAN_LEAST);
		if (!isnan(summary.trimmed_mean)) {
			assert_true(summary.trimmed_mean >= summary.minimum);
			assert_true(summary.trimmed_mean <= values[count - summary.outliers - 1]);
		}
	}
}

/* Nanoseconds or ticks: the unit must make no difference. */
static void the_unit_does_not_matter(void **state)
{
	struct dice dice = dice_start();
	double values[MANY_MAX], doubled[MANY_MAX];

	(void)state;
	for (int round = 0; round < 500; round++) {
		size_t count = roll_with_outliers(&dice, values);
		struct statistics_summary a, b;

		for (size_t i = 0; i < count; i++)
			doubled[i] = 2 * values[i];
		a = statistics_summarise(values, count);
		b = statistics_summarise(doubled, count);
		assert_int_equal(a.outliers, b.outliers);
		assert_true(is_near(b.median, 2 * a.median, 1e-12));
		if (!isnan(a.trimmed_mean))
			assert_true(is_near(b.trimmed_mean, 2 * a.trimmed_mean, 1e-9));
	}
}

static void nanoseconds_are_rounded_to_tenths(void **state)
{
	(void)state;
	assert_true(is_near(statistics_in_tenths(27.46), 27.5, 1e-12));
	assert_true(is_near(statistics_in_tenths(27.44), 27.4, 1e-12));
	assert_true(statistics_in_tenths(0.04) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_values_give_zero),
		cmocka_unit_test(few_values_give_the_values_by_hand),
		cmocka_unit_test(an_outlier_does_not_move_the_median),
		cmocka_unit_test(half_of_the_values_are_on_each_side_of_the_median),
		cmocka_unit_test(the_order_of_the_values_does_not_matter),
		cmocka_unit_test(an_empty_series_has_an_empty_summary),
		cmocka_unit_test(few_values_have_no_mean),
		cmocka_unit_test(the_99th_percentile_is_that_by_hand),
		cmocka_unit_test(outliers_are_left_out_of_the_mean_only),
		cmocka_unit_test(half_a_tick_is_not_an_outlier),
		cmocka_unit_test(minimum_median_and_p99_are_in_order),
		cmocka_unit_test(the_unit_does_not_matter),
		cmocka_unit_test(nanoseconds_are_rounded_to_tenths),
	};

	return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}
