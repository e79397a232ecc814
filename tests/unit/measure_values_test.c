/* SPDX-License-Identifier: MIT */
/*
 * Tests of measure/values on a made-up clock: a vDSO that answers otherwise than the kernel is
 * found, and nothing that may happen between two system calls makes a right one look wrong.
 */
#include "measure/parts.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "unit/evidence_builder.h"
#include "unit/unit.h"

#define START_NS (1795250000 * NS_PER_SECOND)

/* The clock as the kernel has it; each call takes `call_ns`. */
static struct {
	int64_t now_ns, call_ns;
	unsigned reads;                /* system calls so far: every second one begins a try */
	void (*disturb)(unsigned try); /* is called after the first system call of a try */
	int64_t (*answer)(void);       /* of the vDSO */
	int error;                     /* of the system call */
	bool untouched;                /* the system call gives nothing */
} clock_state;

static void give(struct timespec *to, int64_t ns)
{
	*to = (struct timespec){
		.tv_sec = (time_t)(ns / NS_PER_SECOND), .tv_nsec = (long)(ns % NS_PER_SECOND)};
}

static int kernel_clock(clockid_t clock, struct timespec *now)
{
	(void)clock;
	clock_state.now_ns += clock_state.call_ns;
	if (clock_state.error) {
		errno = clock_state.error;
		return -1;
	}
	if (!clock_state.untouched)
		give(now, clock_state.now_ns);
	if (clock_state.reads++ % 2 == 0 && clock_state.disturb)
		clock_state.disturb(clock_state.reads / 2);
	return 0;
}

static int vdso_clock(clockid_t clock, struct timespec *now)
{
	(void)clock;
	clock_state.now_ns += clock_state.call_ns / 10;
	give(now, clock_state.answer());
	return 0;
}

static struct call_evidence compare_named(const char *name, const char *clock)
{
	const struct call_table table = {.count = 1,
		.rows = {{.call = name,
			.clock = clock,
			.path = {[PATH_VDSO] = {.function.clock = vdso_clock},
				[PATH_SYSCALL] = {.function.clock = kernel_clock}}}}};
	static struct call_evidence call;

	call = (struct call_evidence){.path = {[PATH_VDSO] = {.attempts = 10}}};
	values_compare(&table, &call);
	return call;
}

static struct call_evidence compare(void)
{
	return compare_named("clock_gettime", "CLOCK_MONOTONIC");
}

static int64_t right(void)
{
	return clock_state.now_ns;
}

static int start(void **state)
{
	(void)state;
	memset(&clock_state, 0, sizeof(clock_state));
	clock_state.now_ns = START_NS;
	clock_state.call_ns = 250;
	clock_state.answer = right;
	return 0;
}

/* ---- what may happen to a right clock ---- */

static void lose_each_slice(unsigned try)
{
	(void)try;
	clock_state.now_ns += 4000000;
}

static void set_forward(unsigned try)
{
	(void)try;
	clock_state.now_ns += NS_PER_SECOND;
}

static void set_back(unsigned try)
{
	if (try % 2 == 0)
		clock_state.now_ns -= NS_PER_SECOND;
}

/* As a step by NTP in one try, in which a time slice is lost after the vDSO was asked. */
static int64_t step_back_and_lose_slice(void)
{
	int64_t now = clock_state.now_ns;

	if (clock_state.reads == 1) {
		now -= 50000;
		clock_state.now_ns += 60000;
	}
	return now;
}

/* Another CPU's page is behind for some milliseconds. */
static int64_t behind_for_a_round(void)
{
	return clock_state.now_ns - (clock_state.reads < 40 ? 30000 : 0);
}

static int64_t rounded(void)
{
	return clock_state.now_ns - 500;
}

static const struct right_row {
	const char *name;
	void (*disturb)(unsigned try);
	int64_t (*answer)(void);
	int64_t call_ns;
} right_rows[] = {
	{"undisturbed", NULL, right, 250},
	{"a time slice is lost in each try", lose_each_slice, right, 250},
	{"set forward in each try", set_forward, right, 250},
	{"set back in every second try", set_back, right, 250},
	{"set back while a time slice is lost", NULL, step_back_and_lose_slice, 250},
	{"behind for a few milliseconds", NULL, behind_for_a_round, 250},
	{"rounded otherwise", NULL, rounded, 250},
	{"system calls of 50 us", NULL, right, 50000},
	{"a clock that stands still", NULL, right, 0},
};

