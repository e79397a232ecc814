/* SPDX-License-Identifier: MIT */
/* Tests of measure/call: which call is made, how often, and whether its error is seen. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure/call.h"
#include "measure/loop.h"
#include "unit/unit.h"

static unsigned made;
static long answer;
static int answer_errno;
static bool writes; /* the stubs write their results */
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
	if (writes)
		*now = (struct timespec){0, 0};
	asked = clock;
	return (int)give();
}

static int stub_timeofday(struct timeval *now, void *zone)
{
	assert_non_null(now);
	assert_null(zone);
	if (writes)
		*now = (struct timeval){1795250000, 0};
	return (int)give();
}

static time_t stub_time(time_t *now)
{
	if (writes && now)
		*now = 1795250000;
	return (time_t)give();
}

static int stub_getcpu(unsigned *cpu, unsigned *node, void *cache)
{
	assert_non_null(cpu);
	assert_null(node);
	assert_null(cache);
	if (writes)
		*cpu = 0;
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
	writes = true;
	made = 0;
}

/* ns per call is the time of so many calls: one more or fewer is a wrong number. */
static void a_loop_makes_the_requested_number_of_calls(void **state)
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
}

static void count_calls(size_t count)
{
	made += (unsigned)count;
}

static void a_call_with_a_loop_of_its_own_is_repeated_by_it(void **state)
{
	const struct call loop = call_loop(count_calls);

	(void)state;
	set_answer(0, 0);
	call_repeat(&loop, 1000);
	assert_int_equal(made, 1000);
	assert_int_equal(call_error(&loop), 0);
	assert_int_equal(made, 1001);
}

/* Makes the call under a mark that no kernel returns. */
static enum call_end try(const struct call *call)
{
	union call_result result;
	int error = 0;

	return call_try(call, 3517, &result, &error);
}

static void the_requested_clock_is_read(void **state)
{
	(void)state;
	asked = 0;
	call_repeat(&stubs[0], 1);
	assert_int_equal(asked, CLOCK_BOOTTIME);
	asked = 0;
	try(&stubs[0]);
	assert_int_equal(asked, CLOCK_BOOTTIME);
}

/* libc's way, a vDSO's, and powerpc's: each must be seen, else "never enters" is a lie. */
static void the_marker_errno_is_seen_in_every_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(stubs); i++) {
		set_answer(-1, 3517);
		assert_int_equal(try(&stubs[i]), CALL_MARKED);
		assert_int_equal(made, 1);
		set_answer(-3517, 0);
		assert_int_equal(try(&stubs[i]), CALL_MARKED);
		set_answer(3517, 0);
		assert_int_equal(try(&stubs[i]), CALL_MARKED);
	}
}

/* By libc's rules only -1 means that errno was set. */
static void an_error_is_errno_after_minus_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(stubs); i++) {
		set_answer(-1, EINVAL);
		assert_int_equal(call_error(&stubs[i]), EINVAL);
		set_answer(0, EINVAL);
		assert_int_equal(call_error(&stubs[i]), 0);
		set_answer(-EINVAL, EINVAL);
		assert_int_equal(call_error(&stubs[i]), 0);
	}
}

/* musl's gettimeofday() gives 0 and its time() a time, whatever the kernel said. */
static void the_marker_errno_is_seen_where_libc_hides_the_failure(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(stubs); i++) {
		set_answer(0, 3517);
		assert_int_equal(try(&stubs[i]), CALL_MARKED);
		set_answer(1795250000, 3517);
		assert_int_equal(try(&stubs[i]), CALL_MARKED);
	}
}

/* x86 of 4.20 to 5.2: gettimeofday() returns 0, whatever the system call in it returned. */
static void a_success_without_a_result_is_told_from_one_with(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(stubs); i++) {
		set_answer(0, 0);
		writes = false;
		/* time() returns its result. */
		assert_int_equal(
			try(&stubs[i]), stubs[i].shape == SHAPE_TIME ? CALL_DONE : CALL_SILENT);
	}
}

static int writes_seconds(clockid_t clock, struct timespec *now)
{
	(void)clock;
	now->tv_sec = 1795250000;
	return 0;
}

static int writes_nanoseconds(struct timeval *now, void *zone)
{
	(void)zone;
	now->tv_usec = 0;
	return 0;
}

static void half_a_time_is_not_a_result(void **state)
{
	const struct call seconds = {SHAPE_CLOCK, .function.clock = writes_seconds};
	const struct call parts = {SHAPE_TIMEOFDAY, .function.timeofday = writes_nanoseconds};

	(void)state;
	assert_int_equal(try(&seconds), CALL_SILENT);
	assert_int_equal(try(&parts), CALL_SILENT);
}

