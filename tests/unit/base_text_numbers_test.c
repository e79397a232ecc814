/* SPDX-License-Identifier: MIT */
/* Tests of the numbers in base/text: strict parsing, and what is printed. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "unit/dice.h"
#include "unit/unit.h"

static void the_whole_range_is_accepted(void **state)
{
	uint64_t value = 1;

	(void)state;
	assert_true(number_parse(text_span("0"), &value));
	assert_int_equal(value, 0);
	assert_true(number_parse(text_span("18446744073709551615"), &value));
	assert_true(value == UINT64_MAX);
	assert_true(number_parse(text_span("007"), &value));
	assert_int_equal(value, 7);
	assert_true(number_parse_hex(text_span("ffffffffff5ff000"), &value));
	assert_true(value == 0xffffffffff5ff000U);
	assert_true(number_parse_hex(text_span("FfFf"), &value));
	assert_int_equal(value, 0xffff);
}

/* Half a number believed is worse than none. */
static void anything_else_is_refused_and_leaves_the_value(void **state)
{
	static const char *const bad[] = {"", " 1", "1 ", "-1", "+1", "0x10", "1.5", "12a",
		"18446744073709551616", "99999999999999999999999", "1\n", "g"};
	uint64_t value = 42;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(number_parse(text_span(bad[i]), &value));
	assert_int_equal(value, 42);
}

static void lists_of_cpus_rise(void **state)
{
	static const struct {
		const char *text;
		uint64_t count, last;
	} lists[] = {
		{"0", 1, 0},
		{"0-1,4", 3, 4},
		{"7", 1, 7},
		{"0,2,4-5,1023", 5, 1023},
		{"2147483646", 1, INT32_MAX - 1},
		{"", 0, 0},
		{",", 0, 0},
		{"0-1,,4", 0, 0},
		{"0-1 4", 0, 0},
		{"4,0-1", 0, 0},
		{"0-1,1", 0, 0},
		{"5-5", 1, 5},
		{"3-1", 0, 0},
		{"-", 0, 0},
		{"1-", 0, 0},
		{"-1", 0, 0},
		{"1-2-3", 0, 0},
		{" 1-2", 0, 0},
		{"1 -2", 0, 0},
		{"0-18446744073709551616", 0, 0},
		{"0-2147483647", 0, 0},
		{"0,0-18446744073709551615", 0, 0},
		{"0\n1", 0, 0},
		{"all", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lists); i++) {
		uint64_t count = 0, last = 0;

		assert_int_equal(number_parse_cpus(text_span(lists[i].text), &count, &last),
			lists[i].count > 0);
		assert_int_equal(count, lists[i].count);
		assert_int_equal(last, lists[i].last);
	}
}

static void decimals_have_up_to_nine_digits_after_the_point(void **state)
{
	static const char *const bad[] = {"", ".", "1.", "1.5.5", "1..5", "-1.5", "1. 5", "1.5e3",
		"1.0000000001", "18446744073709551616", "inf", "nan"};
	static const struct {
		const char *text;
		double value;
	} rows[] = {{"0", 0}, {"12", 12}, {"0.5", 0.5}, {".25", 0.25}, {"2099.990", 2099.99},
		{"0.000000001", 1e-9}};
	double value;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_true(number_parse_decimal(text_span(rows[i].text), &value));
		assert_true(value == rows[i].value);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(number_parse_decimal(text_span(bad[i]), &value));
	assert_true(value == 1e-9);
}

static void invalid_hexadecimal_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "0x10", "10000000000000000", "fg", "f ", "-f", "@", "`", "G"};
	uint64_t value = 42;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(number_parse_hex(text_span(bad[i]), &value));
	assert_int_equal(value, 42);
}

static void what_was_printed_is_read_back(void **state)
{
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 5000; round++) {
		uint64_t wanted = dice_word(&dice) >> dice_roll(&dice, 64);
		uint64_t value = 0;
		char text[32];

		snprintf(text, sizeof(text), "%" PRIu64, wanted);
		assert_true(number_parse(text_span(text), &value));
		assert_true(value == wanted);
		snprintf(text, sizeof(text), "%" PRIx64, wanted);
		assert_true(number_parse_hex(text_span(text), &value));
		assert_true(value == wanted);
	}
}

