/* SPDX-License-Identifier: MIT */
/*
 * bench/contention: the cost of a call is the time that its callers wait for it, whatever delays
 * them. The calls here sleep, so that a machine with one CPU shows the same, and record how long
 * they took: a busy machine makes the calls longer and the result with them.
 */
#include <signal.h>
#include <string.h>

#include "base/child.h"
#include "base/time.h"
#include "bench/model.h"
#include "measure/cpus.h"
#include "unit/unit.h"

#define WORKERS 3
/* On a busy machine a longer run is more likely to have an undisturbed window. */
#define TRIES 5
#define RUN_NS 50000000

/* The best window may be this much better than the average of all, and no worse. */
#define BEST_LEAST 0.2
#define BEST_MOST 1.5

/* Callers that wait longer than this many times what they have to are held up by other processes:
 * no window need be like the average then. */
#define HELD_UP 5

static const struct timespec call_time = {.tv_nsec = 100000}, short_pause = {.tv_nsec = 1000};
static const volatile bool go_on = false, stop = true;

/* A device that serves one caller at a time, in the order of arrival, and a record. */
static struct {
	unsigned next;
	unsigned served;
	int64_t calls;
	int64_t ns; /* from the callers' side */
} * device;

static void record(int64_t start_ns)
{
	__atomic_fetch_add(
		&device->ns, kernel_clock_ns(CLOCK_MONOTONIC) - start_ns, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&device->calls, 1, __ATOMIC_SEQ_CST);
}

static time_t sleep_alone(time_t *ignored)
{
	int64_t start_ns = kernel_clock_ns(CLOCK_MONOTONIC);

	(void)ignored;
	nanosleep(&call_time, NULL);
	record(start_ns);
	return 0;
}

/* As a clock that one CPU reads at a time. */
static time_t sleep_in_turn(time_t *ignored)
{
	int64_t start_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	unsigned number = __atomic_fetch_add(&device->next, 1, __ATOMIC_SEQ_CST);

	(void)ignored;
	while (__atomic_load_n(&device->served, __ATOMIC_SEQ_CST) != number)
		nanosleep(&short_pause, NULL);
	nanosleep(&call_time, NULL);
	__atomic_fetch_add(&device->served, 1, __ATOMIC_SEQ_CST);
	record(start_ns);
	return 0;
}

static time_t crash(time_t *ignored)
{
	(void)ignored;
	raise(SIGSEGV);
	return 0;
}

static time_t die(time_t *ignored)
{
	(void)ignored;
	raise(SIGKILL);
	return 0;
}

static int prepare(void **state)
{
	struct fact why = {0};

	(void)state;
	device = child_share(sizeof(*device), &why);
	return device ? 0 : -1;
}

/* On that many CPUs, as far as the code under test knows. */
static bool measure(time_function *function, unsigned workers, size_t cpu_count, int64_t ns,
	const volatile bool *flag, struct contention_result *result, struct fact *why)
{
	const struct call call = {.shape = SHAPE_TIME, .function.time = function};
	int cpus[WORKERS] = {0};
	size_t count = cpus_list(cpus, WORKERS);

	for (size_t i = count; i < WORKERS && count; i++)
		cpus[i] = cpus[i % count]; /* a worker that sleeps leaves it to the others */
	memset(device, 0, sizeof(*device));
	*result = (struct contention_result){0};
	return contention_measure(&(struct contention){.call = &call,
					  .workers = workers,
					  .cpus = cpus,
					  .cpu_count = cpu_count,
					  .ns = ns,
					  .stop = flag},
		result, why);
}

/*
 * The result, in ns of one CPU per call, is no less than `least_ns`, which holds in every window
 * whatever the load; and it agrees with what the callers saw, which can take several tries: it does
 * not if it disagrees in most of them though nothing held the callers up.
 */