static void a_right_clock_agrees(void **state)
{
	const struct right_row *row = *state;
	struct call_evidence call;

	start(NULL);
	clock_state.disturb = row->disturb;
	clock_state.answer = row->answer;
	clock_state.call_ns = row->call_ns;
	call = compare();
	assert_true(fact_is_flag(&call.agrees, true));
	assert_int_equal(call.ahead_ns, 0);
}

/* ---- wrong clocks ---- */

static int64_t second_ahead(void)
{
	return clock_state.now_ns + NS_PER_SECOND;
}

static int64_t behind_by_50_us(void)
{
	return clock_state.now_ns - 50000;
}

static int64_t stands_still(void)
{
	return START_NS - 5000000;
}

static int64_t other_clock(void)
{
	return clock_state.now_ns - START_NS + 86400 * NS_PER_SECOND;
}

static int64_t not_a_time(void)
{
	return -2 * NS_PER_SECOND;
}

static void lose_most_slices(unsigned try)
{
	clock_state.now_ns += try % 4 ? 4000000 : 0;
}

static const struct wrong_row {
	const char *name;
	int64_t (*answer)(void);
	int64_t ahead_ns;
	void (*disturb)(unsigned try);
	int64_t within_ns;
} wrong_rows[] = {
	{"one second ahead", second_ahead, NS_PER_SECOND, NULL, 1000},
	{"50 us behind", behind_by_50_us, -50000, NULL, 1000},
	{"50 us behind, and most time slices are lost", behind_by_50_us, -50000, lose_most_slices,
		1000},
	{"one second ahead, in brackets of 4 ms", second_ahead, NS_PER_SECOND, lose_each_slice,
		4000000},
	{"standing still", stands_still, -5000000, NULL, 100000},
	{"of another clock", other_clock, 86400 * NS_PER_SECOND - START_NS, NULL, 1000},
	{"not a time", not_a_time, -START_NS, NULL, NS_PER_SECOND},
};

static void a_wrong_clock_is_found(void **state)
{
	const struct wrong_row *row = *state;
	struct call_evidence call;

	start(NULL);
	clock_state.disturb = row->disturb;
	clock_state.answer = row->answer;
	call = compare();
	assert_true(fact_is_flag(&call.agrees, false));
	assert_in_range(call.ahead_ns - row->ahead_ns + row->within_ns, 0, 2 * row->within_ns);
}

/* ---- calls that fail, and libc ---- */

static int vdso_fails(clockid_t clock, struct timespec *now)
{
	(void)clock;
	(void)now;
	return -EINVAL;
}

static int vdso_writes_seconds(clockid_t clock, struct timespec *now)
{
	(void)clock;
	now->tv_sec = 1795250000;
	return 0;
}

static int libc_fails(clockid_t clock, struct timespec *now)
{
	(void)clock;
	(void)now;
	errno = ENOSYS;
	return -1;
}

/* The vDSO's function, libc's, and what is counted of each. */
static const struct failing_row {
	const char *name;
	clock_function *vdso, *libc;
	uint32_t failed, libc_failed;
	int error, libc_error;
} failing_rows[] = {
	{"none", vdso_clock, vdso_clock, 0, 0, 0, 0},
	{"the vDSO's", vdso_fails, vdso_clock, 1, 0, EINVAL, 0},
	{"the vDSO's, which writes half a time", vdso_writes_seconds, vdso_clock, 1, 0, 0, 0},
	{"libc's", vdso_clock, libc_fails, 0, 1, 0, ENOSYS},
	{"both", vdso_fails, libc_fails, 1, 1, EINVAL, ENOSYS},
};

