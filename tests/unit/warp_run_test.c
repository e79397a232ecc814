/* SPDX-License-Identifier: MIT */
/*
 * Time warps: injected ones are found, and none are found where there are none. No test asserts
 * an absolute time: the offsets are the test's own, and the bounds have to hold them. The linker
 * wraps warp_clock_read() (see tests.mk), so that a test can shift what every second CPU reads.
 */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "measure/cpus.h"
#include "measure/timebase.h"
#include "measure/vdso.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"
#include "warp/model.h"

#define SHORT_NS 100000000

/* Processes that burn CPU time. */
#define LOAD 6

static struct call_table calls;
static struct warp_job *job;
static struct warp_evidence warp;

/* What every second CPU's readings are shifted by; 0: nothing. */
static int64_t injected_ns;
static double ns_per_tick = 1;
static bool kernel_is_late; /* the raw system call returns what it returned a second ago */
static bool some_fail;      /* some readings, as where a filter or a debugger lets a call fail */

int64_t __real_warp_clock_read(const struct warp_clock *clock, unsigned turn);
int64_t __wrap_warp_clock_read(const struct warp_clock *clock, unsigned turn);

/* A worker stays on its CPU. */
static bool is_second_cpu(void)
{
	static __thread enum { UNKNOWN, FIRST, SECOND } place;
	int cpu = sched_getcpu();

	for (size_t i = 0; place == UNKNOWN && i < job->warp.cpu_count; i++) {
		if (job->warp.cpus[i] == cpu)
			place = i % 2 ? SECOND : FIRST;
	}
	return place == SECOND;
}

int64_t __wrap_warp_clock_read(const struct warp_clock *clock, unsigned turn)
{
	int64_t reading = __real_warp_clock_read(clock, turn);

	if (some_fail && turn % 100 == 50)
		return 0;
	if (kernel_is_late &&
		clock->paths[1].call.function.any != clock->paths[0].call.function.any)
		return turn & 1 ? reading - NS_PER_SECOND : reading;
	if (!injected_ns || !is_second_cpu())
		return reading;
	if (clock->paths[0].counter)
		return reading + (int64_t)((double)injected_ns / ns_per_tick);
	return reading + injected_ns;
}

static double calibrate(void)
{
	static const struct timespec pause = {.tv_nsec = 10000000};
	struct clock_mark start = clock_mark_take(CLOCK_MONOTONIC_RAW), end;

	nanosleep(&pause, NULL);
	end = clock_mark_take(CLOCK_MONOTONIC_RAW);
	return clock_marks_ns_per_tick(&start, &end);
}

static int set_up(void **state)
{
	static struct evidence evidence;
	struct vdso_image image;
	struct fact why;

	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	counter_probe(&why);
	if (fact_is_known(&why))
		ns_per_tick = calibrate();
	return 0;
}

static void measure(const struct call_table *table, int64_t duration_ns)
{
	struct fact why = {0};

	job = child_share(sizeof(*job), &why);
	assert_non_null(job);
	job->calls = table;
	job->duration_ns = duration_ns;
	warp_measure(job);
	warp = job->warp;
	child_unshare(job, sizeof(*job));
}

/* False if a busy machine did not let it end in its time. */
static bool watch_in_time(int64_t duration_ns, int64_t inject_ns)
{
	injected_ns = inject_ns;
	measure(&calls, duration_ns);
	injected_ns = 0;
	if (warp.fact.state == FACT_LATE)
		return false;
	assert_string_equal(warp.fact.reason, "");
	assert_int_equal(warp.fact.state, FACT_KNOWN);
	return true;
}

static void watch(int64_t duration_ns, int64_t inject_ns)
{
	assert_true(watch_in_time(duration_ns, inject_ns));
}

static bool may_read_counter(void)
{
	struct fact counter = {0};

	counter_probe(&counter);
	return fact_is_known(&counter);
}

static void need_two_cpus(void)
{
	static int cpus[CPUS_MAX];

	if (cpus_list(cpus, CPUS_MAX) < 2)
		unit_skip("there is one CPU only");
}

static bool is_watched(enum warp_clock_id id)
{
	return fact_is_known(&warp.results[id].fact);
}

