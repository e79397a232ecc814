/* SPDX-License-Identifier: MIT */
/* measure/statistics, summed up: outliers are left out by rule, and only out of the mean. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "measure/statistics.h"
#include "unit/dice.h"
#include "unit/unit.h"

#define VALUES_MAX 400

static bool is_near(double a, double b, double part)
{
	return fabs(a - b) <= part * fabs(b);
}

static void nothing_sums_up_to_nothing(void **state)
{
	struct statistics_summary summary = statistics_summarise(NULL, 0);

	(void)state;
	assert_int_equal(summary.count, 0);
	assert_false(summary.has_mean);
	assert_true(summary.minimum == 0 && summary.median == 0 && summary.p99 == 0);
}

static void few_values_have_no_mean(void **state)
{
	double values[STATISTICS_MEAN_LEAST] = {5, 4, 3, 6, 7, 5, 4, 6, 5, 5};

	(void)state;
	assert_false(statistics_summarise(values, STATISTICS_MEAN_LEAST - 1).has_mean);
	assert_true(statistics_summarise(values, STATISTICS_MEAN_LEAST).has_mean);
}

static void percentiles_by_hand(void **state)
{
	double ordered[200];

	(void)state;
	for (size_t i = 0; i < COUNT(ordered); i++)
		ordered[i] = (double)(i + 1);
	assert_true(statistics_percentile(ordered, 200, 99) == 198);
	assert_true(statistics_percentile(ordered, 100, 99) == 99);
	assert_true(statistics_percentile(ordered, 10, 99) == 10);
	assert_true(statistics_percentile(ordered, 1, 99) == 1);
	assert_true(statistics_percentile(ordered, 200, 0) == 1);
	assert_true(statistics_percentile(ordered, 200, 100) == 200);
	assert_true(statistics_percentile(ordered, 0, 50) == 0);
}

/* A tick's interrupt must not move the mean, and must be seen in the 99th percentile. */
static void interrupts_are_left_out_of_the_mean_alone(void **state)
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

/* All batches of a clock that is answered in user space may take the same number of ticks. */
static void half_a_tick_is_no_outlier(void **state)
{
	double values[50];
	struct statistics_summary summary;

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++)
		values[i] = i == 3 ? 26.1 : 26;
	summary = statistics_summarise(values, COUNT(values));
	assert_int_equal(summary.outliers, 0);
}

static size_t roll_values(struct dice *dice, double values[VALUES_MAX])
{
	size_t count = dice_roll(dice, VALUES_MAX) + 1;

	for (size_t i = 0; i < count; i++) {
		values[i] = 20 + (double)dice_roll(dice, 1000) / 500;
		if (dice_roll(dice, 40) == 0)
			values[i] *= (double)dice_roll(dice, 100) + 1;
	}
	return count;
}

static void what_it_says_is_in_order(void **state)
{
	struct dice dice = dice_start();
	double values[VALUES_MAX];

	(void)state;
	for (int round = 0; round < 3000; round++) {
		size_t count = roll_values(&dice, values);
		struct statistics_summary summary = statistics_summarise(values, count);

		assert_true(summary.minimum <= summary.median);
		assert_true(summary.median <= summary.p99);
		assert_true(summary.p99 <= values[count - 1]);
		assert_true(summary.outliers < count);
		assert_int_equal(
			summary.has_mean, count - summary.outliers >= STATISTICS_MEAN_LEAST);
		if (summary.has_mean) {
			assert_true(summary.trimmed_mean >= summary.minimum);
			assert_true(summary.trimmed_mean <= statistics_fence(values, count));
		}
	}
}

/* Nanoseconds or ticks: the unit must make no difference. */
static void it_scales(void **state)
{
	struct dice dice = dice_start();
	double values[VALUES_MAX], doubled[VALUES_MAX];

	(void)state;
	for (int round = 0; round < 500; round++) {
		size_t count = roll_values(&dice, values);
		struct statistics_summary a, b;

		for (size_t i = 0; i < count; i++)
			doubled[i] = 2 * values[i];
		a = statistics_summarise(values, count);
		b = statistics_summarise(doubled, count);
		assert_int_equal(a.outliers, b.outliers);
		assert_true(is_near(b.median, 2 * a.median, 1e-12));
		if (a.has_mean)
			assert_true(is_near(b.trimmed_mean, 2 * a.trimmed_mean, 1e-9));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_sums_up_to_nothing),
		cmocka_unit_test(few_values_have_no_mean),
		cmocka_unit_test(percentiles_by_hand),
		cmocka_unit_test(interrupts_are_left_out_of_the_mean_alone),
		cmocka_unit_test(half_a_tick_is_no_outlier),
		cmocka_unit_test(what_it_says_is_in_order),
		cmocka_unit_test(it_scales),
	};

	return cmocka_run_group_tests_name("summary", tests, NULL, NULL);
}
