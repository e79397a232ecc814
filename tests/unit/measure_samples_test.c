/* SPDX-License-Identifier: MIT */
/* measure/samples, statistics: what is counted, kept and discarded. No times asserted. */
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "measure/cpus.h"
#include "measure/samples.h"
#include "measure/statistics.h"
#include "unit/unit.h"

#define BATCH_NS 20000
#define CAPACITY 8

static size_t done;

/* The thing that is measured: some work that no compiler removes. */
static void work(const void *subject, size_t count)
{
	(void)subject;
	done += count;
	for (size_t i = 0; i < 20 * count; i++)
		__asm__ volatile("");
}

static void crash(const void *subject, size_t count)
{
	(void)subject;
	(void)count;
	raise(SIGSEGV);
}

static bool start(struct sampler *sampler, struct series *series, size_t count)
{
	struct fact why = {0};

	*sampler = (struct sampler){.series = series, .count = count};
	return sampler_start(sampler, false, BATCH_NS, &why);
}

static void run_rounds(struct sampler *sampler, size_t rounds)
{
	const struct sampler_limits limits = {.rounds_least = rounds, .rounds_most = rounds};

	sampler_run(sampler, &limits);
}

static void every_series_gets_the_same_batches(void **state)
{
	double samples[3][CAPACITY];
	struct series series[3] = {
		{.repeat = work, .samples = samples[0], .capacity = CAPACITY},
		{.repeat = NULL, .samples = samples[1], .capacity = CAPACITY},
		{.repeat = work, .samples = samples[2], .capacity = CAPACITY},
	};
	struct sampler sampler;

	(void)state;
	assert_true(start(&sampler, series, 3));
	run_rounds(&sampler, 5);
	assert_int_equal(sampler.rounds, 5);
	assert_int_equal(series[0].batches, 5);
	assert_int_equal(series[1].batches, 0);
	assert_false(series_is_measured(&series[1]));
	assert_int_equal(series[2].batches, 5);
}

static void each_batch_is_kept_or_thrown_away(void **state)
{
	double samples[CAPACITY];
	struct series series = {.repeat = work, .samples = samples, .capacity = CAPACITY};
	struct sampler sampler;
	uint64_t discarded;

	(void)state;
	assert_true(start(&sampler, &series, 1));
	run_rounds(&sampler, CAPACITY);
	discarded = series.preempted + series.moved + series.too_short + series.stalled;
	assert_int_equal(series.count + discarded, series.batches);
	for (size_t i = 0; i < series.count; i++)
		assert_true(series.least <= samples[i] && samples[i] > 0);
}

/* A long run must neither overflow its samples nor forget its minimum. */
static void more_batches_than_samples(void **state)
{
	double samples[CAPACITY + 1] = {0};
	struct series series = {.repeat = work, .samples = samples, .capacity = CAPACITY};
	struct sampler sampler;
	struct ns_stats stats;

	(void)state;
	samples[CAPACITY] = -1;
	assert_true(start(&sampler, &series, 1));
	run_rounds(&sampler, 300);
	assert_true(samples[CAPACITY] == -1);
	assert_in_range(series.count, CAPACITY / 2, CAPACITY);
	ns_stats_find(&series, 1, &stats);
	assert_true(fact_is_known(&stats.fact));
	assert_true(stats.min_ns == series.least);
	assert_true(stats.min_ns <= stats.median_ns);
	assert_int_equal(stats.samples, series.count);
}

/* Takes longer with each batch. */
static void work_more(const void *subject, size_t count)
{
	done += count;
	for (size_t i = 0; i < done * 100; i++)
		__asm__ volatile("");
	(void)subject;
}

/* The samples of a long run that is slow at its end are not those of its beginning alone. */
static void samples_span_the_whole_run(void **state)
{
	double samples[CAPACITY];
	struct series series = {
		.repeat = work_more, .iterations = 1, .samples = samples, .capacity = CAPACITY};
	struct timebase timebase;

	(void)state;
	done = 0;
	assert_true(timebase_start(&timebase, false));
	for (int i = 0; i < 100 * CAPACITY; i++)
		series_take_batch(&series, &timebase, BATCH_NS);
	assert_in_range(series.count, CAPACITY / 2, CAPACITY);
	assert_true(samples[series.count - 1] > 2 * samples[0]);
}