/* Each form of failure: libc's, a vDSO's, powerpc's. */
static void a_call_that_fails_has_its_errno(void **state)
{
	static const struct {
		long result;
		int set, error;
	} rows[] = {{-1, EINVAL, EINVAL}, {-EINVAL, 0, EINVAL}, {-ENOSYS, 0, ENOSYS}, {-1, 0, 1}};
	union call_result result;

	(void)state;
	for (size_t i = 0; i < COUNT(stubs); i++) {
		for (size_t k = 0; k < COUNT(rows); k++) {
			int error = 0;

			set_answer(rows[k].result, rows[k].set);
			assert_int_equal(call_try(&stubs[i], k % 2 ? 3517 : 0, &result, &error),
				CALL_FAILED);
			assert_int_equal(error, rows[k].error);
		}
		if (stubs[i].shape == SHAPE_TIME)
			continue;
		set_answer(EINVAL, 0);
		assert_int_equal(try(&stubs[i]), CALL_FAILED);
	}
}

/* Else a call that failed for its own reasons would count as one that entered the kernel. */
static void other_errors_and_success_are_not_the_marker(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(stubs); i++) {
		set_answer(0, 0);
		assert_int_equal(try(&stubs[i]), CALL_DONE);
		/* What errno was left at from before is not this call's error. */
		errno = 3517;
		set_answer(-1, 0);
		assert_int_equal(try(&stubs[i]), CALL_FAILED);
		/* Some functions set errno and succeed. */
		set_answer(0, ENOSYS);
		assert_int_equal(try(&stubs[i]), CALL_DONE);
		/* Without a mark nothing is one. */
		set_answer(-3517, 0);
		assert_int_equal(
			call_try(&stubs[i], 0, &(union call_result){0}, &(int){0}), CALL_FAILED);
	}
	set_answer(1795250000, 0);
	assert_int_equal(try(&stubs[2]), CALL_DONE);
}

static void the_control_does_not_fail_by_itself(void **state)
{
	const struct call control = call_control();

	(void)state;
	assert_int_equal(try(&control), CALL_DONE);
}

static void the_cheapest_system_call_is_getppid(void **state)
{
	struct call entry = call_syscall_floor();

	(void)state;
	assert_int_equal(entry.shape, SHAPE_TIME);
	assert_int_equal(entry.function.time(NULL), getppid());
}

static const struct vdso_evidence vdso = {.export_count = 5,
	.exports = {{"__vdso_clock_gettime_more", "LINUX_2.6"}, {"clock_gettime", "LINUX_2.6"},
		{"__vdso_clock_gettime", "LINUX_2.6"}, {"__vdso_clock_gettime64", "LINUX_2.6"},
		{"__kernel_gettimeofday", "LINUX_2.6.39"}}};
static const struct vdso_image image = {
	.base = 0x10000, .size = 0x5000, .offsets = {0x1000, 0x2000, 0x3000, 0x3000, 0x4000}};

static struct call_table table;

static int make_table(void **state)
{
	(void)state;
	call_table_make(&vdso, &image, &table, DEADLINE_NONE);
	return 0;
}

static const void *function_of(const char *call, const char *clock, enum call_path path)
{
	const struct call *row = call_find(&table, call, clock);

	assert_non_null(row);
	return row[path].function.any;
}

static void calls_are_found_by_both_of_their_names(void **state)
{
	(void)state;
	assert_int_equal(served_find_call(text_span("clock_getres")), SERVED_CLOCK_GETRES);
	assert_int_equal(served_find_call(text_span("clock_getres_time64")), SERVED_CLOCK_GETRES);
	assert_int_equal(served_find_call(text_span("clock_gettime6")), SERVED_CALL_COUNT);
	assert_int_equal(served_find_call(text_span("")), SERVED_CALL_COUNT);
}

/* A call timed at the wrong address is a wrong number or a crash. */
static void exports_are_found_by_their_whole_name(void **state)
{
	struct vdso_evidence two = vdso;

	(void)state;
	assert_int_equal(
		(uintptr_t)function_of("clock_gettime", "CLOCK_MONOTONIC", PATH_VDSO), 0x13000);
	assert_int_equal((uintptr_t)function_of("gettimeofday", "", PATH_VDSO), 0x14000);
	assert_null(function_of("getcpu", "", PATH_VDSO));
	two.export_count = 2;
	call_table_make(&two, &image, &table, DEADLINE_NONE);
	assert_null(function_of("clock_gettime", "CLOCK_MONOTONIC", PATH_VDSO));
}

/* Exports that were listed for another process are no functions here. */
static void without_an_image_there_are_no_vdso_functions(void **state)
{
	static const struct vdso_image none;

	(void)state;
	call_table_make(&vdso, &none, &table, DEADLINE_NONE);
	for (size_t i = 0; i < table.count; i++)
		assert_null(table.rows[i].path[PATH_VDSO].function.any);
}

