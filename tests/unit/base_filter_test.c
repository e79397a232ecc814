/* SPDX-License-Identifier: MIT */
/* Tests of base/filter: the calls that are named fail, and no other ones. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/filter.h"
#include "unit/unit.h"

struct filtered {
	struct fact refused;
	int errors[3];
};

/* The last number stands behind those that are named. */
static const int numbers[] = {-1, SYS_getppid, SYS_getuid, SYS_getgid};

static void fail_two_calls(void *object)
{
	struct filtered *filtered = object;

	if (!filter_fail_calls(numbers, COUNT(numbers) - 1, ENOTTY, &filtered->refused))
		return;
	for (size_t i = 0; i < COUNT(filtered->errors); i++)
		filtered->errors[i] = syscall(numbers[i + 1]) < 0 ? errno : 0;
}

static void the_calls_that_are_named_fail_and_no_other(void **state)
{
	struct filtered filtered = {.refused.state = FACT_UNREAD};
	struct fact why = {0};

	(void)state;
	assert_true(child_call(fail_two_calls, &filtered, sizeof(filtered), DEADLINE_NONE, &why));
	if (*filtered.refused.reason)
		unit_skip("no seccomp filter can be set here");
	assert_int_equal(filtered.errors[0], ENOTTY);
	assert_int_equal(filtered.errors[1], ENOTTY);
	assert_int_equal(filtered.errors[2], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_calls_that_are_named_fail_and_no_other),
	};

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