static void what_crashes_is_not_measured(void **state)
{
	double samples[CAPACITY];
	struct series series = {.repeat = crash, .samples = samples, .capacity = CAPACITY};
	struct sampler sampler;
	struct ns_stats stats;

	(void)state;
	assert_true(start(&sampler, &series, 1));
	run_rounds(&sampler, 3);
	assert_int_equal(series.signal, SIGSEGV);
	assert_int_equal(series.batches, 0);
	ns_stats_find(&series, 1, &stats);
	assert_false(fact_is_known(&stats.fact));
	assert_non_null(strstr(stats.fact.reason, "SIGSEGV"));
}

static void stop_ends_it_at_once(void **state)
{
	double samples[CAPACITY];
	struct series series = {.repeat = work, .samples = samples, .capacity = CAPACITY};
	volatile bool stop = true;
	const struct sampler_limits limits = {
		.ns = INT64_MAX, .rounds_least = 10, .rounds_most = SIZE_MAX, .stop = &stop};
	struct sampler sampler;
	struct ns_stats stats;

	(void)state;
	assert_true(start(&sampler, &series, 1));
	sampler_run(&sampler, &limits);
	assert_int_equal(series.batches, 0);
	ns_stats_find(&series, 1, &stats);
	assert_int_equal(stats.fact.state, FACT_UNREAD);
	assert_string_not_equal(stats.fact.reason, "");
}

static void what_does_not_exist_says_so(void **state)
{
	struct series series = {.repeat = NULL};
	struct ns_stats stats;

	(void)state;
	ns_stats_find(&series, 1, &stats);
	assert_int_equal(stats.fact.state, FACT_ABSENT);
}

/* Where the clock tells no difference there is no time, rather than 0.0 ns. */
static void what_is_too_short_for_the_clock_has_no_price(void **state)
{
	double samples[CAPACITY];
	struct series series = {
		.repeat = work, .iterations = 1, .samples = samples, .capacity = CAPACITY};
	const struct timebase coarse = {.overhead = UINT64_MAX};
	struct ns_stats stats;

	(void)state;
	for (int i = 0; i < 5; i++)
		series_take_batch(&series, &coarse, BATCH_NS);
	assert_int_equal(series.count, 0);
	assert_true(series.too_short > 0);
	series.too_short = series.batches;
	ns_stats_find(&series, 1, &stats);
	assert_int_equal(stats.fact.state, FACT_FAILED);
	assert_non_null(strstr(stats.fact.reason, "too short"));
}

/* On an overcommitted machine: better no number than a wrong one. */
static void nothing_but_disturbed_batches_is_no_price(void **state)
{
	struct series series = {.repeat = work, .batches = 40, .preempted = 40};
	struct ns_stats stats;

	(void)state;
	ns_stats_find(&series, 1, &stats);
	assert_int_equal(stats.fact.state, FACT_FAILED);
	assert_non_null(strstr(stats.fact.reason, "40"));
}

static void two_marks_show_what_happened_in_between(void **state)
{
	const struct sched_mark here = {.switches = 7, .cpu = 1};
	const struct sched_mark preempted = {.switches = 8, .cpu = 1};
	const struct sched_mark moved = {.switches = 8, .cpu = 0};
	const struct sched_mark unknown = {.switches = -1, .cpu = -1};

	(void)state;
	assert_int_equal(sched_mark_compare(here, here), SCHED_UNCHANGED);
	assert_int_equal(sched_mark_compare(here, preempted), SCHED_SWITCHED);
	assert_int_equal(sched_mark_compare(here, moved), SCHED_MIGRATED);
	assert_int_equal(sched_mark_compare(unknown, unknown), SCHED_UNCHANGED);
}

static void a_call_that_sleeps_is_seen(void **state)
{
	const struct timespec shortly = {.tv_nsec = 1000000};
	struct sched_mark before = sched_mark_take();

	(void)state;
	if (before.switches < 0)
		unit_skip("the kernel does not count context switches here");
	nanosleep(&shortly, NULL);
	assert_int_not_equal(sched_mark_compare(before, sched_mark_take()), SCHED_UNCHANGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_series_gets_the_same_batches),
		cmocka_unit_test(each_batch_is_kept_or_thrown_away),
		cmocka_unit_test(more_batches_than_samples),
		cmocka_unit_test(samples_span_the_whole_run),
		cmocka_unit_test(what_crashes_is_not_measured),
		cmocka_unit_test(stop_ends_it_at_once),
		cmocka_unit_test(what_does_not_exist_says_so),
		cmocka_unit_test(what_is_too_short_for_the_clock_has_no_price),
		cmocka_unit_test(nothing_but_disturbed_batches_is_no_price),
		cmocka_unit_test(two_marks_show_what_happened_in_between),
		cmocka_unit_test(a_call_that_sleeps_is_seen),
	};

	return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