static void counts_have_thousands_separators(void **state)
{
	static const struct {
		uint64_t count;
		const char *text;
	} rows[] = {{0, "0"}, {7, "7"}, {999, "999"}, {1000, "1,000"}, {6000, "6,000"},
		{100000, "100,000"}, {1234567, "1,234,567"},
		{UINT64_MAX, "18,446,744,073,709,551,615"}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(as_count(rows[i].count), rows[i].text);
}

/* The table's columns are nine wide. */
static void times_take_seven_characters_at_most(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} rows[] = {{0, "0.0"}, {3.74, "3.7"}, {25.96, "26.0"}, {999.94, "999.9"},
		{999.95, "1,000"}, {12345.6, "12,346"}, {999999.4, "999,999"}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_string_equal(as_ns(rows[i].ns), rows[i].text);
		assert_in_range(strlen(as_ns(rows[i].ns)), 1, 7);
	}
}

static void rates_are_in_mhz_with_separated_thousands(void **state)
{
	static const struct {
		double hz;
		const char *text;
	} rows[] = {{2445404144, "2,445.404"}, {24999999.96, "25.000"}, {62500000, "62.500"},
		{0, "0.000"}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(as_mhz(rows[i].hz), rows[i].text);
}

static void ages_are_given_in_the_unit_that_fits(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} rows[] = {{0, "0.0 s"}, {1.0349, "1.0 s"}, {99.6, "100 s"}, {412.1, "6.9 minutes"},
		{8996, "2.5 hours"}, {86400.2, "24 hours"}, {335323.7, "3.9 days"},
		{1e7, "116 days"}, {1e300, NULL}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *text = as_age(rows[i].seconds);

		assert_in_range(strlen(text), 1, AS_SIZE - 1);
		if (rows[i].text)
			assert_string_equal(text, rows[i].text);
	}
}

static void differences_of_clocks_have_a_direction(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {{0, "different"}, {1, "1 ns ahead"}, {-999, "999 ns behind"},
		{-50012, "50.0 us behind"}, {2300000, "2.30 ms ahead"},
		{1000000120, "1.00 s ahead"}, {-99000000000, "99.0 s behind"},
		{-3600000000000, "60 minutes behind"}, {1795250000000000000, "20778 days ahead"},
		{INT64_MIN, "106752 days behind"}, {INT64_MAX, "106752 days ahead"}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(as_ahead(rows[i].ns), rows[i].text);
}

static void times_have_at_most_three_digits(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} rows[] = {{1.2174, "1.22 s"}, {0.0342, "34.2 ms"}, {0.00087, "870 us"},
		{1.3e-7, "130 ns"}, {5e-9, "5 ns"}, {0.99999, "1.00 s"}, {9.996e-3, "10.0 ms"},
		{0, "0.00 s"}, {250, "250 s"}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(as_seconds(rows[i].seconds), rows[i].text);
}

static void large_counts_have_at_most_six_characters(void **state)
{
	static const struct {
		double count;
		const char *text;
	} rows[] = {{0, "0"}, {99999.4, "99,999"}, {99999.6, "100 k"}, {999499, "999 k"},
		{999501, "1.00 M"}, {12345678, "12.3 M"}, {1e20, "100 E"}, {NAN, ""}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(as_short(rows[i].count), rows[i].text);
}

static void a_call_is_named_with_its_clock(void **state)
{
	(void)state;
	assert_string_equal(as_call("gettimeofday", ""), "gettimeofday");
	assert_string_equal(as_call("clock_gettime", "CLOCK_TAI"), "clock_gettime TAI");
	assert_string_equal(as_call("clock_gettime", "7"), "clock_gettime 7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_cpus_rise),
		cmocka_unit_test(the_whole_range_is_accepted),
		cmocka_unit_test(anything_else_is_refused_and_leaves_the_value),
		cmocka_unit_test(decimals_have_up_to_nine_digits_after_the_point),
		cmocka_unit_test(invalid_hexadecimal_is_refused),
		cmocka_unit_test(counts_have_thousands_separators),
		cmocka_unit_test(times_take_seven_characters_at_most),
		cmocka_unit_test(differences_of_clocks_have_a_direction),
		cmocka_unit_test(rates_are_in_mhz_with_separated_thousands),
		cmocka_unit_test(ages_are_given_in_the_unit_that_fits),
		cmocka_unit_test(what_was_printed_is_read_back),
		cmocka_unit_test(times_have_at_most_three_digits),
		cmocka_unit_test(large_counts_have_at_most_six_characters),
		cmocka_unit_test(a_call_is_named_with_its_clock),
	};

	return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
