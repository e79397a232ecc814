/* SPDX-License-Identifier: MIT */
/* measure/sampler, cpus: which batches are counted, kept and discarded. No times asserted. */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/child.h"
#include "measure/cpus.h"
#include "measure/sampler.h"
#include "unit/unit.h"

#define BATCH_NS 20000
#define CAPACITY 8

static size_t done;

/* The call that is measured: some work that no compiler removes. */
static void work(size_t count)
{
	done += count;
	for (size_t i = 0; i < 20 * count; i++)
		__asm__ volatile("");
}

static void crash(size_t count)
{
	(void)count;
	raise(SIGSEGV);
}

static double samples[CAPACITY + 1];

static struct timed_call case_of(loop_function *loop)
{
	return (struct timed_call){
		.call = call_loop(loop), .samples = samples, .capacity = CAPACITY};
}

static void start(struct sampler *sampler, struct timed_call *cases, size_t count)
{
	struct fact why = {0};

	*sampler = (struct sampler){.cases = cases, .count = count};
	assert_true(sampler_start(sampler, BATCH_NS, &why));
}

static void run_rounds(struct sampler *sampler, size_t rounds)
{
	const struct sampler_limits limits = {.rounds_least = rounds, .rounds_most = rounds};

	sampler_run(sampler, &limits);
}

static struct ns_stats stats_of(struct timed_call *one)
{
	struct ns_stats stats;

	ns_stats_compute(one, 1, &stats);
	return stats;
}

static void every_case_gets_the_same_number_of_batches(void **state)
{
	double others[CAPACITY];
	struct timed_call cases[3] = {case_of(work), case_of(NULL), case_of(work)};
	struct sampler sampler;

	(void)state;
	cases[2].samples = others;
	start(&sampler, cases, 3);
	run_rounds(&sampler, 5);
	assert_int_equal(sampler.rounds, 5);
	assert_int_equal(cases[0].batches.begun, 5);
	assert_int_equal(cases[1].batches.begun, 0);
	assert_int_equal(cases[1].count, 0);
	assert_int_equal(cases[2].batches.begun, 5);
}

static void each_batch_is_kept_or_discarded(void **state)
{
	struct timed_call one = case_of(work);
	struct sampler sampler;
	uint64_t discarded;

	(void)state;
	done = 0;
	start(&sampler, &one, 1);
	assert_true(one.iterations >= 1);
	assert_int_equal(one.count, 0);
	run_rounds(&sampler, CAPACITY);
	assert_int_equal(one.batches.begun, CAPACITY);
	assert_true(done >= CAPACITY * one.iterations);
	discarded = one.batches.preempted + one.batches.migrated + one.batches.too_short +
	            one.batches.stalled;
	assert_int_equal(one.count + discarded, one.batches.begun);
	for (size_t i = 0; i < one.count; i++)
		assert_true(one.least <= samples[i] && samples[i] > 0);
}

static void a_long_run_neither_overflows_its_samples_nor_forgets_its_minimum(void **state)
{
	struct timed_call one = case_of(work);
	struct sampler sampler;
	struct ns_stats stats;

	(void)state;
	samples[CAPACITY] = -1;
	start(&sampler, &one, 1);
	run_rounds(&sampler, 300);
	assert_true(samples[CAPACITY] == -1);
	assert_in_range(one.count, CAPACITY / 2, CAPACITY);
	stats = stats_of(&one);
	assert_true(fact_is_known(&stats.fact));
	assert_true(stats.ns.minimum == one.least);
	assert_true(stats.ns.minimum <= stats.ns.median);
	assert_int_equal(stats.ns.count, one.count);
}

/* Takes longer with each batch. */
static void work_more(size_t count)
{
	done += count;
	for (size_t i = 0; i < done * 100; i++)
		__asm__ volatile("");
}

/* A disturbance makes a sample longer, never shorter: the less of two is that of the work. */
static double less_of_two(const double *pair)
{
	return pair[0] < pair[1] ? pair[0] : pair[1];
}

/* The samples of a long run that is slow at its end are not those of its beginning alone. */
static void samples_span_the_whole_run(void **state)
{
	struct timed_call one = case_of(work_more);
	struct sampler sampler = {.cases = &one, .count = 1, .batch_ticks = BATCH_NS};

	(void)state;
	done = 0;
	one.iterations = 1;
	assert_true(timebase_start(&sampler.timebase, false));
	run_rounds(&sampler, 100 * CAPACITY);
	assert_in_range(one.count, CAPACITY / 2, CAPACITY);
	assert_true(less_of_two(samples + one.count - 2) > 2 * less_of_two(samples));
}

