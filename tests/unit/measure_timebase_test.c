/* SPDX-License-Identifier: MIT */
/* measure/timebase: a wrong rate makes every ns of the report wrong by the same factor. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "base/time.h"
#include "measure/sampler.h"
#include "measure/timebase.h"
#include "unit/unit.h"

/* Of the kernel's clock: 0: as it is; otherwise it moves by steps of so much, every second late. */
static int64_t step_ns;

/* The kernel's clock where a call takes 7 ns, and reading it nothing; 0: as it is. */
static int64_t made_ns;

static void take_seven(size_t count)
{
	made_ns += 7 * (int64_t)count;
}

int64_t __real_kernel_clock_ns(clockid_t clock);
int64_t __wrap_kernel_clock_ns(clockid_t clock);

int64_t __wrap_kernel_clock_ns(clockid_t clock)
{
	int64_t ns = made_ns ? made_ns : __real_kernel_clock_ns(clock), steps;

	if (!step_ns)
		return ns;
	steps = ns / step_ns;
	if (steps % 2 && ns % step_ns < step_ns * 9 / 10)
		steps--;
	return steps * step_ns;
}

static void by_the_kernel_s_clock_a_tick_is_a_nanosecond(void **state)
{
	struct timebase timebase;
	int64_t before, ticks, after;

	(void)state;
	assert_true(timebase_start(&timebase, false));
	assert_true(timebase_ns_per_tick(&timebase) == 1);
	before = kernel_clock_ns(CLOCK_MONOTONIC);
	ticks = (int64_t)timebase_ticks(&timebase);
	after = kernel_clock_ns(CLOCK_MONOTONIC);
	assert_true(before <= ticks && ticks <= after);
}

static int64_t script_ns;

/* The jiffies clocksource, HZ 250, read in 100 us. */
static int64_t read_jiffies(void)
{
	script_ns += 100000;
	return script_ns / 4000000 * 4000000;
}

/* hpet under two hypervisors: moves at each read, as slow as that is. */
static int64_t read_slow_clock(void)
{
	return script_ns += 85000;
}

/* gettimeofday's grain, read in 100 ns. */
static int64_t read_microseconds(void)
{
	script_ns += 100;
	return script_ns / 1000 * 1000;
}

/* A read takes more than half of a step: the clock never stands for two reads. */
static int64_t read_slow_steps(void)
{
	script_ns += 570;
	return script_ns / 1000 * 1000;
}

static void a_coarse_clock_is_distinguished_from_a_slow_one(void **state)
{
	(void)state;
	assert_int_equal(timebase_find_resolution(read_jiffies), 4000000);
	assert_int_equal(timebase_find_resolution(read_slow_clock), 0);
	assert_int_equal(timebase_find_resolution(read_microseconds), 1000);
	script_ns = 0;
	assert_int_equal(timebase_find_resolution(read_slow_steps), 0);
}

static void spin(int64_t ns)
{
	int64_t end = kernel_clock_ns(CLOCK_MONOTONIC) + ns;

	while (kernel_clock_ns(CLOCK_MONOTONIC) < end)
		continue;
}

static bool has_counter(void)
{
	struct fact fact = {0};

	return counter_probe(&fact);
}

/*
 * A stretch by the counter is as long as by the kernel's clock around it. Another process may
 * have the CPU between the two, so one of several tries has to fit.
 */
static void the_counter_s_rate_is_that_of_the_kernel_s_clock(void **state)
{
	bool fits = false;

	(void)state;
	if (!has_counter())
		unit_skip("the counter cannot be read here");
	for (int try = 0; try < 20 && !fits; try++) {
		struct timebase timebase;
		int64_t start, inner;
		uint64_t ticks;
		double measured;

		assert_true(timebase_start(&timebase, true));
		start = kernel_clock_ns(CLOCK_MONOTONIC);
		ticks = timebase_ticks(&timebase);
		spin(2000000);
		ticks = timebase_ticks(&timebase) - ticks;
		inner = kernel_clock_ns(CLOCK_MONOTONIC) - start;
		measured = (double)ticks * timebase_ns_per_tick(&timebase);
		fits = measured > 0.98 * (double)inner && measured < 1.02 * (double)inner;
	}
	assert_true(fits);
}

#define RATES 500

