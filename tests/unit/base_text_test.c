/* SPDX-License-Identifier: MIT */
/* Tests of base/text: spans, words, lines and keys of untrusted bytes. */
#include <string.h>

#include "base/parameter.h"
#include "base/text.h"
#include "unit/dice.h"
#include "unit/unit.h"

static void copies_are_whole_or_truncated(void **state)
{
	char to[8], little[4];

	(void)state;
	text_clean(to, sizeof(to), "tsc");
	assert_string_equal(to, "tsc");
	text_clean(to, sizeof(to), "hyperv_");
	assert_string_equal(to, "hyperv_");
	text_clean(to, sizeof(to), "hyperv_c");
	assert_string_equal(to, "hype...");
	text_append(to, sizeof(to), "%s", "");
	assert_string_equal(to, "hype...");
	text_clean(to, sizeof(to), "hyper");
	text_append(to, sizeof(to), "%s", "v_clock");
	assert_string_equal(to, "hype...");
	text_clean(little, sizeof(little), "hyperv");
	assert_string_equal(little, "hyp");
	text_clean(to, 1, "hyperv");
	assert_string_equal(to, "");
}

/* Else a file below /sys or a captured tree could drive the reader's terminal. */
static void control_characters_are_replaced(void **state)
{
	char to[16];
	const char bytes[] = {'a', '\033', '[', 'm', '\0', '\x80', '\xff', '\x7f', '~'};

	(void)state;
	text_clean_span(to, sizeof(to), (struct span){bytes, sizeof(bytes)});
	assert_string_equal(to, "a?[m????~");
}

/* "tsc" is a part of "hyperv_clocksource_tsc_page": a known bug of another checker. */
static void whole_words_are_not_parts_of_words(void **state)
{
	struct span page = text_span("hyperv_clocksource_tsc_page");

	(void)state;
	assert_true(text_contains(page, "tsc"));
	assert_false(text_equals(page, "tsc"));
	assert_false(text_equals(text_span("tsc"), "tsc-early"));
	assert_true(text_equals(text_span("tsc"), "tsc"));
	assert_true(text_starts(page, "hyperv"));
	assert_false(text_starts(text_span("hyp"), "hyperv"));
	assert_false(text_contains((struct span){"tsc", 2}, "tsc"));
	assert_false(text_take_prefix(&page, "tsc"));
	assert_true(text_take_prefix(&page, "hyperv_") && text_starts(page, "clocksource"));
	assert_false(text_take_suffix(&page, "hyperv_clocksource_tsc_page"));
	assert_true(text_take_suffix(&page, "_tsc_page") && text_equals(page, "clocksource"));
}

static void blanks_and_nul_are_trimmed(void **state)
{
	const char raw[] = " \t\r\n\0m5.metal \n\0";
	struct span trimmed = text_trim((struct span){raw, sizeof(raw) - 1});

	(void)state;
	assert_true(text_equals(trimmed, "m5.metal"));
	assert_int_equal(text_trim(text_span(" \n")).length, 0);
	assert_int_equal(text_trim((struct span){"", 0}).length, 0);
}

static void words_come_one_by_one(void **state)
{
	struct span rest = text_span("  tsc\thpet \n acpi_pm ");
	struct span word;

	(void)state;
	assert_true(text_next_word(&rest, &word));
	assert_true(text_equals(word, "tsc"));
	assert_true(text_next_word(&rest, &word));
	assert_true(text_equals(word, "hpet"));
	assert_true(text_next_word(&rest, &word));
	assert_true(text_equals(word, "acpi_pm"));
	assert_false(text_next_word(&rest, &word));
	assert_false(text_next_word(&rest, &word));
}

static void lines_come_one_by_one_with_empty_ones(void **state)
{
	struct span rest = text_span("a b\n\nlast");
	struct span line;

	(void)state;
	assert_true(text_next_line(&rest, &line));
	assert_true(text_equals(line, "a b"));
	assert_true(text_next_line(&rest, &line));
	assert_true(text_equals(line, ""));
	assert_true(text_next_line(&rest, &line));
	assert_true(text_equals(line, "last"));
	assert_false(text_next_line(&rest, &line));
}

static void a_final_newline_makes_no_further_line(void **state)
{
	struct span rest = text_span("one\n");
	struct span line;

	(void)state;
	assert_true(text_next_line(&rest, &line));
	assert_true(text_equals(line, "one"));
	assert_false(text_next_line(&rest, &line));
}