static void what_fails_is_counted_and_does_not_agree(void **state)
{
	const struct failing_row *row = *state;
	const struct call_table table = {.count = 1,
		.rows = {{.call = "clock_gettime",
			.clock = "CLOCK_MONOTONIC",
			.path = {{.function.clock = row->vdso}, {.function.clock = row->libc},
				{.function.clock = kernel_clock}}}}};
	struct call_evidence call = {.decides = true};

	start(NULL);
	values_compare(&table, &call);
	assert_int_equal(call.path[PATH_VDSO].failed, row->failed);
	assert_int_equal(call.path[PATH_VDSO].error, row->error);
	assert_int_equal(call.path[PATH_LIBC].failed, row->libc_failed);
	assert_int_equal(call.path[PATH_LIBC].error, row->libc_error);
	assert_int_equal(call.agrees.fact.state, row->failed ? FACT_FAILED : FACT_KNOWN);
	assert_int_equal(call.libc_agrees.fact.state, row->libc_failed ? FACT_FAILED : FACT_KNOWN);
	assert_int_equal(call.path[PATH_SYSCALL].failed, 0);
}

static int libc_ahead(clockid_t clock, struct timespec *now)
{
	vdso_clock(clock, now);
	now->tv_sec += 3600;
	return 0;
}

static void libc_is_compared_apart(void **state)
{
	const struct call_table table = {.count = 1,
		.rows = {{.call = "clock_gettime",
			.clock = "CLOCK_REALTIME",
			.path = {{.function.clock = vdso_clock}, {.function.clock = libc_ahead},
				{.function.clock = kernel_clock}}}}};
	struct call_evidence call = {.decides = true};

	(void)state;
	values_compare(&table, &call);
	assert_true(fact_is_flag(&call.agrees, true));
	assert_true(fact_is_flag(&call.libc_agrees, false));
	assert_in_range(call.libc_ahead_ns - 3600 * NS_PER_SECOND + 1000, 0, 2000);
	assert_int_equal(call.ahead_ns, 0);
}

/* ---- other calls ---- */

static int64_t offset_ns;

static int64_t off(void)
{
	return clock_state.now_ns + offset_ns;
}

/* A coarse clock is that of the last tick, a resolution is a constant. */
static void each_clock_has_its_own_tolerance(void **state)
{
	(void)state;
	clock_state.answer = off;
	offset_ns = -4000000;
	assert_true(compare_named("clock_gettime", "CLOCK_REALTIME_COARSE").agrees.value);
	assert_false(compare().agrees.value);
	offset_ns = -20000000;
	assert_false(compare_named("clock_gettime", "CLOCK_REALTIME_COARSE").agrees.value);
	clock_state.call_ns = 0;
	offset_ns = 1;
	assert_true(compare().agrees.value);
	assert_false(compare_named("clock_getres", "CLOCK_MONOTONIC").agrees.value);
	offset_ns = 0;
	assert_true(compare_named("clock_getres", "CLOCK_MONOTONIC").agrees.value);
}

static int cpu_5(unsigned *cpu, unsigned *node, void *cache)
{
	(void)node;
	(void)cache;
	*cpu = 5;
	return 0;
}

static int cpu_6(unsigned *cpu, unsigned *node, void *cache)
{
	cpu_5(cpu, node, cache);
	++*cpu;
	return 0;
}

static time_t seconds(time_t *now)
{
	(void)now;
	return 1795250000;
}

static int microseconds(struct timeval *now, void *zone)
{
	(void)zone;
	*now = (struct timeval){.tv_sec = 1795250000, .tv_usec = 999999};
	return 0;
}

static void every_shape_is_compared(void **state)
{
	const struct call_table table = {.count = 4,
		.rows = {{.call = "getcpu",
				 .clock = "",
				 .path = {{.shape = SHAPE_GETCPU, .function.getcpu = cpu_5},
					 [PATH_SYSCALL] = {.shape = SHAPE_GETCPU,
						 .function.getcpu = cpu_5}}},
			{.call = "getcpu",
				.clock = "",
				.path = {{.shape = SHAPE_GETCPU, .function.getcpu = cpu_6},
					[PATH_SYSCALL] = {.shape = SHAPE_GETCPU,
						.function.getcpu = cpu_5}}},
			{.call = "time",
				.clock = "",
				.path = {{.shape = SHAPE_TIME, .function.time = seconds},
					[PATH_SYSCALL] = {.shape = SHAPE_TIME,
						.function.time = seconds}}},
			{.call = "gettimeofday",
				.clock = "",
				.path = {{.shape = SHAPE_TIMEOFDAY,
						 .function.timeofday = microseconds},
					[PATH_SYSCALL] = {.shape = SHAPE_TIMEOFDAY,
						.function.timeofday = microseconds}}}}};
	struct call_evidence calls[4] = {{.decides = false}};

	(void)state;
	values_compare(&table, calls);
	assert_true(fact_is_flag(&calls[0].agrees, true));
	assert_true(fact_is_flag(&calls[1].agrees, false));
	assert_int_equal(calls[1].ahead_ns, 0);
	assert_true(fact_is_flag(&calls[2].agrees, true));
	assert_true(fact_is_flag(&calls[3].agrees, true));
}

