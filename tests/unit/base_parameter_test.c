/* SPDX-License-Identifier: MIT */
/* Tests of base/parameter: a kernel command line is taken apart as the kernel does it. */
#include <string.h>

#include "base/parameter.h"
#include "unit/dice.h"
#include "unit/unit.h"

static void assert_words(const char *line, const char *wanted)
{
	struct span rest = text_span(line);
	struct parameter parameter;
	char words[256] = "";

	while (parameter_next(&rest, &parameter)) {
		char name[64], value[64];

		text_clean_span(name, sizeof(name), parameter.name);
		text_clean_span(value, sizeof(value), parameter.value);
		text_append(words, sizeof(words), "[%s%s%s]", name, parameter.has_value ? "|" : "",
			value);
	}
	assert_string_equal(words, wanted);
}

/* Expected by next_arg() of lib/cmdline.c and parse_args() of kernel/params.c. */
static void words_are_those_of_the_kernel(void **state)
{
	(void)state;
	assert_words("", "");
	assert_words(" \t quiet  tsc=reliable\n", "[quiet][tsc|reliable]");
	assert_words("a= =b c==d", "[a|][=b][c|=d]");
	assert_words("dyndbg=\"file a.c notsc\" ro", "[dyndbg|file a.c notsc][ro]");
	assert_words("\"tsc=unstable x\" ro", "[tsc|unstable x][ro]");
	assert_words("ro -- notsc", "[ro]");
	assert_words("ro --x notsc", "[ro][--x][notsc]");
	assert_words("a=\"open notsc", "[a|open notsc]");
}

static void assert_is(const char *word, const char *name, bool is)
{
	struct span line = text_span(word);
	struct parameter parameter;

	assert_true(parameter_next(&line, &parameter));
	assert_int_equal(parameter_is(&parameter, name), is);
}

static void each_is_matched_as_it_is_registered(void **state)
{
	(void)state;
	assert_is("notsc", "notsc", true);
	assert_is("notsc=0", "notsc", true);
	assert_is("notscx", "notsc", true);
	assert_is("nots", "notsc", false);
	assert_is("xotsc", "notsc", false);
	assert_is("tsc", "tsc", false);
	assert_is("tsc=", "tsc", true);
	assert_is("tsc_early_khz=1", "tsc", false);
	assert_is("tsc-early-khz=1", "tsc_early_khz", true);
	assert_is("no_kvmclock=x", "no-kvmclock", true);
	assert_is("no-kvmclock-vsyscall", "no-kvmclock", false);
	assert_is("acpi_osi=Linux", "acpi", false);
	assert_is("quiet", "quiet", false);
}

/* Whatever the bytes, each word is inside of the line, and the next one is behind it. */
static void any_line_is_taken_apart_to_its_end(void **state)
{
	static const char bytes[] = "ab=\" -\t\n";
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 3000; round++) {
		char line[40];
		size_t length = dice_roll(&dice, sizeof(line) + 1);
		struct span rest = {line, length};
		const char *last = line;
		struct parameter parameter;

		for (size_t i = 0; i < length; i++)
			line[i] = bytes[dice_roll(&dice, sizeof(bytes))];
		while (parameter_next(&rest, &parameter)) {
			assert_true(parameter.word.length && parameter.word.at >= last);
			assert_true(rest.at + rest.length == line + length);
			assert_true(parameter.name.at >= parameter.word.at);
			last = parameter.word.at + parameter.word.length;
			assert_true(last <= line + length && last == rest.at);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_those_of_the_kernel),
		cmocka_unit_test(each_is_matched_as_it_is_registered),
		cmocka_unit_test(any_line_is_taken_apart_to_its_end),
	};

	return cmocka_run_group_tests_name("parameter", tests, NULL, NULL);
}
