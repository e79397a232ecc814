/* SPDX-License-Identifier: MIT */
/*
 * measure/gathering: who waits for whom is seen. The calls here sleep, so that a machine
 * with one CPU, or a busy one, shows the same.
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

/* One is served at a time, who comes first before the others. */
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

static bool measure(time_function *function, unsigned threads, const volatile bool *flag,
	struct gathering_price *price, struct fact *why)
{
	const struct call call = {.shape = SHAPE_TIME, .function.time = function};
	int cpus[THREADS] = {0};
	size_t count = affinity_list(cpus, THREADS);

	for (size_t i = count; i < THREADS && count; i++)
		cpus[i] = cpus[i % count]; /* who sleeps leaves it to the others */
	memset(device, 0, sizeof(*device));
	*price = (struct gathering_price){0};
	return gathering_measure(&(struct gathering){.call = &call,
					 .threads = threads,
					 .cpus = cpus,
					 .cpu_count = THREADS,
					 .ns = 50000000,
					 .stop = flag},
		price, why);
}

/* 0 if the machine is too busy. */
static double find_times(time_function *function)
{
	struct gathering_price alone, together;
	struct fact why = {0};

	assert_true(measure(function, 1, &go_on, &alone, &why));
	assert_true(measure(function, THREADS, &go_on, &together, &why));
	if (alone.ns <= 0 || together.ns <= 0)
		return 0;
	assert_true(alone.ns > (double)moment.tv_nsec * 0.9);
	assert_true(alone.slowest_ns >= alone.ns * 0.999);
	assert_true(together.slowest_ns >= together.ns * 0.999);
	return together.ns / alone.ns;
}

static bool is_within(time_function *function, double least, double most)
{
	for (int i = 0; i < TRIES; i++) {
		double times = find_times(function);

		if (times > least && times < most)
			return true;
		print_message("%.2f times\n", times);
	}
	return false;
}

static void who_waits_for_a_device_is_seen(void **state)
{
	(void)state;
	assert_true(is_within(sleep_in_turn, THREADS * 0.7, 1e9));
}

static void who_waits_for_nobody_is_not_said_to(void **state)
{
	(void)state;
	assert_true(is_within(sleep_alone, 0.1, THREADS * 0.6));
}

static void a_call_that_crashes_is_told_by_its_signal(void **state)
{
	struct gathering_price price;
	struct fact why = {0};

	(void)state;
	assert_false(measure(crash, THREADS, &go_on, &price, &why));
	assert_int_equal(why.state, FACT_FAILED);
	assert_non_null(strstr(why.reason, "SIGSEGV"));
}

static void a_thread_that_dies_does_not_keep_the_others(void **state)
{
	struct gathering_price price;
	struct fact why = {0};

	(void)state;
	assert_false(measure(die, THREADS, &go_on, &price, &why));
	assert_non_null(strstr(why.reason, "SIGKILL"));
}

static void who_is_stopped_says_nothing(void **state)
{
	struct gathering_price price;
	struct fact why = {0};

	(void)state;
	assert_true(measure(sleep_alone, THREADS, &stop, &price, &why));
	assert_true(price.ns <= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_for_a_device_is_seen),
		cmocka_unit_test(who_waits_for_nobody_is_not_said_to),
		cmocka_unit_test(a_call_that_crashes_is_told_by_its_signal),
		cmocka_unit_test(a_thread_that_dies_does_not_keep_the_others),
		cmocka_unit_test(who_is_stopped_says_nothing),
	};

	return cmocka_run_group_tests_name("gathering", tests, prepare, NULL);
}
