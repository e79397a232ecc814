/* SPDX-License-Identifier: MIT */
/* Tests of base/clock: the kernel's clocks by system call. */
#include "base/clock.h"
#include "unit/unit.h"

/* The C library's answer before and after brackets the kernel's. */
static void the_kernel_s_clock_agrees_with_the_c_library(void **state)
{
	static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME,
		CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE};

	(void)state;
	for (size_t i = 0; i < COUNT(clocks); i++) {
		struct timespec before, after;
		int64_t ns, seconds;

		clock_gettime(clocks[i], &before);
		ns = kernel_clock_ns(clocks[i]);
		seconds = kernel_clock_seconds(clocks[i]);
		clock_gettime(clocks[i], &after);
		assert_true(ns >= before.tv_sec * INT64_C(1000000000) + before.tv_nsec);
		assert_true(ns <= after.tv_sec * INT64_C(1000000000) + after.tv_nsec);
		assert_true(seconds >= before.tv_sec && seconds <= after.tv_sec);
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
	assert_true(kernel_clock_seconds(12345) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_s_clock_agrees_with_the_c_library),
		cmocka_unit_test(the_kernel_s_clock_never_goes_backwards),
		cmocka_unit_test(a_clock_that_is_refused_is_zero),
	};

	return cmocka_run_group_tests_name("kernel_clock", tests, NULL, NULL);
}