static void reports_none_on_synchronized_clocks(void **state)
{
	(void)state;
	watch(SHORT_NS, 0);
	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		assert_int_equal(warp.results[id].warps, 0);
		assert_int_equal(warp.results[id].largest_ns, 0);
		if (is_watched((enum warp_clock_id)id))
			assert_true(warp.results[id].reads > 0);
	}
	assert_true(warp.duration_s * NS_PER_SECOND >= SHORT_NS);
}

static void a_reading_that_fails_is_no_warp(void **state)
{
	some_fail = true;
	reports_none_on_synchronized_clocks(state);
	some_fail = false;
}

/* A value needs time from CPU to CPU: no program can see a warp that is smaller. */
#define NEAR_ENOUGH_NS 60
#define TRIES 10
#define INVISIBLE_TRIES 6

/* The clocks that an injected warp was found in, how often it was missed in each, and in how many
 * tries no clock could show it. */
static bool found_in[WARP_CLOCK_COUNT];
static unsigned missed_in[WARP_CLOCK_COUNT];
static unsigned invisible;

/* A hypervisor or other load may keep our CPUs apart: then the run itself shows larger gaps. */
static bool was_visible(enum warp_clock_id id, int64_t offset_ns)
{
	const struct number_fact *apart = &warp.results[id].max_offset;

	return fact_is_known(&apart->fact) && apart->value - llabs(offset_ns) < NEAR_ENOUGH_NS;
}

/* True if it was found in all of them in this try. */
static bool find_injected(int64_t offset_ns)
{
	/* Microseconds do not show a gap of some ns: the last one is visible where the others are.
	 */
	static const enum warp_clock_id ids[] = {
		WARP_COUNTER, WARP_MONOTONIC, WARP_REALTIME, WARP_TIMEOFDAY};
	bool all = true, visible = true;

	if (!watch_in_time(NS_PER_SECOND / 4, offset_ns))
		return false;
	for (size_t i = 0; i < COUNT(ids); i++) {
		const struct warp_result *result = &warp.results[ids[i]];

		if (ids[i] != WARP_TIMEOFDAY && is_watched(ids[i]))
			visible &= was_visible(ids[i], offset_ns);
		if (!is_watched(ids[i]) || (result->warps > 0 && result->largest_ns > 0)) {
			found_in[ids[i]] = true;
			continue;
		}
		all = false;
		missed_in[ids[i]] += visible;
	}
	invisible += !visible;
	return all;
}

static void start_tries(void)
{
	memset(found_in, 0, sizeof(found_in));
	memset(missed_in, 0, sizeof(missed_in));
	invisible = 0;
}

static bool was_found_in_all(void)
{
	return found_in[WARP_COUNTER] && found_in[WARP_MONOTONIC] && found_in[WARP_REALTIME] &&
	       found_in[WARP_TIMEOFDAY];
}

/* Skips the test if the warp was hardly ever visible where it was not found. */
static void expect_hardly_visible(unsigned tries)
{
	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		assert_true(found_in[id] || missed_in[id] <= tries / 2);
	unit_skip("the CPUs hear of each other too late to see 100 ns");
}

static void expect_injected(int64_t offset_ns)
{
	start_tries();
	for (int i = 0; i < TRIES && invisible < INVISIBLE_TRIES; i++) {
		if (find_injected(offset_ns))
			return;
	}
	expect_hardly_visible(TRIES);
}

/* A warp cannot be larger than the offset: what was read later was read later. */
static void expect_sizes(enum warp_clock_id id, uint64_t offset_ns)
{
	if (is_watched(id))
		assert_in_range((uint64_t)warp.results[id].largest_ns, 1, offset_ns);
}

static void finds_100_ns(void **state)
{
	(void)state;
	need_two_cpus();
	expect_injected(100);
	expect_sizes(WARP_MONOTONIC, 100);
	expect_sizes(WARP_REALTIME, 100);
	assert_int_not_equal(
		warp.results[WARP_MONOTONIC].cpu_behind, warp.results[WARP_MONOTONIC].cpu_ahead);
	assert_true(warp.results[WARP_MONOTONIC].max_offset.value >= 100);
}