static void expect_cost(
	time_function *function, unsigned workers, size_t cpu_count, double least_ns)
{
	int undisturbed = 0;

	for (int i = 0; i < TRIES; i++) {
		struct contention_result result;
		struct fact why = {0};
		double callers_ns;

		assert_true(measure(
			function, workers, cpu_count, (int64_t)RUN_NS << i, &go_on, &result, &why));
		if (result.ns <= 0)
			continue;
		assert_true(result.ns >= least_ns * 0.9);
		assert_true(result.slowest_ns >= result.ns * 0.999);
		callers_ns = (double)device->ns / (double)device->calls;
		if (workers > cpu_count)
			callers_ns *= (double)cpu_count / workers;
		if (result.ns > callers_ns * BEST_LEAST && result.ns < callers_ns * BEST_MOST)
			return;
		print_message("%.0f ns, %.0f ns for the callers\n", result.ns, callers_ns);
		if (callers_ns < least_ns * HELD_UP)
			undisturbed++;
	}
	if (undisturbed <= TRIES / 2)
		unit_skip("other processes disturbed most runs");
	fail();
}

static void a_call_alone_costs_what_its_caller_waits(void **state)
{
	(void)state;
	expect_cost(sleep_alone, 1, WORKERS, (double)call_time.tv_nsec);
}

/* A device that serves one at a time cannot have served more calls than that. */
static void waiting_for_a_device_is_part_of_the_cost(void **state)
{
	(void)state;
	expect_cost(sleep_in_turn, WORKERS, WORKERS, WORKERS * (double)call_time.tv_nsec);
}

static void workers_that_do_not_wait_cost_what_one_costs(void **state)
{
	(void)state;
	expect_cost(sleep_alone, WORKERS, WORKERS, (double)call_time.tv_nsec);
}

/* More workers than CPUs: the time is that of one CPU, and no window is discarded. */
static void waiting_for_a_device_is_part_of_the_cost_on_one_cpu(void **state)
{
	(void)state;
	expect_cost(sleep_in_turn, WORKERS, 1, (double)call_time.tv_nsec);
}

static void workers_that_do_not_wait_share_one_cpu(void **state)
{
	(void)state;
	expect_cost(sleep_alone, WORKERS, 1, (double)call_time.tv_nsec / WORKERS);
}

static void the_reason_names_the_signal_of_a_call_that_crashes(void **state)
{
	struct contention_result result;
	struct fact why = {0};

	(void)state;
	assert_false(measure(crash, WORKERS, WORKERS, RUN_NS, &go_on, &result, &why));
	assert_int_equal(why.state, FACT_FAILED);
	assert_non_null(strstr(why.reason, "SIGSEGV"));
}

static void a_worker_that_dies_ends_the_run(void **state)
{
	struct contention_result result;
	struct fact why = {0};

	(void)state;
	assert_false(measure(die, WORKERS, WORKERS, RUN_NS, &go_on, &result, &why));
	assert_non_null(strstr(why.reason, "SIGKILL"));
}

static void a_run_that_is_stopped_has_no_result(void **state)
{
	struct contention_result result;
	struct fact why = {0};

	(void)state;
	assert_true(measure(sleep_alone, WORKERS, WORKERS, RUN_NS, &stop, &result, &why));
	assert_true(result.ns <= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_alone_costs_what_its_caller_waits),
		cmocka_unit_test(waiting_for_a_device_is_part_of_the_cost),
		cmocka_unit_test(workers_that_do_not_wait_cost_what_one_costs),
		cmocka_unit_test(waiting_for_a_device_is_part_of_the_cost_on_one_cpu),
		cmocka_unit_test(workers_that_do_not_wait_share_one_cpu),
		cmocka_unit_test(the_reason_names_the_signal_of_a_call_that_crashes),
		cmocka_unit_test(a_worker_that_dies_ends_the_run),
		cmocka_unit_test(a_run_that_is_stopped_has_no_result),
	};

	return cmocka_run_group_tests_name("contention", tests, prepare, NULL);
}
