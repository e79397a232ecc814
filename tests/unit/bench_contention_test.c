/* SPDX-License-Identifier: MIT */
/*
 * bench/contention: the calls here spin, alone or for a device that serves one thread at a time. A
 * busy machine can hide what threads do to each other, but not add what they do not: each property
 * has to hold in one of several tries.
 */
#include <signal.h>
#include <string.h>

#include "base/time.h"
#include "bench/model.h"
#include "measure/cpus.h"
#include "unit/unit.h"

#define TRIES 8
#define RUN_NS 80000000
#define SPINS 2000

static struct call_table table = {.count = 1};

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

static struct bench_contention measure(time_function *function, unsigned threads, size_t cpus)
{
	struct bench_plan plan = {.calls = &table,
		.threads = threads,
		.thread_cpu_count = cpus,
		.path_named = true,
		.paths[PATH_LIBC] = true,
		.time_ns = RUN_NS};
	struct bench_contention found;
	struct fact why = {0};
	struct bench *bench;

	cpus_list(plan.cpus, CPUS_MAX);
	table.rows[0] = (struct call_row){.call = "time",
		.clock = "",
		.decides = true,
		.path[PATH_LIBC] = {.shape = SHAPE_TIME, .function.time = function}};
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
	int cpus[CPUS_MAX];

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
		cmocka_unit_test(the_reason_names_the_signal_that_ends_a_call),
	};

	return cmocka_run_group_tests_name("contention", tests, NULL, NULL);
}
