/* SPDX-License-Identifier: MIT */
/*
 * bench/contention and count: the calls here spin, alone or for a device that serves one thread at
 * a time. A busy machine can hide what threads do to each other, but not add what they do not: each
 * property has to hold in one of several tries.
 */
#include <signal.h>
#include <string.h>

#include "base/child.h"
#include "base/time.h"
#include "bench/model.h"
#include "measure/cpus.h"
#include "unit/unit.h"

#define TRIES 8
#define RUN_NS 80000000
#define SPINS 2000

/* The clock of CPU time and that of the window may run apart by the rate of a slewed clock. */
#define SLEWED 1.01

static struct call_table table = {.count = 1};

/* The CPUs that may be used; a test may put others in. */
static int cpus[CPUS_MAX];

/* The time that the last measurement was granted. */
static int64_t limit_ns;

bool __real_child_run(void (*work)(void *argument), bool (*poll)(void *argument), void *argument,
	const struct deadline *deadline, struct fact *why);
bool __wrap_child_run(void (*work)(void *argument), bool (*poll)(void *argument), void *argument,
	const struct deadline *deadline, struct fact *why);

bool __wrap_child_run(void (*work)(void *argument), bool (*poll)(void *argument), void *argument,
	const struct deadline *deadline, struct fact *why)
{
	limit_ns = deadline->limit_ns;
	return __real_child_run(work, poll, argument, deadline, why);
}

static void spin(void)
{
	for (volatile int i = 0; i < SPINS; i++)
		;
}

static time_t spin_alone(time_t *ignored)
{
	(void)ignored;
	spin();
	return 0;
}

/* As a clock that one CPU reads at a time. */
static time_t spin_in_turn(time_t *ignored)
{
	static volatile bool busy;

	(void)ignored;
	while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
		;
	spin();
	__atomic_clear(&busy, __ATOMIC_RELEASE);
	return 0;
}

static time_t die(time_t *ignored)
{
	(void)ignored;
	raise(SIGKILL);
	return 0;
}

static void put_call(time_function *function)
{
	table.rows[0] = (struct call_row){.call = "time",
		.clock = "",
		.decides = true,
		.path[PATH_LIBC] = {.shape = SHAPE_TIME, .function.time = function}};
}

static struct bench_contention measure(time_function *function, unsigned threads, size_t cpu_count)
{
	struct bench_plan plan = {.calls = &table,
		.threads = threads,
		.thread_cpu_count = cpu_count,
		.paths = 1u << PATH_LIBC,
		.time_ns = RUN_NS};
	struct bench_contention found;
	struct fact why = {0};
	struct bench *bench;

	memcpy(plan.cpus, cpus, sizeof(cpus));
	put_call(function);
	bench = bench_new(&plan, &why);
	assert_non_null(bench);
	bench_contention_all(bench);
	bench_evaluate(bench);
	assert_int_equal(bench->contention_count, 1);
	found = bench->contentions[0];
	bench_free(bench);
	return found;
}

static void threads_that_wait_for_a_device_pay_for_it(void **state)
{
	(void)state;
	if (cpus_list(cpus, CPUS_MAX) < 2)
		unit_skip("one CPU alone");
	for (int i = 0; i < TRIES; i++) {
		struct bench_contention found = measure(spin_in_turn, 2, 2);

		assert_true(fact_is_known(&found.fact));
		if (found.factor > 1.5)
			return;
	}
	unit_skip("other processes always had one of the CPUs");
}

/* On CPUs of their own, or by turns on one. */
static void threads_that_do_not_wait_cost_what_one_costs(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 3; threads++) {
		struct bench_contention found = {.factor = 0};

		for (int i = 0; i < TRIES && (!i || found.factor > 1.3); i++) {
			found = measure(spin_alone, threads, 1);
			assert_true(fact_is_known(&found.fact));
			assert_int_equal(found.cpus, 1);
			assert_true(found.together.ns > 0 && found.together.per_s > 0);
		}
		assert_true(found.factor < 1.3);
	}
}

/* However many threads take turns, N CPUs do not give more than N seconds of CPU time a second. */
static void the_rate_of_all_threads_is_one_that_their_cpus_can_make(void **state)
{
	size_t most = cpus_list(cpus, CPUS_MAX);

	(void)state;
	for (unsigned threads = 1; threads <= 128; threads *= 8) {
		for (size_t count = 1; count <= most && count <= 4; count++) {
			struct bench_contention found = measure(spin_alone, threads, count);

			assert_true(fact_is_known(&found.fact));
			assert_true(found.together.per_s > 0);
			assert_true(found.together.per_s * found.together.ns <=
				    SLEWED * (double)found.cpus * NS_PER_SECOND);
		}
	}
}

static void each_thread_adds_to_the_time_granted(void **state)
{
	int64_t before = 0;

	(void)state;
	for (unsigned threads = 1; threads <= BENCH_THREADS_MAX; threads *= 2) {
		measure(die, threads, 1);
		assert_true(limit_ns > before);
		before = limit_ns;
	}
}

/* The screen says how many CPUs the threads ran on. */
static void threads_that_cannot_be_pinned_are_not_measured(void **state)
{
	struct bench_contention found;
	int last = cpus[1];

	(void)state;
	cpus[1] = CPUS_MAX - 1;
	found = measure(spin_alone, 2, 2);
	cpus[1] = last;
	assert_int_equal(found.fact.state, FACT_DENIED);
	assert_string_equal(found.fact.reason, "cannot pin a thread to CPU 8191");
}

/* Neither a CPU time of a call nor an answer follows from 0 calls. */
static void a_run_without_a_call_is_not_known(void **state)
{
	static const struct bench_plan plan = {.calls = &table, .count_count = 1};
	struct fact why = {0};
	struct bench *bench;

	(void)state;
	put_call(spin_alone);
	table.rows[0].call = "gettimeofday";
	bench = bench_new(&plan, &why);
	assert_non_null(bench);
	bench_count_all(bench);
	bench_evaluate(bench);
	assert_int_equal(bench->run_count, PATH_COUNT);
	assert_string_equal(bench->runs[PATH_LIBC].fact.reason, "stopped before it was done");
	assert_false(bench->found);
	bench_free(bench);
}

static void the_reason_names_the_signal_that_ends_a_call(void **state)
{
	struct bench_contention found = measure(die, 2, 1);

	(void)state;
	assert_int_equal(found.fact.state, FACT_FAILED);
	assert_non_null(strstr(found.fact.reason, "SIGKILL"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_wait_for_a_device_pay_for_it),
		cmocka_unit_test(threads_that_do_not_wait_cost_what_one_costs),
		cmocka_unit_test(the_rate_of_all_threads_is_one_that_their_cpus_can_make),
		cmocka_unit_test(each_thread_adds_to_the_time_granted),
		cmocka_unit_test(threads_that_cannot_be_pinned_are_not_measured),
		cmocka_unit_test(a_run_without_a_call_is_not_known),
		cmocka_unit_test(the_reason_names_the_signal_that_ends_a_call),
	};

	cpus_list(cpus, CPUS_MAX);
	return cmocka_run_group_tests_name("contention", tests, NULL, NULL);
}
