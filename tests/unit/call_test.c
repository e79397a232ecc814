/* SPDX-License-Identifier: MIT */
/* measure/call: what is called, how often, and whether an error of ours is seen to come back. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "measure/call.h"
#include "unit/unit.h"

static unsigned made;
static long answer;
static int answer_errno;
static clockid_t asked;

/* Stubs, one for each shape: they count and give the answer that the test wants. */

static long give(void)
{
	made++;
	if (answer_errno)
		errno = answer_errno;
	return answer;
}

static int stub_clock(clockid_t clock, struct timespec *now)
{
	assert_non_null(now);
	now->tv_sec = 0;
	asked = clock;
	return (int)give();
}

static int stub_timeofday(struct timeval *now, void *zone)
{
	assert_non_null(now);
	assert_null(zone);
	return (int)give();
}

static time_t stub_time(time_t *now)
{
	(void)now;
	return (time_t)give();
}

static int stub_getcpu(unsigned *cpu, unsigned *node, void *cache)
{
	assert_non_null(cpu);
	assert_null(node);
	assert_null(cache);
	return (int)give();
}

static const struct call stubs[] = {
	{.shape = SHAPE_CLOCK, .clock = CLOCK_BOOTTIME, .function.clock = stub_clock},
	{.shape = SHAPE_TIMEOFDAY, .function.timeofday = stub_timeofday},
	{.shape = SHAPE_TIME, .function.time = stub_time},
	{.shape = SHAPE_GETCPU, .function.getcpu = stub_getcpu},
};

static void set_answer(long result, int error)
{
	answer = result;
	answer_errno = error;
	made = 0;
}

/* ns per call is the time of so many calls: one more or fewer is a wrong number. */
static void a_loop_makes_just_as_many_calls_as_asked(void **state)
{
	static const size_t counts[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 1000, 1001};

	(void)state;
	for (size_t i = 0; i < COUNT(stubs); i++) {
		for (size_t k = 0; k < COUNT(counts); k++) {
			set_answer(0, 0);
			call_repeat(&stubs[i], counts[k]);
			assert_int_equal(made, counts[k]);
		}
	}
	call_repeat_nothing(1000);
}

static void the_clock_that_was_asked_for_is_asked(void **state)
{
	(void)state;
	asked = 0;
	call_repeat(&stubs[0], 1);
	assert_int_equal(asked, CLOCK_BOOTTIME);
	asked = 0;
	call_returns_error(&stubs[0], 3517);
	assert_int_equal(asked, CLOCK_BOOTTIME);
}

/* libc's way, a vDSO's, and powerpc's: each must be seen, else "never enters" is a lie. */
static void our_error_number_is_seen_in_every_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(stubs); i++) {
		set_answer(-1, 3517);
		assert_true(call_returns_error(&stubs[i], 3517));
		assert_int_equal(made, 1);
		set_answer(-3517, 0);
		assert_true(call_returns_error(&stubs[i], 3517));
		set_answer(3517, 0);
		assert_true(call_returns_error(&stubs[i], 3517));
	}
}

/* musl's gettimeofday() gives 0 and its time() a time, whatever the kernel said. */
static void our_error_number_is_seen_where_libc_hides_the_failure(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(stubs); i++) {
		set_answer(0, 3517);
		assert_true(call_returns_error(&stubs[i], 3517));
		set_answer(1795250000, 3517);
		assert_true(call_returns_error(&stubs[i], 3517));
	}
}

/* Else a call that failed for its own reasons would count as one that entered the kernel. */
static void other_errors_and_successes_are_not_ours(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(stubs); i++) {
		set_answer(0, 0);
		assert_false(call_returns_error(&stubs[i], 3517));
		set_answer(-1, EINVAL);
		assert_false(call_returns_error(&stubs[i], 3517));
		set_answer(-EINVAL, 0);
		assert_false(call_returns_error(&stubs[i], 3517));
		/* What errno was left at from before is not this call's error. */
		errno = 3517;
		set_answer(-1, 0);
		assert_false(call_returns_error(&stubs[i], 3517));
		/* Some functions set errno and succeed. */
		set_answer(0, ENOSYS);
		assert_false(call_returns_error(&stubs[i], 3517));
	}
	set_answer(1795250000, 0);
	assert_false(call_returns_error(&stubs[2], 3517));
}

static void the_control_does_not_fail_by_itself(void **state)
{
	(void)state;
	assert_false(call_control_returns_error(3517));
}

static void the_cheapest_system_call_is_getppid(void **state)
{
	struct call entry = call_entry();

	(void)state;
	assert_int_equal(entry.shape, SHAPE_TIME);
	assert_int_equal(entry.function.time(NULL), getppid());
}

static const struct vdso_export exports[] = {
	{"__vdso_clock_gettime_more", "LINUX_2.6", 0x1000},
	{"clock_gettime", "LINUX_2.6", 0x2000},
	{"__vdso_clock_gettime", "LINUX_2.6", 0x3000},
	{"__vdso_clock_gettime64", "LINUX_2.6", 0x3000},
	{"__kernel_gettimeofday", "LINUX_2.6.39", 0x4000},
};