/* ---- no comparison ---- */

static int64_t crash(void)
{
	raise(SIGSEGV);
	return 0;
}

static void always_set_back(unsigned try)
{
	(void)try;
	clock_state.now_ns -= NS_PER_SECOND;
}

static void what_cannot_be_compared_is_not_wrong(void **state)
{
	struct call_evidence call = {.path[PATH_VDSO] = {.attempts = 10, .entered = 10}};
	struct call_table table = {.count = 1,
		.rows = {{.call = "clock_gettime",
			.clock = "CLOCK_MONOTONIC",
			.path = {[PATH_VDSO] = {.function.clock = vdso_clock},
				[PATH_SYSCALL] = {.function.clock = kernel_clock}}}}};

	(void)state;
	clock_state.answer = second_ahead;
	values_compare(&table, &call);
	assert_int_equal(call.agrees.fact.state, FACT_ABSENT);
	call.path[PATH_VDSO].entered = 0;
	table.rows[0].path[PATH_VDSO].function.any = NULL;
	values_compare(&table, &call);
	assert_int_equal(call.agrees.fact.state, FACT_ABSENT);
	assert_int_equal(
		compare_named("clock_gettime", "CLOCK_THREAD_CPUTIME_ID").agrees.fact.state,
		FACT_ABSENT);
	clock_state.untouched = true;
	assert_int_equal(compare().agrees.fact.state, FACT_FAILED);
	clock_state.untouched = false;
	clock_state.disturb = always_set_back;
	assert_int_equal(compare().agrees.fact.state, FACT_FAILED);
	clock_state.disturb = NULL;
	clock_state.error = EPERM;
	assert_int_equal(compare().agrees.fact.state, FACT_DENIED);
	clock_state.error = ENOSYS;
	assert_int_not_equal(compare().agrees.fact.state, FACT_KNOWN);
	clock_state.error = 0;
	clock_state.answer = crash;
	assert_int_equal(compare().agrees.fact.state, FACT_FAILED);
}

/* ---- this host ---- */

static void the_vdso_of_this_host_agrees(void **state)
{
	static struct evidence evidence;
	struct vdso_image image;
	struct call_table table;

	(void)state;
	evidence_list_live_calls(&evidence, &image, &table);
	if (!fact_is_known(&evidence.vdso.fact))
		unit_skip("there is no vDSO");
	for (int run = 0; run < 500; run++) {
		values_compare(&table, evidence.calls);
		for (size_t i = 0; i < table.count; i++) {
			if (fact_is_flag(&evidence.calls[i].agrees, false))
				fail_msg("%s %s: %lld ns ahead", table.rows[i].call,
					table.rows[i].clock, (long long)evidence.calls[i].ahead_ns);
		}
	}
}

int main(void)
{
	const struct CMUnitTest plain[] = {
		cmocka_unit_test_setup(each_clock_has_its_own_tolerance, start),
		cmocka_unit_test_setup(every_shape_is_compared, start),
		cmocka_unit_test_setup(libc_is_compared_apart, start),
		cmocka_unit_test_setup(what_cannot_be_compared_is_not_wrong, start),
		cmocka_unit_test(the_vdso_of_this_host_agrees),
	};

	return unit_run_rows("values: a right clock agrees", a_right_clock_agrees, right_rows) +
	       unit_run_rows("values: a wrong clock is found", a_wrong_clock_is_found, wrong_rows) +
	       unit_run_rows("values: calls that fail", what_fails_is_counted_and_does_not_agree,
		       failing_rows) +
	       cmocka_run_group_tests_name("values", plain, NULL, NULL);
}