static void finds_100_ns_in_either_direction(void **state)
{
	(void)state;
	need_two_cpus();
	expect_injected(-100);
	if (warp.cpu_count > 2)
		unit_skip("with more CPUs any pair may be the worst");
	assert_int_equal(warp.results[WARP_MONOTONIC].cpu_behind, warp.cpus[1]);
	assert_int_equal(warp.results[WARP_MONOTONIC].cpu_ahead, warp.cpus[0]);
}

/* On a busy machine two CPUs may not run at the same time in one watch: then there are no bounds,
 * and a longer one follows.
 */
#define LONGER_WATCHES 5
#define SELDOM_TOGETHER "the CPUs do not run at the same time: other processes have them"

static const struct warp_pair *watch_worst_pair(int64_t offset_ns)
{
	watch(SHORT_NS, offset_ns);
	for (int i = 1; i <= LONGER_WATCHES && warp.worst.fact.state == FACT_UNREAD; i++)
		watch(SHORT_NS << i, offset_ns);
	return &warp.worst;
}

static void the_bounds_hold_the_offset(void **state)
{
	static const int64_t offsets[] = {0, 100, -100, 5000, -1000000};

	(void)state;
	need_two_cpus();
	for (size_t i = 0; i < COUNT(offsets); i++) {
		const struct warp_pair *pair;

		if (!may_read_counter())
			unit_skip("the counter cannot be read");
		pair = watch_worst_pair(offsets[i]);
		if (pair->fact.state == FACT_UNREAD)
			unit_skip(SELDOM_TOGETHER);
		assert_int_equal(pair->fact.state, FACT_KNOWN);
		if (warp.cpu_count > 2)
			unit_skip("with more CPUs any pair may be the worst");
		/* The counters themselves may be as far apart as the run without offset says. */
		assert_true(fabs(pair->offset_ns - (double)offsets[i]) <=
			    pair->error_ns * 2 + 1 + fabs((double)offsets[i]) / 1000);
	}
}

static void clocks_that_disagree_have_no_offset(void **state)
{
	const struct warp_result *result = &warp.results[WARP_KERNEL];

	(void)state;
	need_two_cpus();
	kernel_is_late = true;
	watch_worst_pair(0);
	kernel_is_late = false;
	if (!is_watched(WARP_KERNEL))
		unit_skip("no vDSO function to compare with the kernel");
	if (warp.results[WARP_MONOTONIC].max_offset.fact.state == FACT_FAILED)
		unit_skip(SELDOM_TOGETHER);
	assert_in_range((uint64_t)result->largest_ns, NS_PER_SECOND / 2, NS_PER_SECOND);
	assert_int_equal(result->max_offset.fact.state, FACT_FAILED);
	assert_true(fact_is_known(&warp.results[WARP_MONOTONIC].max_offset.fact));
}

static pid_t start_burner(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(60);
		for (;;)
			__asm__ volatile("");
	}
	return pid;
}

static void start_load(pid_t burners[LOAD])
{
	for (size_t i = 0; i < LOAD; i++)
		burners[i] = start_burner();
}

static void end_load(const pid_t burners[LOAD])
{
	for (size_t i = 0; i < LOAD; i++) {
		kill(burners[i], SIGKILL);
		waitpid(burners[i], NULL, 0);
	}
}

static void reports_none_under_load(void **state)
{
	pid_t burners[LOAD];

	(void)state;
	start_load(burners);
	watch(SHORT_NS, 0);
	end_load(burners);
	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		assert_int_equal(warp.results[id].warps, 0);
}

static void finds_100_ns_under_load(void **state)
{
	pid_t burners[LOAD];

	(void)state;
	need_two_cpus();
	start_tries();
	/* Microseconds show it in few readings, and under load maybe in none. */
	found_in[WARP_TIMEOFDAY] = true;
	start_load(burners);
	for (int i = 0; i < 3 * TRIES && invisible < INVISIBLE_TRIES && !was_found_in_all(); i++)
		find_injected(100);
	end_load(burners);
	if (!was_found_in_all())
		expect_hardly_visible(3 * TRIES);
}

static const struct number_fact several = {.fact.state = FACT_KNOWN, .value = 2};
static const struct number_fact one_cpu = {.fact.state = FACT_KNOWN, .value = 1};