static void every_path_of_a_row_reads_the_clock_of_its_name(void **state)
{
	(void)state;
	for (int path = 0; path < PATH_COUNT; path++) {
		assert_int_equal(
			call_find(&table, "clock_gettime", "CLOCK_TAI")[path].clock, CLOCK_TAI);
		assert_int_equal(call_find(&table, "clock_getres", "CLOCK_MONOTONIC")[path].shape,
			SHAPE_CLOCK);
	}
	assert_null(call_find(&table, "clock_gettime", ""));
	assert_null(call_find(&table, "gettimeofday", "CLOCK_REALTIME"));
}

/* The verdict rests on these three and on no other. */
static void three_calls_decide(void **state)
{
	(void)state;
	call_table_keep_deciding(&table);
	assert_int_equal(table.count, 3);
	assert_non_null(call_find(&table, "gettimeofday", ""));
	assert_non_null(call_find(&table, "clock_gettime", "CLOCK_REALTIME"));
	assert_non_null(call_find(&table, "clock_gettime", "CLOCK_MONOTONIC"));
}

static void every_documented_call_is_listed(void **state)
{
	static const char *const clocks[] = {"CLOCK_REALTIME", "CLOCK_MONOTONIC",
		"CLOCK_MONOTONIC_RAW", "CLOCK_BOOTTIME", "CLOCK_TAI", "CLOCK_REALTIME_COARSE",
		"CLOCK_MONOTONIC_COARSE", "CLOCK_PROCESS_CPUTIME_ID", "CLOCK_THREAD_CPUTIME_ID"};

	(void)state;
	for (size_t i = 0; i < COUNT(clocks); i++)
		assert_non_null(call_find(&table, "clock_gettime", clocks[i]));
	assert_non_null(call_find(&table, "clock_getres", "CLOCK_MONOTONIC"));
	assert_non_null(call_find(&table, "time", ""));
	assert_non_null(call_find(&table, "getcpu", ""));
}

/* Proof and timing fill in evidence->calls by the place in the table. */
static void the_evidence_has_a_row_for_each_row_of_the_table(void **state)
{
	static struct evidence evidence;

	(void)state;
	call_table_name(&table, &evidence);
	assert_int_equal(evidence.call_count, table.count);
	for (size_t i = 0; i < table.count; i++) {
		const struct call_row *row = &table.rows[i];
		const struct call_evidence *call = &evidence.calls[i];

		assert_string_equal(call->call, row->call);
		assert_string_equal(call->clock, row->clock);
		assert_int_equal(call->decides, row->decides);
		for (int path = 0; path < PATH_COUNT; path++)
			assert_int_equal(
				call->path[path].available, row->path[path].function.any != NULL);
	}
}

/* Every path that is said to exist works here, and reaches its own clock. */
static void libc_and_raw_calls_work(void **state)
{
	(void)state;
	for (size_t i = 0; i < table.count; i++) {
		for (int path = PATH_LIBC; path < PATH_COUNT; path++) {
			const struct call *call = &table.rows[i].path[path];

			if (!call->function.any)
				continue;
			assert_int_equal(try(call), CALL_DONE);
		}
	}
}

#define ON_TABLE(test) cmocka_unit_test_setup(test, make_table)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_makes_the_requested_number_of_calls),
		cmocka_unit_test(a_call_with_a_loop_of_its_own_is_repeated_by_it),
		cmocka_unit_test(the_requested_clock_is_read),
		cmocka_unit_test(the_marker_errno_is_seen_in_every_form),
		cmocka_unit_test(an_error_is_errno_after_minus_one),
		cmocka_unit_test(the_marker_errno_is_seen_where_libc_hides_the_failure),
		cmocka_unit_test(a_success_without_a_result_is_told_from_one_with),
		cmocka_unit_test(half_a_time_is_not_a_result),
		cmocka_unit_test(a_call_that_fails_has_its_errno),
		cmocka_unit_test(other_errors_and_success_are_not_the_marker),
		cmocka_unit_test(the_control_does_not_fail_by_itself),
		cmocka_unit_test(the_cheapest_system_call_is_getppid),
		cmocka_unit_test(calls_are_found_by_both_of_their_names),
		ON_TABLE(exports_are_found_by_their_whole_name),
		ON_TABLE(without_an_image_there_are_no_vdso_functions),
		ON_TABLE(every_path_of_a_row_reads_the_clock_of_its_name),
		ON_TABLE(three_calls_decide),
		ON_TABLE(every_documented_call_is_listed),
		ON_TABLE(the_evidence_has_a_row_for_each_row_of_the_table),
		ON_TABLE(libc_and_raw_calls_work),
	};

	return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
