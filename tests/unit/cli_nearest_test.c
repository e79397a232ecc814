/* SPDX-License-Identifier: MIT */
/* Tests of cli/nearest: which name a mistyped word is answered with. */
#include <string.h>

#include "cli/driver.h"
#include "unit/unit.h"

static const char *find(const char *word, const char *const *names)
{
	struct nearest nearest = {.word = text_span(word)};

	for (; *names; names++)
		nearest_try(&nearest, *names);
	return nearest.name;
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void a_word_is_misspelt_by_two_edits_or_as_a_part(void **state)
{
	static const struct {
		const char *word, *name;
		bool is;
	} rows[] = {
		{"benhc", "bench", true},
		{"bnch", "bench", true},
		{"bbench", "bench", true},
		{"bencg", "bench", true},
		{"BENCH", "bench", true},
		{"benchmark", "bench", true},
		{"wrap", "warp", true},
		{"wra", "warp", true},
		{"boottim", "boottime", true},
		{"kvm", "kvm-clock", true},
		{"KVM", "kvm-clock", true},
		{"tc", "tsc", true},
		{"be", "benchmark", false},
		{"xxnch", "bench", true},
		{"xxxch", "bench", false},
		{"nope", "tsc", false},
		{"", "tsc", false},
		{"xx", "id", false},
		{"id", "", false},
		{"a word that is longer than any name has a right to be, even an id of a cause",
			"bench", false},
		/* A longest word, and one that is longer by one character. */
		{"012345678901234567890123456789012345678901234567890123456789012",
			"012345678901234567890123456789012345678901234567890123456789013", true},
		{"0123456789012345678901234567890123456789012345678901234567890123",
			"0123456789012345678901234567890123456789012345678901234567890124", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		if ((find(rows[i].word, NAMES(rows[i].name)) != NULL) != rows[i].is)
			fail_msg("'%s', '%s'", rows[i].word, rows[i].name);
	}
}

static void the_nearest_of_several_names_is_chosen(void **state)
{
	(void)state;
	assert_string_equal(find("trcae", NAMES("true", "trace", "tree")), "trace");
	/* Of equally near ones, the first. */
	assert_string_equal(find("clock", NAMES("clock-one", "clock-two")), "clock-one");
	assert_null(find("clock", NAMES("warp", "bench")));
}

/* A word need not end in a zero byte. */
static void the_word_is_a_span(void **state)
{
	struct nearest nearest = {.word = {"vdosXYZ", 4}};

	(void)state;
	nearest_try(&nearest, "vdso");
	assert_string_equal(nearest.name, "vdso");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_is_misspelt_by_two_edits_or_as_a_part),
		cmocka_unit_test(the_nearest_of_several_names_is_chosen),
		cmocka_unit_test(the_word_is_a_span),
	};

	return cmocka_run_group_tests_name("cli_nearest", tests, NULL, NULL);
}
