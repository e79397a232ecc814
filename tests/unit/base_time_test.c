/* SPDX-License-Identifier: MIT */
/* Tests of base/time: the kernel's clocks by system call; what is left, and parts of a deadline. */
#include <unistd.h>

#include "base/time.h"
#include "unit/unit.h"

/* The C library's answer before and after brackets the kernel's. */
static void the_kernel_s_clock_agrees_with_the_c_library(void **state)
{
	static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME,
		CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE};

	(void)state;
	for (size_t i = 0; i < COUNT(clocks); i++) {
		struct timespec before, after;
		int64_t ns;

		clock_gettime(clocks[i], &before);
		ns = kernel_clock_ns(clocks[i]);
		clock_gettime(clocks[i], &after);
		assert_true(ns >= before.tv_sec * NS_PER_SECOND + before.tv_nsec);
		assert_true(ns <= after.tv_sec * NS_PER_SECOND + after.tv_nsec);
	}
}

static void the_kernel_s_clock_never_goes_backwards(void **state)
{
	int64_t last = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		int64_t now = kernel_clock_ns(CLOCK_MONOTONIC);

		assert_true(now >= last);
		last = now;
	}
}

static void a_clock_that_is_refused_is_zero(void **state)
{
	(void)state;
	assert_true(kernel_clock_ns(12345) == 0);
}

static void a_deadline_passes_and_stays_passed(void **state)
{
	struct deadline deadline = deadline_after(30000000), within;
	int64_t before = deadline_left_ns(&deadline);

	(void)state;
	/* Under load the time may be over already. */
	assert_in_range(before, 0, 50000000);
	while (deadline_left_ns(&deadline) > 0)
		usleep(1000);
	usleep(20000);
	assert_int_equal(deadline_left_ns(&deadline), 0);
	within = deadline_within(&deadline, 0);
	assert_int_equal(deadline_left_ns(&within), 0);
	within = deadline_within(&deadline, NS_PER_SECOND);
	assert_int_equal(deadline_left_ns(&within), 0);
	deadline = deadline_after(0);
	assert_true(deadline.limit_ns != 0);
}

/* As after a times() that failed: -1 is far from every other tick. */
static void no_more_is_left_than_was_given(void **state)
{
	struct deadline deadline = deadline_after(NS_PER_SECOND);

	(void)state;
	deadline.at_tick += 1000000000;
	assert_true(deadline_left_ns(&deadline) <= NS_PER_SECOND + NS_PER_SECOND / 10);
}

static void a_part_of_the_time_ends_no_later_than_the_whole(void **state)
{
	struct deadline whole = deadline_after(10 * NS_PER_SECOND), none = {0}, part;

	(void)state;
	part = deadline_within(&whole, NS_PER_SECOND);
	assert_in_range(deadline_left_ns(&part), 1, NS_PER_SECOND + NS_PER_SECOND / 10);
	part = deadline_within(&whole, 100 * NS_PER_SECOND);
	assert_true(deadline_left_ns(&part) <= 10 * NS_PER_SECOND + NS_PER_SECOND / 10);
	assert_true(deadline_left_ns(&none) == INT64_MAX);
	part = deadline_within(&none, NS_PER_SECOND);
	assert_in_range(deadline_left_ns(&part), 1, NS_PER_SECOND + NS_PER_SECOND / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_s_clock_agrees_with_the_c_library),
		cmocka_unit_test(the_kernel_s_clock_never_goes_backwards),
		cmocka_unit_test(a_clock_that_is_refused_is_zero),
		cmocka_unit_test(a_deadline_passes_and_stays_passed),
		cmocka_unit_test(no_more_is_left_than_was_given),
		cmocka_unit_test(a_part_of_the_time_ends_no_later_than_the_whole),
	};

	return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
