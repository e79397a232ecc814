/* SPDX-License-Identifier: MIT */
#include "measure/bench_crowd.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

#include "base/child.h"
#include "base/fault.h"
#include "base/kernel_clock.h"
#include "measure/affinity.h"
#include "measure/counter.h"
#include "measure/sampler.h"
#include "measure/statistics.h"

#define CHUNK_NS 20000
#define ROUNDS_LEAST 15
#define SAMPLES_MAX 4096
#define SLACK_SECONDS 60
#define NS_PER_SECOND 1000000000

/* Alone and together in turn, so that both see the machine at its best. */
#define TURNS 4

/* Who has not come to the start by then is not waited for. */
#define START_NS 2000000000

static const struct timespec short_while = {.tv_nsec = 1000000};

/* One gathering of threads, in memory that they share. */
struct gathering {
	struct bench *bench;
	const struct call *call;
	int64_t ns;
	volatile bool go;
	unsigned ready;
	int signal;                        /* that the call ended with */
	double medians[BENCH_THREADS_MAX]; /* ns; 0: nothing measured */
};

struct member {
	struct gathering *gathering;
	unsigned index;
	int cpu;
};

static bool may_read_counter(void)
{
	struct fact counter = {0};

	counter_probe(&counter);
	return fact_is_known(&counter);
}

static void wait_for_the_others(struct gathering *gathering)
{
	__atomic_add_fetch(&gathering->ready, 1, __ATOMIC_SEQ_CST);
	while (!gathering->go && !gathering->bench->stop)
		sched_yield();
}

static void be_member(void *argument)
{
	static double samples[SAMPLES_MAX];
	const struct member *member = argument;
	struct gathering *gathering = member->gathering;
	struct series series = {.repeat = series_repeat_call,
		.subject = gathering->call,
		.samples = samples,
		.capacity = SAMPLES_MAX};
	struct sampler sampler = {.series = &series, .count = 1};
	const struct sampler_limits limits = {.ns = gathering->ns,
		.rounds_least = ROUNDS_LEAST,
		.rounds_most = SIZE_MAX,
		.stop = &gathering->bench->stop};

	affinity_pin(member->cpu);
	if (!sampler_start(&sampler, may_read_counter(), CHUNK_NS))
		return;
	if (series.signal)
		gathering->signal = series.signal;
	wait_for_the_others(gathering);
	sampler_run(&sampler, &limits);
	gathering->medians[member->index] =
		statistics_median(series.samples, series.count) * sampler_ns_per_tick(&sampler);
}

static void give_the_start(struct gathering *gathering, unsigned members)
{
	int64_t until = kernel_clock_ns(CLOCK_MONOTONIC) + START_NS;

	while (__atomic_load_n(&gathering->ready, __ATOMIC_SEQ_CST) < members &&
		kernel_clock_ns(CLOCK_MONOTONIC) < until)
		nanosleep(&short_while, NULL);
	gathering->go = true;
}

/* False with the reason if one of them was not to be had or did not come to its end. */
static bool gather(struct gathering *gathering, unsigned threads, const struct bench_plan *plan,
	struct fact *why)
{
	unsigned seconds = (unsigned)(gathering->ns / NS_PER_SECOND) + SLACK_SECONDS;
	unsigned started = 0;
	bool well = true;
	int status;

	gathering->go = false;
	gathering->ready = 0;
	gathering->signal = 0;
	while (started < threads && well) {
		struct member member = {gathering, started, plan->cpus[started % plan->cpu_count]};

		well = child_start(be_member, &member, seconds, why) > 0;
		started += well;
	}
	give_the_start(gathering, started);
	while (started > 0) {
		if (wait(&status) > 0) {
			well = child_judge(status, seconds, why) && well;
			started--;
		} else if (errno != EINTR) {
			break;
		}
	}
	return well;
}

static size_t drop_unmeasured(double *medians, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (medians[i] > 0)
			medians[kept++] = medians[i];
	}
	return kept;
}

/* The median over the threads, and the slowest of them. False if nothing was measured. */
static bool sum_up(struct gathering *gathering, unsigned threads, double *median, double *slowest)
{
	size_t count = drop_unmeasured(gathering->medians, threads);

	*median = statistics_median(gathering->medians, count);
	*slowest = count ? gathering->medians[count - 1] : 0;
	return count > 0;
}

/* Unless a reason is there already. */
static void explain(const struct gathering *gathering, struct fact *fact)
{
	if (gathering->signal)
		fact_set(fact, FACT_FAILED, "the call ends with %s",
			fault_signal_name(gathering->signal));
	else if (!fact->reason[0])
		fact_set(fact, FACT_FAILED, "no chunk was left undisturbed");
}

/* Once alone and once together; each time the less disturbed of the turns stays. */
static bool measure_turn(
	struct gathering *gathering, const struct bench_plan *plan, struct bench_crowd *crowd)
{
	double alone, together, slowest;

	if (!gather(gathering, 1, plan, &crowd->fact) || !sum_up(gathering, 1, &alone, &slowest) ||
		!gather(gathering, plan->threads, plan, &crowd->fact) ||
		!sum_up(gathering, plan->threads, &together, &slowest))
		return false;
	if (crowd->alone_ns <= 0 || alone < crowd->alone_ns)
		crowd->alone_ns = alone;
	if (crowd->together_ns <= 0 || together < crowd->together_ns) {
		crowd->together_ns = together;
		crowd->slowest_ns = slowest;
	}
	return true;
}

static void measure_crowd(
	struct gathering *gathering, const struct bench_plan *plan, struct bench_crowd *crowd)
{
	bool well = true;

	if (!gathering->call->function.any) {
		fact_set(&crowd->fact, FACT_ABSENT, "there is no such call here");
		return;
	}
	for (int turn = 0; turn < TURNS && well && !gathering->bench->stop; turn++)
		well = measure_turn(gathering, plan, crowd);
	if (well && crowd->together_ns > 0)
		fact_set_known(&crowd->fact);
	else
		explain(gathering, &crowd->fact);
}

static uint64_t count_subjects(const struct bench_plan *plan)
{
	struct bench_subject subject;
	const struct call *call;
	uint64_t count = 0;

	for (size_t at = 0; bench_next(plan, &at, &subject, &call);)
		count++;
	return count;
}

static void measure_all(struct gathering *gathering, struct bench *bench,
	const struct bench_plan *plan, bench_progress *progress)
{
	for (size_t at = 0; !bench->stop; bench->done++) {
		struct bench_crowd *crowd = &bench->crowds[bench->crowd_count];

		if (!bench_next(plan, &at, &crowd->subject, &gathering->call))
			break;
		if (progress)
			progress(bench);
		bench->crowd_count++;
		crowd->threads = plan->threads;
		crowd->cpus =
			plan->threads < plan->cpu_count ? plan->threads : (unsigned)plan->cpu_count;
		measure_crowd(gathering, plan, crowd);
	}
}

void bench_crowd_all(struct bench *bench, const struct bench_plan *plan, bench_progress *progress)
{
	struct gathering *gathering = child_share(sizeof(*gathering), &bench->fact);

	if (!gathering)
		return;
	bench->done = 0;
	bench->total = count_subjects(plan);
	gathering->bench = bench;
	gathering->ns = plan->time_ns / 2 / TURNS / (int64_t)(bench->total ? bench->total : 1);
	measure_all(gathering, bench, plan, progress);
	bench->stopped = bench->stop;
	child_unshare(gathering, sizeof(*gathering));
	fact_set_known(&bench->fact);
}
