/* SPDX-License-Identifier: MIT */
/* Tests of collect/clocksource: the current clocksource and the available ones. */
#include <string.h>
#include <sys/stat.h>

#include "collect.h"
#include "unit/fake_root.h"
#include "unit/unit.h"

#define DIRECTORY "/sys/devices/system/clocksource/clocksource0/"
#define CURRENT DIRECTORY "current_clocksource"
#define AVAILABLE DIRECTORY "available_clocksource"

static struct clocksource_evidence collect(
	const struct fake_root *fake, const char *current, const char *available)
{
	struct clocksource_evidence found = {0};

	if (current)
		fake_root_add(fake, CURRENT, current);
	if (available)
		fake_root_add(fake, AVAILABLE, available);
	clocksource_collect(&fake->root, &found);
	return found;
}

/* As the kernel writes them: a trailing blank after the list. */
static void names_are_whole_tokens_in_order(void **state)
{
	struct clocksource_evidence found = collect(*state, "hyperv_clocksource_tsc_page\n",
		"hyperv_clocksource_tsc_page tsc-early hyperv_clocksource_msr acpi_pm \n");

	assert_true(fact_is_known(&found.current_fact));
	assert_string_equal(found.current, "hyperv_clocksource_tsc_page");
	assert_true(fact_is_known(&found.available_fact));
	assert_int_equal(found.available_count, 4);
	assert_string_equal(found.available[0], "hyperv_clocksource_tsc_page");
	assert_string_equal(found.available[1], "tsc-early");
	assert_string_equal(found.available[3], "acpi_pm");
}

static void a_lone_name_without_newline_will_do(void **state)
{
	struct clocksource_evidence found = collect(*state, "tsc", "tsc");

	assert_string_equal(found.current, "tsc");
	assert_int_equal(found.available_count, 1);
}

static void empty_files_are_failures(void **state)
{
	struct clocksource_evidence found = collect(*state, "\n", " \n");

	assert_int_equal(found.current_fact.state, FACT_FAILED);
	assert_non_null(strstr(found.current_fact.reason, CURRENT));
	assert_int_equal(found.available_fact.state, FACT_FAILED);
	assert_int_equal(found.available_count, 0);
}

static void two_current_names_are_a_failure(void **state)
{
	struct clocksource_evidence found = collect(*state, "tsc hpet\n", "tsc \n");

	assert_int_equal(found.current_fact.state, FACT_FAILED);
	assert_true(fact_is_known(&found.available_fact));
}

#define LONGEST "abcdefghijklmnopqrstuvwxyz01234" /* 31 letters */

/* The kernel's own bound is 32 with the NUL: a longer name would be a cut one. */
static void a_name_too_long_is_no_name(void **state)
{
	struct clocksource_evidence fits = collect(*state, LONGEST "\n", LONGEST " tsc \n");
	struct clocksource_evidence longer;

	assert_string_equal(fits.current, LONGEST);
	assert_int_equal(fits.available_count, 2);
	longer = collect(*state, LONGEST "5\n", LONGEST "5 tsc \n");
	assert_int_equal(longer.current_fact.state, FACT_FAILED);
	assert_int_equal(longer.available_fact.state, FACT_FAILED);
	assert_int_equal(longer.available_count, 0);
}

/* Names are parts of commands that are pasted as root. */
static void what_a_shell_would_take_apart_is_no_name(void **state)
{
	static const char *const words[] = {"x;id", "$(id)", "`id`", "a'b", "a|b", "a>b", "~", "*"};
	struct clocksource_evidence found;

	for (size_t i = 0; i < COUNT(words); i++) {
		found = collect(*state, words[i], words[i]);
		assert_int_equal(found.current_fact.state, FACT_FAILED);
		assert_int_equal(found.available_fact.state, FACT_FAILED);
	}
	found = collect(*state, "timer@101c0000", "dw_apb-timer,0:1.2+");
	assert_true(fact_is_known(&found.current_fact));
	assert_true(fact_is_known(&found.available_fact));
}

