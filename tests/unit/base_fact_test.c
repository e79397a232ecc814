/* SPDX-License-Identifier: MIT */
/* Tests of base/fact: known, or not, with a reason. */
#include <errno.h>
#include <string.h>

#include "base/fact.h"
#include "unit/unit.h"

static void a_zeroed_fact_is_unread(void **state)
{
	struct fact fact = {0};

	(void)state;
	assert_false(fact_is_known(&fact));
	assert_int_equal(fact.state, FACT_UNREAD);
}

static void a_known_fact_has_no_reason(void **state)
{
	struct fact fact = {0};

	(void)state;
	fact_set(&fact, FACT_FAILED, "at %d", 1);
	assert_string_equal(fact.reason, "at 1");
	fact_set_known(&fact);
	assert_true(fact_is_known(&fact));
	assert_string_equal(fact.reason, "");
}

static void errors_are_absent_denied_or_failed(void **state)
{
	static const struct {
		int error;
		enum fact_state state;
	} rows[] = {
		{ENOENT, FACT_ABSENT},
		{ENOTDIR, FACT_ABSENT},
		{ENODEV, FACT_ABSENT},
		{ENXIO, FACT_ABSENT},
		{ENOSYS, FACT_ABSENT},
		{EACCES, FACT_DENIED},
		{EPERM, FACT_DENIED},
		{EIO, FACT_FAILED},
		{EFBIG, FACT_FAILED},
		{ENOMEM, FACT_FAILED},
		{ELOOP, FACT_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct fact fact = {0};

		fact_set_errno(&fact, rows[i].error, "/proc/cmdline");
		assert_int_equal(fact.state, rows[i].state);
		assert_non_null(strstr(fact.reason, "/proc/cmdline: "));
		assert_non_null(strstr(fact.reason, strerror(rows[i].error)));
	}
}

static void a_long_reason_is_truncated(void **state)
{
	struct fact fact = {0};
	char text[2 * FACT_REASON_SIZE];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	fact_set(&fact, FACT_FAILED, "%s", text);
	assert_int_equal(strlen(fact.reason), FACT_REASON_SIZE - 1);
	assert_string_equal(fact.reason + FACT_REASON_SIZE - 6, "xx...");
}

static void values_are_known_with_their_value(void **state)
{
	struct text_fact text = {0};
	struct number_fact number = {0};
	struct flag_fact flag = {0};

	(void)state;
	fact_set_text(&text, "6.18.44");
	fact_set_number(&number, -1);
	fact_set_flag(&flag, true);
	assert_true(fact_is_known(&text.fact) && fact_is_known(&number.fact));
	assert_string_equal(text.value, "6.18.44");
	assert_true(number.value == -1);
	assert_true(fact_is_known(&flag.fact) && flag.value);
}

static void an_unknown_value_is_none(void **state)
{
	struct text_fact text = {0};
	struct flag_fact flag = {0};

	(void)state;
	assert_false(fact_is_text(&text, ""));
	assert_false(fact_is_flag(&flag, false));
	fact_set_text(&text, "xen");
	fact_set_flag(&flag, false);
	assert_true(fact_is_text(&text, "xen") && !fact_is_text(&text, "xe"));
	assert_true(fact_is_flag(&flag, false) && !fact_is_flag(&flag, true));
	fact_set(&text.fact, FACT_DENIED, "not readable");
	fact_set(&flag.fact, FACT_DENIED, "not readable");
	assert_false(fact_is_text(&text, "xen") || fact_is_flag(&flag, false));
}

static void a_described_fact_is_read_back(void **state)
{
	(void)state;
	for (enum fact_state a = FACT_UNREAD; a < FACT_STATES; a++) {
		struct fact fact = {0}, read = {0};
		char text[FACT_TEXT_SIZE];

		if (a == FACT_KNOWN)
			continue;
		fact_set(&fact, a, "/dev/kmsg: %d", a);
		fact_describe(&fact, text, sizeof(text));
		fact_set_described(&read, text);
		assert_int_equal(read.state, a);
		assert_string_equal(read.reason, fact.reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_zeroed_fact_is_unread),
		cmocka_unit_test(a_known_fact_has_no_reason),
		cmocka_unit_test(errors_are_absent_denied_or_failed),
		cmocka_unit_test(a_long_reason_is_truncated),
		cmocka_unit_test(values_are_known_with_their_value),
		cmocka_unit_test(an_unknown_value_is_none),
		cmocka_unit_test(a_described_fact_is_read_back),
	};

	return cmocka_run_group_tests_name("fact", tests, NULL, NULL);
}