static void runs_on_the_allowed_cpus_only(void **state)
{
	cpu_set_t all, one;
	struct report verdict;

	(void)state;
	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	watch(SHORT_NS, 0);
	sched_setaffinity(0, sizeof(all), &all);
	assert_int_equal(warp.cpu_count, 1);
	assert_int_equal(warp.worst.fact.state, FACT_ABSENT);
	warp_judge(&warp, &several, &verdict);
	assert_string_equal(verdict.rule, "one-cpu-allowed");
	assert_int_equal(verdict.exit_status, 2);
	warp_judge(&warp, &one_cpu, &verdict);
	assert_string_equal(verdict.rule, "one-cpu");
	assert_int_equal(verdict.exit_status, 0);
}

static void gives_the_reason_where_no_clock_can_be_read(void **state)
{
	static const struct call_table none;
	struct report verdict;

	(void)state;
	measure(&none, SHORT_NS / 10);
	assert_int_equal(warp.results[WARP_MONOTONIC].fact.state, FACT_ABSENT);
	warp_judge(&warp, &several, &verdict);
	assert_string_equal(verdict.rule, may_read_counter() ? "not-read" : "not-tested");
}

static void a_clock_that_is_not_set_is_not_reported_as_set(void **state)
{
	int timer = settime_timer_open();

	(void)state;
	assert_false(settime_timer_fired(-1));
	if (timer < 0)
		unit_skip("no timer that is cancelled on set");
	assert_false(settime_timer_fired(timer));
	close(timer);
}

static void a_steady_counter_has_no_drift(void **state)
{
	const struct clock_mark marks[] = {{1000000, 100, 5},
		{1000000 + 2000000000, 100, 5 + NS_PER_SECOND},
		{1000000 + 4000000000, 100, 5 + 2LL * NS_PER_SECOND}};
	struct warp_drift drift = {0};

	(void)state;
	warp_drift_compute(marks, &drift);
	assert_int_equal(drift.fact.state, FACT_KNOWN);
	assert_true(fabs(drift.counter_hz - 2e9) < 1);
	assert_true(fabs(drift.drift_ppm) < 1e-6);
	assert_true(drift.error_ppm > 0 && drift.error_ppm < 1);
}

static void a_counter_that_speeds_up_has_drift(void **state)
{
	const struct clock_mark marks[] = {{1000, 10, 5},
		{1000 + 1000000000, 10, 5 + NS_PER_SECOND},
		{1000 + 2000100000, 10, 5 + 2LL * NS_PER_SECOND}};
	struct warp_drift drift = {0};

	(void)state;
	warp_drift_compute(marks, &drift);
	assert_true(fabs(drift.drift_ppm - 100) < 0.001);
}

static void a_drift_that_cannot_be_measured_has_a_reason(void **state)
{
	const struct clock_mark marks[] = {{1000, 10, 5}, {1100, 10, 50}, {1200, 10, 100}};
	const struct clock_mark refused[] = {{1000, 10, 0}, {1100, 10, 0}, {1200, 10, 0}};
	struct warp_drift drift = {0};

	(void)state;
	warp_drift_compute(marks, &drift);
	assert_int_equal(drift.fact.state, FACT_FAILED);
	warp_drift_compute(refused, &drift);
	assert_int_equal(drift.fact.state, FACT_DENIED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_none_on_synchronized_clocks),
		cmocka_unit_test(a_reading_that_fails_is_no_warp),
		cmocka_unit_test(finds_100_ns),
		cmocka_unit_test(finds_100_ns_in_either_direction),
		cmocka_unit_test(the_bounds_hold_the_offset),
		cmocka_unit_test(clocks_that_disagree_have_no_offset),
		cmocka_unit_test(reports_none_under_load),
		cmocka_unit_test(finds_100_ns_under_load),
		cmocka_unit_test(runs_on_the_allowed_cpus_only),
		cmocka_unit_test(gives_the_reason_where_no_clock_can_be_read),
		cmocka_unit_test(a_clock_that_is_not_set_is_not_reported_as_set),
		cmocka_unit_test(a_steady_counter_has_no_drift),
		cmocka_unit_test(a_counter_that_speeds_up_has_drift),
		cmocka_unit_test(a_drift_that_cannot_be_measured_has_a_reason),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
