/* SPDX-License-Identifier: MIT */
/* Tests of cli/parse: counts, durations and lists; "5M" is five million, and "5 M" is refused. */
#include <limits.h>
#include <string.h>

#include "cli/driver.h"
#include "unit/dice.h"
#include "unit/unit.h"

#define MS INT64_C(1000000)
#define S (1000 * MS)

static void valid_counts_are_accepted(void **state)
{
	static const struct {
		const char *text;
		uint64_t count;
	} rows[] = {
		{"1", 1},
		{"5M", 5000000},
		{"500M", 500000000},
		{"2k", 2000},
		{"1G", 1000000000},
		{"1000G", 1000000000000},
		{"1000000000000", 1000000000000},
		{"007", 7},
		{"1.5M", 1500000},
		{"0.001k", 1},
		{"20.0", 20},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t count = 0;

		assert_true(parse_count(text_span(rows[i].text), &count));
		assert_int_equal(count, rows[i].count);
	}
}

static void invalid_counts_are_refused(void **state)
{
	static const char *const rows[] = {"", "0", "0M", "M", "-1", "+1", "5t", "5MM", "5 M", " 5",
		"5 ", "5.5", "0.5", "1.0005k", "485K", "5m", "2g", "5e6", "1001G", "1000000000001",
		"18446744073709551616", "1e", "e6", "1e6k", "1e13", "1e99999", "1e-3", "1e6e6",
		"0x10", "99999999999999999999G"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t count = 77;

		assert_false(parse_count(text_span(rows[i]), &count));
		assert_int_equal(count, 77);
	}
}

static void valid_times_are_accepted(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{"2s", 2 * S},
		{"2", 2 * S},
		{"500ms", 500 * MS},
		{"10ms", 10 * MS},
		{"0.5s", S / 2},
		{".5s", S / 2},
		{".5", S / 2},
		{"0.01", 10 * MS},
		{"10000us", 10 * MS},
		{"10000000ns", 10 * MS},
		{"1m", 60 * S},
		{"24h", 86400 * S},
		{"1.5h", 5400 * S},
		{"0.25m", 15 * S},
		{"86400", 86400 * S},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t ns = 0;

		assert_true(parse_duration(text_span(rows[i].text), &ns));
		assert_int_equal(ns, rows[i].ns);
	}
}

static void invalid_times_are_refused(void **state)
{
	static const char *const rows[] = {"", "s", "ms", "0", "0s", "9ms", "0.009s", "25h",
		"24.1h", "2x", "2 s", "2S", "-1s", "+1s", "1.s", ".", ".s", "..5", "1..5s",
		"1.5.5s", "1e3s", "us", "9999us", "2M", "2k", "99999999999999999999s",
		"1.0000000001s", "86401"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t ns = 77;

		assert_false(parse_duration(text_span(rows[i]), &ns));
		assert_int_equal(ns, 77);
	}
}

static void lists_are_split_at_commas(void **state)
{
	struct span list = text_span("5M,,50M,");
	struct span word;

	(void)state;
	assert_true(parse_next(&list, &word) && text_equals(word, "5M"));
	assert_true(parse_next(&list, &word) && text_equals(word, ""));
	assert_true(parse_next(&list, &word) && text_equals(word, "50M"));
	assert_true(parse_next(&list, &word) && text_equals(word, ""));
	assert_false(parse_next(&list, &word));
}

static void an_empty_list_is_one_empty_word(void **state)
{
	struct span list = text_span("");
	struct span word;

	(void)state;
	assert_true(parse_next(&list, &word) && text_equals(word, ""));
	assert_false(parse_next(&list, &word));
}

/* Whatever bytes come: no crash, and what is accepted is within the bounds. */
static void any_bytes_are_parsed_safely(void **state)
{
	static const char bytes[] = "0123456789.kMGmsh, -+x";
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 100000; round++) {
		char text[12];
		size_t length = dice_roll(&dice, sizeof(text));
		uint64_t count = 1;
		int64_t ns = 10 * MS;

		for (size_t i = 0; i < length; i++)
			text[i] = bytes[dice_roll(&dice, sizeof(bytes) - 1)];
		parse_count((struct span){text, length}, &count);
		assert_in_range(count, 1, 1000000000000);
		parse_duration((struct span){text, length}, &ns);
		assert_in_range(ns, 10 * MS, 86400 * S);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_counts_are_accepted),
		cmocka_unit_test(invalid_counts_are_refused),
		cmocka_unit_test(valid_times_are_accepted),
		cmocka_unit_test(invalid_times_are_refused),
		cmocka_unit_test(lists_are_split_at_commas),
		cmocka_unit_test(an_empty_list_is_one_empty_word),
		cmocka_unit_test(any_bytes_are_parsed_safely),
	};

	return cmocka_run_group_tests_name("cli_parse", tests, NULL, NULL);
}