static void sixteen_names_fit_and_seventeen_do_not(void **state)
{
	struct clocksource_evidence found =
		collect(*state, "a", "a b c d e f g h i j k l m n o p \n");

	assert_int_equal(found.available_count, 16);
	assert_string_equal(found.available[15], "p");
	found = collect(*state, "a", "a b c d e f g h i j k l m n o p q \n");
	assert_int_equal(found.available_fact.state, FACT_FAILED);
	assert_int_equal(found.available_count, 0);
}

/* Containers without /sys, gVisor, WSL1. */
static void a_missing_directory_is_absent_and_named(void **state)
{
	struct clocksource_evidence found = collect(*state, NULL, NULL);

	assert_int_equal(found.current_fact.state, FACT_ABSENT);
	assert_non_null(strstr(found.current_fact.reason, CURRENT));
	assert_int_equal(found.available_fact.state, FACT_ABSENT);
	assert_string_equal(found.current, "");
}

static void one_missing_file_does_not_take_the_other_along(void **state)
{
	struct clocksource_evidence found = collect(*state, "tsc\n", NULL);

	assert_true(fact_is_known(&found.current_fact));
	assert_int_equal(found.available_fact.state, FACT_ABSENT);
}

static void an_unreadable_file_is_a_failure(void **state)
{
	struct fake_root *fake = *state;
	struct clocksource_evidence found;

	fake_root_add(fake, CURRENT "/x", "");
	found = collect(fake, NULL, "tsc \n");
	assert_int_equal(found.current_fact.state, FACT_FAILED);
	assert_non_null(strstr(found.current_fact.reason, CURRENT));
	assert_true(fact_is_known(&found.available_fact));
}

static void a_file_larger_than_a_page_is_a_failure(void **state)
{
	static char text[5000];
	struct clocksource_evidence found;

	memset(text, ' ', sizeof(text) - 1);
	memcpy(text, "tsc", 3);
	found = collect(*state, text, text);
	assert_int_equal(found.current_fact.state, FACT_FAILED);
	assert_int_equal(found.available_fact.state, FACT_FAILED);
}

/* A mixture of two clocks would be explained as if it were one. */
static void a_change_meanwhile_is_seen(void **state)
{
	struct fake_root *fake = *state;
	struct clocksource_evidence found = collect(fake, "tsc\n", "tsc hpet \n");

	assert_false(clocksource_collect_change(&fake->root, &found));
	assert_string_equal(found.changed_to, "");
	fake_root_add(fake, CURRENT, "hpet\n");
	assert_true(clocksource_collect_change(&fake->root, &found));
	assert_string_equal(found.current, "tsc");
	assert_string_equal(found.changed_to, "hpet");
	assert_false(clocksource_collect_change(&fake->root, &found));
	fake_root_add(fake, CURRENT, "tsc\n");
	assert_true(clocksource_collect_change(&fake->root, &found));
	assert_string_equal(found.changed_to, "hpet");
}

static void what_cannot_be_read_again_is_not_known(void **state)
{
	struct fake_root *fake = *state;
	struct clocksource_evidence found = collect(fake, "tsc\n", "tsc \n");

	fake_root_add(fake, CURRENT, "tsc hpet\n");
	clocksource_collect_change(&fake->root, &found);
	assert_string_equal(found.changed_to, "");
	assert_true(fact_is_known(&found.current_fact));
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(names_are_whole_tokens_in_order),
		IN_TREE(a_lone_name_without_newline_will_do),
		IN_TREE(empty_files_are_failures),
		IN_TREE(two_current_names_are_a_failure),
		IN_TREE(a_name_too_long_is_no_name),
		IN_TREE(what_a_shell_would_take_apart_is_no_name),
		IN_TREE(sixteen_names_fit_and_seventeen_do_not),
		IN_TREE(a_missing_directory_is_absent_and_named),
		IN_TREE(one_missing_file_does_not_take_the_other_along),
		IN_TREE(an_unreadable_file_is_a_failure),
		IN_TREE(a_file_larger_than_a_page_is_a_failure),
		IN_TREE(a_change_meanwhile_is_seen),
		IN_TREE(what_cannot_be_read_again_is_not_known),
	};

	return cmocka_run_group_tests_name("clocksource", tests, NULL, NULL);
}