/* Where the kernel's clock is so slow that nothing else is done any more. It ends after a while. */
static void be_away(int number)
{
	static int times;

	(void)number;
	if (times++ < 20 * RATES)
		spin(150000);
}

/* Every 200 us for 150 of them: much more often than on any machine, so that it is seen. */
static void interrupt_us(bool on)
{
	struct itimerval timer = {{0, on ? 200 : 0}, {0, on ? 200 : 0}};

	signal(SIGALRM, be_away);
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void find_rates(double rates[RATES])
{
	interrupt_us(true);
	for (int i = 0; i < RATES; i++) {
		struct timebase timebase;

		assert_true(timebase_start(&timebase, true));
		rates[i] = timebase_ns_per_tick(&timebase);
	}
	interrupt_us(false);
}

/* Who is interrupted between the kernel's clock and the counter has not read both at once. */
static void a_rate_is_right_despite_interrupts(void **state)
{
	double rates[RATES], right;
	struct timebase whole;

	(void)state;
	if (!has_counter())
		unit_skip("the counter cannot be read here");
	assert_true(timebase_start(&whole, true));
	find_rates(rates);
	right = timebase_ns_per_tick(&whole);
	for (int i = 0; i < RATES; i++) {
		if (fabs(rates[i] / right - 1) > 0.05)
			fail_msg("rate %d is %.3f of the right one", i, rates[i] / right);
	}
}

/*
 * The jiffies clocksource where timer ticks come late: two steps follow within a tenth of one.
 * Another process may have the CPU for several steps, so one of several tries has to fit.
 */
static void a_rate_by_late_timer_ticks_is_right(void **state)
{
	bool fits = false;

	(void)state;
	if (!has_counter())
		unit_skip("the counter cannot be read here");
	for (int try = 0; try < 20 && !fits; try++) {
		struct timebase timebase, whole;
		double late;

		assert_true(timebase_start(&whole, true));
		step_ns = 1000000;
		assert_true(timebase_start(&timebase, true));
		fits = timebase.clock_step_ns == step_ns;
		late = timebase_ns_per_tick(&timebase);
		step_ns = 0;
		fits &= fabs(late / timebase_ns_per_tick(&whole) - 1) < 0.1;
	}
	assert_true(fits);
}

static void a_counter_that_went_back_is_not_a_long_time(void **state)
{
	struct timebase timebase;

	(void)state;
	assert_true(timebase_start(&timebase, false));
	assert_int_equal(timebase_since(&timebase, timebase_ticks(&timebase) + 1000000000), 0);
}

static void its_own_overhead_is_less_than_any_stretch(void **state)
{
	struct timebase timebase;

	(void)state;
	for (int by_counter = 0; by_counter <= has_counter(); by_counter++) {
		uint64_t start, least = UINT64_MAX;

		assert_true(timebase_start(&timebase, by_counter));
		for (int i = 0; i < 1000; i++) {
			start = timebase_ticks(&timebase);
			counter_repeat(1000);
			start = timebase_ticks(&timebase) - start;
			least = start < least ? start : least;
		}
		if (by_counter)
			assert_true(timebase.overhead < least);
	}
}

/* 128 calls take more than half of a batch, and 142 almost all of it. */
static void a_batch_has_the_calls_that_fill_its_time(void **state)
{
	const struct timebase timebase = {.by_counter = false};
	struct timed_call timed = {.call = call_loop(take_seven)};

	(void)state;
	made_ns = NS_PER_SECOND;
	timed_call_calibrate(&timed, &timebase, 1000);
	made_ns = 0;
	assert_int_equal(timed.iterations, 142);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_the_kernel_s_clock_a_tick_is_a_nanosecond),
		cmocka_unit_test(the_counter_s_rate_is_that_of_the_kernel_s_clock),
		cmocka_unit_test(a_rate_is_right_despite_interrupts),
		cmocka_unit_test(a_coarse_clock_is_distinguished_from_a_slow_one),
		cmocka_unit_test(a_rate_by_late_timer_ticks_is_right),
		cmocka_unit_test(a_counter_that_went_back_is_not_a_long_time),
		cmocka_unit_test(its_own_overhead_is_less_than_any_stretch),
		cmocka_unit_test(a_batch_has_the_calls_that_fill_its_time),
	};

	return cmocka_run_group_tests_name("timebase", tests, NULL, NULL);
}