/* Else "cpu MHz" is shown as the CPU's name, or another thread's Seccomp as ours. */
static void values_are_found_by_their_whole_key(void **state)
{
	struct span lines = text_span("cpu MHz\t: 3000\nno colon\ncpu\t\t: POWER9 (raw)\ncpu: b\n");
	struct span value;

	(void)state;
	assert_true(text_find_value(lines, "cpu", &value));
	assert_true(text_equals(value, "POWER9 (raw)"));
	assert_false(text_find_value(lines, "cp", &value));
	assert_false(text_find_value(lines, "no colon", &value));
	assert_false(text_find_value((struct span){"", 0}, "cpu", &value));
}

static void a_value_may_be_empty_or_hold_colons(void **state)
{
	struct span value;

	(void)state;
	assert_true(text_find_value(text_span("a:\nb: c:d"), "a", &value));
	assert_int_equal(value.length, 0);
	assert_true(text_find_value(text_span("a:\nb: c:d"), "b", &value));
	assert_true(text_equals(value, "c:d"));
}

/* Words and lines together lose nothing but what parts them. */
static void no_byte_is_lost_between_words_and_lines(void **state)
{
	static const char letters[] = "ab \t\n\n";
	struct dice dice = dice_start();
	char text[65];

	(void)state;
	for (int round = 0; round < 2000; round++) {
		size_t length = dice_roll(&dice, sizeof(text));
		size_t seen = 0, wanted = 0;
		struct span rest = {text, length}, line, word;

		for (size_t i = 0; i < length; i++) {
			text[i] = letters[dice_roll(&dice, sizeof(letters) - 1)];
			wanted += text[i] == 'a' || text[i] == 'b';
		}
		while (text_next_line(&rest, &line)) {
			assert_null(memchr(line.at, '\n', line.length));
			while (text_next_word(&line, &word))
				seen += word.length;
		}
		assert_int_equal(seen, wanted);
	}
}

static void a_word_is_found_among_words_only(void **state)
{
	(void)state;
	assert_true(text_has_word(text_span("fpu constant_tsc\tnonstop_tsc"), "constant_tsc"));
	assert_false(text_has_word(text_span("fpu constant_tsc_x"), "constant_tsc"));
	assert_false(text_has_word((struct span){NULL, 0}, "constant_tsc"));
}

static void the_front_is_taken_up_to_a_character(void **state)
{
	struct span rest = text_span("6,339,;x");

	(void)state;
	assert_true(text_equals(text_take_until(&rest, ','), "6"));
	assert_true(text_equals(text_take_until(&rest, ','), "339"));
	assert_true(text_equals(text_take_until(&rest, ','), ";x"));
	assert_int_equal(rest.length, 0);
	assert_int_equal(text_take_until(&rest, ',').length, 0);
}

/* C does not allow to add 0 to NULL. clang's sanitizer reports it, gcc's does not. */
static void an_empty_span_may_be_at_null(void **state)
{
	struct span rest = {NULL, 0}, word;
	struct parameter parameter;
	uint64_t count, last;
	double value;

	(void)state;
	assert_null(text_take_until(&rest, ',').at);
	assert_false(text_next_word(&rest, &word));
	assert_false(text_next_line(&rest, &word));
	assert_false(parameter_next(&rest, &parameter));
	assert_null(rest.at);
	assert_null(text_trim(rest).at);
	assert_false(text_find_value(rest, "key", &word));
	assert_false(number_parse_decimal(rest, &value));
	assert_false(number_parse_cpus(rest, &count, &last));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_whole_or_truncated),
		cmocka_unit_test(control_characters_are_replaced),
		cmocka_unit_test(whole_words_are_not_parts_of_words),
		cmocka_unit_test(blanks_and_nul_are_trimmed),
		cmocka_unit_test(words_come_one_by_one),
		cmocka_unit_test(lines_come_one_by_one_with_empty_ones),
		cmocka_unit_test(an_empty_span_may_be_at_null),
		cmocka_unit_test(a_final_newline_makes_no_further_line),
		cmocka_unit_test(values_are_found_by_their_whole_key),
		cmocka_unit_test(a_value_may_be_empty_or_hold_colons),
		cmocka_unit_test(a_word_is_found_among_words_only),
		cmocka_unit_test(the_front_is_taken_up_to_a_character),
		cmocka_unit_test(no_byte_is_lost_between_words_and_lines),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
