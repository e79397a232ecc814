/* SPDX-License-Identifier: MIT */
/*
 * bench/gathering: the time that threads spend waiting for each other is measured. The calls
 * here sleep, so that a machine with one CPU shows the same.
 */
#include <signal.h>
#include <string.h>

#include "base/child.h"
#include "bench/gathering.h"
#include "measure/affinity.h"
#include "unit/unit.h"

#define THREADS 3

#define TRIES 8

static const struct timespec moment = {.tv_nsec = 100000}, short_while = {.tv_nsec = 1000};
static const volatile bool go_on = false, stop = true;

/* Serves one caller at a time, in the order of arrival. */
static struct {
	unsigned next;
	unsigned served;
} * device;

static time_t sleep_alone(time_t *ignored)
{
	(void)ignored;
	nanosleep(&moment, NULL);
	return 0;
}

/* As a clock that one CPU reads at a time. */
static time_t sleep_in_turn(time_t *ignored)
{
	unsigned number = __atomic_fetch_add(&device->next, 1, __ATOMIC_SEQ_CST);

	while (__atomic_load_n(&device->served, __ATOMIC_SEQ_CST) != number)
		nanosleep(&short_while, NULL);
	sleep_alone(ignored);
	__atomic_fetch_add(&device->served, 1, __ATOMIC_SEQ_CST);
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

/* On so many CPUs, as far as the code under test knows. */
static bool measure(time_function *function, unsigned threads, size_t cpu_count,
	const volatile bool *flag, struct gathering_price *price, struct fact *why)
{
	const struct call call = {.shape = SHAPE_TIME, .function.time = function};
	int cpus[THREADS] = {0};
	size_t count = affinity_list(cpus, THREADS);

	for (size_t i = count; i < THREADS && count; i++)
		cpus[i] = cpus[i % count]; /* a thread that sleeps leaves it to the others */
	memset(device, 0, sizeof(*device));
	*price = (struct gathering_price){0};
	return gathering_measure(&(struct gathering){.call = &call,
					 .threads = threads,
					 .cpus = cpus,
					 .cpu_count = cpu_count,
					 .ns = 50000000,
					 .stop = flag},
		price, why);
}

/*
 * What a call costs beside others, in units of what it costs alone; 0 where every slice was
 * disturbed by other processes.
 */
static double find_times(time_function *function, size_t cpu_count)
{
	struct gathering_price alone, together;
	struct fact why = {0};

	assert_true(measure(function, 1, cpu_count, &go_on, &alone, &why));
	assert_true(measure(function, THREADS, cpu_count, &go_on, &together, &why));
	if (alone.ns <= 0 || together.ns <= 0)
		return 0;
	assert_true(alone.ns > (double)moment.tv_nsec * 0.9);
	assert_true(alone.slowest_ns >= alone.ns * 0.999);
	assert_true(together.slowest_ns >= together.ns * 0.999);
	return together.ns / alone.ns;
}

static void expect_times(time_function *function, size_t cpu_count, double least, double most)
{
	bool measured = false;

	for (int i = 0; i < TRIES; i++) {
		double times = find_times(function, cpu_count);

		if (times > least && times < most)
			return;
		measured = measured || times > 0;
		print_message("%.2f times\n", times);
	}
	if (!measured)
		unit_skip("other processes disturbed every slice");
	fail();
}

static void waiting_for_a_device_is_measured(void **state)
{
	(void)state;
	expect_times(sleep_in_turn, THREADS, THREADS * 0.7, 1e9);
}

static void threads_that_do_not_wait_cost_what_one_costs(void **state)
{
	(void)state;
	expect_times(sleep_alone, THREADS, 0.1, THREADS * 0.6);
}

/* More threads than CPUs: no slice counts as disturbed, so that a busy machine shows it too. */
static void waiting_for_a_device_is_measured_on_one_cpu(void **state)
{
	(void)state;
	expect_times(sleep_in_turn, 1, 0.7, 1e9);
}

static void threads_that_do_not_wait_share_one_cpu(void **state)
{
	(void)state;
	expect_times(sleep_alone, 1, 0.1 / THREADS, 0.6);
}

static void a_call_that_crashes_is_told_by_its_signal(void **state)
{
	struct gathering_price price;
	struct fact why = {0};

	(void)state;
	assert_false(measure(crash, THREADS, THREADS, &go_on, &price, &why));
	assert_int_equal(why.state, FACT_FAILED);
	assert_non_null(strstr(why.reason, "SIGSEGV"));
}

static void a_thread_that_dies_does_not_keep_the_others(void **state)
{
	struct gathering_price price;
	struct fact why = {0};

	(void)state;
	assert_false(measure(die, THREADS, THREADS, &go_on, &price, &why));
	assert_non_null(strstr(why.reason, "SIGKILL"));
}

static void a_run_that_is_stopped_has_no_result(void **state)
{
	struct gathering_price price;
	struct fact why = {0};

	(void)state;
	assert_true(measure(sleep_alone, THREADS, THREADS, &stop, &price, &why));
	assert_true(price.ns <= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_for_a_device_is_measured),
		cmocka_unit_test(threads_that_do_not_wait_cost_what_one_costs),
		cmocka_unit_test(waiting_for_a_device_is_measured_on_one_cpu),
		cmocka_unit_test(threads_that_do_not_wait_share_one_cpu),
		cmocka_unit_test(a_call_that_crashes_is_told_by_its_signal),
		cmocka_unit_test(a_thread_that_dies_does_not_keep_the_others),
		cmocka_unit_test(a_run_that_is_stopped_has_no_result),
	};

	return cmocka_run_group_tests_name("gathering", tests, prepare, NULL);
}
