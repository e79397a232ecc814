/* SPDX-License-Identifier: MIT */
/* Tests of cli/text: text and commands wrapped at 80 columns, numbers and times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "unit/dice.h"
#include "unit/unit.h"

static char *wrap(const char *label, int indent, const char *text)
{
	char *bytes = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&bytes, &length);

	assert_non_null(out);
	wrap_print(out, label, indent, text);
	fclose(out);
	return bytes;
}

static void assert_wrapped(const char *label, int indent, const char *text, const char *wanted)
{
	char *bytes = wrap(label, indent, text);

	assert_string_equal(bytes, wanted);
	free(bytes);
}

static void short_text_stays_beside_its_label(void **state)
{
	(void)state;
	assert_wrapped("Why", 9, "so it is", "  Why    so it is\n");
	assert_wrapped("", 9, "so it is", "         so it is\n");
	assert_wrapped("proof", 16, "", "  proof         \n");
}

#define TEN "1234567890"
#define FORTY TEN TEN TEN TEN

/* Eighty columns fit; the eighty-first does not. */
static void a_line_is_filled_to_the_last_column(void **state)
{
	(void)state;
	assert_wrapped("", 10, FORTY " " TEN TEN "123456789",
		"          " FORTY " " TEN TEN "123456789\n");
	assert_wrapped(
		"", 10, FORTY " " TEN TEN TEN, "          " FORTY "\n          " TEN TEN TEN "\n");
}

static void a_word_longer_than_a_line_stays_whole(void **state)
{
	(void)state;
	assert_wrapped("", 4, "a " FORTY FORTY TEN " b", "    a\n    " FORTY FORTY TEN "\n    b\n");
}

static void text_may_continue_a_line(void **state)
{
	char *bytes = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&bytes, &length);

	(void)state;
	assert_non_null(out);
	fputs("OK: ", out);
	wrap_text(out, 4, 4, FORTY " " TEN TEN TEN " " TEN);
	fclose(out);
	assert_string_equal(bytes, "OK: " FORTY " " TEN TEN TEN "\n    " TEN "\n");
	free(bytes);
}

static void roll_text(struct dice *dice, char *text, size_t words, size_t longest)
{
	char *at = text;

	for (size_t i = 0; i < words; i++) {
		size_t length = dice_roll(dice, longest) + 1;

		memset(at, 'a' + (int)dice_roll(dice, 26), length);
		at += length;
		*at++ = ' ';
	}
	*at = '\0';
}

static void check_lines(const char *bytes, int indent)
{
	for (const char *line = bytes; *line; line = strchr(line, '\n') + 1) {
		const char *end = strchr(line, '\n');

		assert_non_null(end);
		assert_in_range(end - line, 0, wrap_columns());
		assert_true(strspn(line, " ") >= (size_t)indent || line == bytes);
	}
}

/* Words shorter than a line never make one that is longer than the terminal, and none is lost. */
static void no_line_is_too_long_and_no_word_is_lost(void **state)
{
	struct dice dice = dice_start();
	static char text[8192], copy[8192];

	(void)state;
	for (int round = 0; round < 3000; round++) {
		int indent = (int)dice_roll(&dice, 40) + 2;
		char *bytes, *word, *rest = NULL, *other = NULL;

		wrap_set_columns((int)dice_roll(&dice, 140));
		assert_in_range(wrap_columns(), 50, 100);
		roll_text(&dice, text, dice_roll(&dice, 60), (size_t)(wrap_columns() - indent));
		bytes = wrap("", indent, text);
		check_lines(bytes, indent);
		strcpy(copy, text);
		word = strtok_r(copy, " ", &rest);
		for (char *found = strtok_r(bytes, " \n", &other); found || word;
			found = strtok_r(NULL, " \n", &other)) {
			assert_true(found && word);
			assert_string_equal(found, word);
			word = strtok_r(NULL, " ", &rest);
		}
		free(bytes);
	}
	wrap_set_columns(WRAP_COLUMNS);
}

/* What the shell makes of a folded command: a backslash and a line's end are nothing. */
static void a_folded_command_is_the_same_to_a_shell(void **state)
{
	static const char command[] =
		"echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource "
		"&& printf '%s\\n' 'a quoted text of more than one line that no backslash may part: "
		"one two three'";
	char *text = NULL, *line;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	wrap_command(out, 12, 14, command);
	fclose(out);
	assert_non_null(strstr(text, " \\\n"));
	/* Unfold as the shell does, then drop the indent. */
	for (line = strstr(text, "\\\n"); line; line = strstr(line, "\\\n"))
		memmove(line, line + 2 + 14, strlen(line + 2 + 14) + 1);
	assert_int_equal(text[strlen(text) - 1], '\n');
	text[strlen(text) - 1] = '\0';
	assert_string_equal(text, command);
	free(text);
}

/* Each on a line of its own where it fits one, and filled up where it does not. */
static void a_list_of_commands_is_folded_between_them(void **state)
{
	static const char command[] =
		"first --with-an-option && second --with-an-option-of-more-than-forty-characters "
		"&& third --that-is-a-hundred-columns wide,so-that-it-fits-no-line-of-the-screen/"
		"at-all";
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	wrap_command(out, 0, 2, command);
	fclose(out);
	assert_string_equal(text,
		"first --with-an-option && \\\n"
		"  second --with-an-option-of-more-than-forty-characters && third \\\n"
		"  --that-is-a-hundred-columns wide,so-that-it-fits-no-line-of-the-screen/at-all\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_text_stays_beside_its_label),
		cmocka_unit_test(a_line_is_filled_to_the_last_column),
		cmocka_unit_test(a_word_longer_than_a_line_stays_whole),
		cmocka_unit_test(text_may_continue_a_line),
		cmocka_unit_test(no_line_is_too_long_and_no_word_is_lost),
		cmocka_unit_test(a_folded_command_is_the_same_to_a_shell),
		cmocka_unit_test(a_list_of_commands_is_folded_between_them),
	};

	return cmocka_run_group_tests_name("wrap", tests, NULL, NULL);
}