static void list_with_exports(
	struct evidence *evidence, struct call calls[CALL_MAX][PATH_COUNT], size_t count)
{
	*evidence = (struct evidence){0};
	memcpy(evidence->vdso.exports, exports, count * sizeof(exports[0]));
	evidence->vdso.export_count = count;
	call_list(evidence, calls);
}

static size_t index_of(const struct evidence *evidence, const char *call, const char *clock)
{
	size_t i = 0;

	while (i < evidence->call_count && (strcmp(evidence->calls[i].call, call) != 0 ||
						   strcmp(evidence->calls[i].clock, clock) != 0))
		i++;
	assert_in_range(i, 0, evidence->call_count - 1);
	return i;
}

/* A call timed at the wrong address is a wrong number or a crash. */
static void exports_are_found_by_their_whole_name(void **state)
{
	struct call calls[CALL_MAX][PATH_COUNT] = {0};
	struct evidence evidence;
	size_t gettime, timeofday, cpu;

	(void)state;
	list_with_exports(&evidence, calls, COUNT(exports));
	gettime = index_of(&evidence, "clock_gettime", "CLOCK_MONOTONIC");
	timeofday = index_of(&evidence, "gettimeofday", "");
	cpu = index_of(&evidence, "getcpu", "");
	assert_int_equal((uintptr_t)calls[gettime][PATH_VDSO].function.any, 0x3000);
	assert_int_equal(calls[gettime][PATH_VDSO].clock, CLOCK_MONOTONIC);
	assert_int_equal((uintptr_t)calls[timeofday][PATH_VDSO].function.any, 0x4000);
	assert_null(calls[cpu][PATH_VDSO].function.any);
	assert_false(evidence.calls[cpu].path[PATH_VDSO].available);
	assert_true(evidence.calls[cpu].path[PATH_LIBC].available);
	list_with_exports(&evidence, calls, 2);
	assert_null(calls[gettime][PATH_VDSO].function.any);
}

/* The verdict rests on these three and on no other. */
static void three_calls_decide(void **state)
{
	struct call calls[CALL_MAX][PATH_COUNT] = {0};
	struct evidence evidence;
	unsigned deciding = 0;

	(void)state;
	list_with_exports(&evidence, calls, 0);
	for (size_t i = 0; i < evidence.call_count; i++)
		deciding += evidence.calls[i].decides;
	assert_int_equal(deciding, 3);
	assert_true(evidence.calls[index_of(&evidence, "gettimeofday", "")].decides);
	assert_true(evidence.calls[index_of(&evidence, "clock_gettime", "CLOCK_REALTIME")].decides);
	assert_true(
		evidence.calls[index_of(&evidence, "clock_gettime", "CLOCK_MONOTONIC")].decides);
}

static void every_call_of_the_issue_is_listed(void **state)
{
	static const char *const clocks[] = {"CLOCK_REALTIME", "CLOCK_MONOTONIC",
		"CLOCK_MONOTONIC_RAW", "CLOCK_BOOTTIME", "CLOCK_TAI", "CLOCK_REALTIME_COARSE",
		"CLOCK_MONOTONIC_COARSE", "CLOCK_PROCESS_CPUTIME_ID", "CLOCK_THREAD_CPUTIME_ID"};
	struct call calls[CALL_MAX][PATH_COUNT] = {0};
	struct evidence evidence;

	(void)state;
	list_with_exports(&evidence, calls, 0);
	for (size_t i = 0; i < COUNT(clocks); i++)
		index_of(&evidence, "clock_gettime", clocks[i]);
	index_of(&evidence, "clock_getres", "CLOCK_MONOTONIC");
	index_of(&evidence, "time", "");
	index_of(&evidence, "getcpu", "");
}

/* Every way that is said to exist works here, and reaches its own clock. */
static void libc_and_raw_calls_work(void **state)
{
	struct call calls[CALL_MAX][PATH_COUNT] = {0};
	struct evidence evidence;

	(void)state;
	list_with_exports(&evidence, calls, 0);
	for (size_t i = 0; i < evidence.call_count; i++) {
		for (int path = PATH_LIBC; path < PATH_COUNT; path++) {
			if (!evidence.calls[i].path[path].available)
				continue;
			assert_false(call_returns_error(&calls[i][path], EINVAL));
			assert_false(call_returns_error(&calls[i][path], ENOSYS));
			assert_false(call_returns_error(&calls[i][path], EFAULT));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_makes_just_as_many_calls_as_asked),
		cmocka_unit_test(the_clock_that_was_asked_for_is_asked),
		cmocka_unit_test(our_error_number_is_seen_in_every_form),
		cmocka_unit_test(our_error_number_is_seen_where_libc_hides_the_failure),
		cmocka_unit_test(other_errors_and_successes_are_not_ours),
		cmocka_unit_test(the_control_does_not_fail_by_itself),
		cmocka_unit_test(the_cheapest_system_call_is_getppid),
		cmocka_unit_test(exports_are_found_by_their_whole_name),
		cmocka_unit_test(three_calls_decide),
		cmocka_unit_test(every_call_of_the_issue_is_listed),
		cmocka_unit_test(libc_and_raw_calls_work),
	};

	return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