static void a_call_that_crashes_is_not_measured(void **state)
{
	struct timed_call one = case_of(crash);
	struct sampler sampler;
	struct ns_stats stats;

	(void)state;
	start(&sampler, &one, 1);
	run_rounds(&sampler, 3);
	assert_int_equal(one.signal, SIGSEGV);
	assert_int_equal(one.batches.begun, 0);
	stats = stats_of(&one);
	assert_false(fact_is_known(&stats.fact));
	assert_non_null(strstr(stats.fact.reason, "SIGSEGV"));
}

static void stop_ends_a_run_at_once(void **state)
{
	struct timed_call one = case_of(work);
	volatile bool stop = true;
	const struct sampler_limits limits = {
		.ns = INT64_MAX, .rounds_least = 10, .rounds_most = SIZE_MAX, .stop = &stop};
	struct sampler sampler;
	struct ns_stats stats;

	(void)state;
	start(&sampler, &one, 1);
	sampler_run(&sampler, &limits);
	assert_int_equal(one.batches.begun, 0);
	stats = stats_of(&one);
	assert_int_equal(stats.fact.state, FACT_UNREAD);
	assert_string_not_equal(stats.fact.reason, "");
}

static void a_call_that_is_not_available_is_absent(void **state)
{
	struct timed_call one = case_of(NULL);

	(void)state;
	assert_int_equal(stats_of(&one).fact.state, FACT_ABSENT);
}

/* Where the clock shows no difference there is no time, rather than 0.0 ns. */
static void a_call_too_short_for_the_clock_has_no_time(void **state)
{
	struct timed_call one = case_of(work);
	struct sampler sampler = {.cases = &one,
		.count = 1,
		.batch_ticks = BATCH_NS,
		.timebase = {.overhead = UINT64_MAX}};
	struct ns_stats stats;

	(void)state;
	one.iterations = 1;
	run_rounds(&sampler, 5);
	assert_int_equal(one.count, 0);
	assert_true(one.batches.too_short > 0);
	one.batches.too_short = one.batches.begun;
	stats = stats_of(&one);
	assert_int_equal(stats.fact.state, FACT_FAILED);
	assert_non_null(strstr(stats.fact.reason, "too short"));
}

/* On an overcommitted machine: better no number than a wrong one. */
static void disturbed_batches_alone_are_no_time(void **state)
{
	struct timed_call one = case_of(work);
	struct ns_stats stats;

	(void)state;
	one.batches.begun = one.batches.preempted = 40;
	stats = stats_of(&one);
	assert_int_equal(stats.fact.state, FACT_FAILED);
	assert_non_null(strstr(stats.fact.reason, "40"));
}

static void a_sleep_is_seen_as_a_switch(void **state)
{
	const struct timespec shortly = {.tv_nsec = 1000000};
	struct sched_mark before = sched_mark_take();

	(void)state;
	if (before.switches < 0)
		unit_skip("the kernel does not count context switches here");
	nanosleep(&shortly, NULL);
	assert_true(sched_mark_take().switches > before.switches);
}

static void spin(void *argument)
{
	(void)argument;
	for (;;)
		continue;
}

/* Either disturbs a batch, and neither makes up for the other. */
static void sleeps_and_preemptions_are_counted_together(void **state)
{
	struct deadline deadline = deadline_after(5000000000);
	struct rusage usage = {0};
	struct fact why = {0};
	pid_t rival;

	(void)state;
	if (getrusage(RUSAGE_THREAD, &usage) < 0 || cpus_pin_here() < 0)
		unit_skip("no switches are counted here, or no process is pinned");
	rival = child_start(spin, NULL, &deadline, &why);
	assert_true(rival > 0);
	while (usage.ru_nivcsw == 0 && deadline_left_ns(&deadline) > 0) {
		sched_yield();
		assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	}
	assert_true(sched_mark_take().switches >= usage.ru_nvcsw + usage.ru_nivcsw);
	child_end(rival, &deadline);
	assert_true(usage.ru_nivcsw > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_gets_the_same_number_of_batches),
		cmocka_unit_test(each_batch_is_kept_or_discarded),
		cmocka_unit_test(a_long_run_neither_overflows_its_samples_nor_forgets_its_minimum),
		cmocka_unit_test(samples_span_the_whole_run),
		cmocka_unit_test(a_call_that_crashes_is_not_measured),
		cmocka_unit_test(stop_ends_a_run_at_once),
		cmocka_unit_test(a_call_that_is_not_available_is_absent),
		cmocka_unit_test(a_call_too_short_for_the_clock_has_no_time),
		cmocka_unit_test(disturbed_batches_alone_are_no_time),
		cmocka_unit_test(a_sleep_is_seen_as_a_switch),
		cmocka_unit_test(sleeps_and_preemptions_are_counted_together),
	};

	return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
