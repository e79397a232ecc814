/* SPDX-License-Identifier: MIT */
/*
 * Times every call by every path, the counter and the cheapest system call, side by side in one
 * child: whatever drifts affects all of them alike.
 */
#include "measure/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/text.h"
#include "measure/counter.h"
#include "measure/cpus.h"
#include "measure/sampler.h"
#include "measure/statistics.h"
#include "measure/values.h"

#define ROUNDS_MAX 128
#define ROUNDS_LEAST 9

/*
 * How much is measured. A batch of 20 us is a thousand times what the timebase takes and a
 * hundredth of a time slice. To distinguish a call from one that enters the kernel and costs
 * several times as much, shorter ones are enough. The time is for each case, so that a call is
 * measured as well among few as among many.
 */
struct effort {
	int64_t batch_ns;
	int64_t case_ns;
};

static const struct effort whole = {.batch_ns = 20000, .case_ns = 570000};
static const struct effort brief = {.batch_ns = 5000, .case_ns = 40000};

/*
 * The effort where the times decide alone. On a guest whose CPU is taken away unseen, one batch in
 * 500 is several times too long: the 99th percentile of 50 batches is the longest, that of 1,000
 * leaves out ten.
 */
#define CLEARING_ROUNDS 1000
#define CLEARING_PASSES 4
#define CLEARING_BATCH_NS 10000
static const struct sampler_limits clearing = {
	.ns = 200000000, .rounds_least = ROUNDS_LEAST, .rounds_most = CLEARING_ROUNDS};

/* The cases beside each call by each path. */
enum other { SYSCALL_FLOOR, COUNTER, COUNTER_ORDERED, OTHER_COUNT };

struct cases {
	struct timed_call calls[CALL_MAX][PATH_COUNT];
	struct timed_call others[OTHER_COUNT];
};

#define CASE_COUNT (sizeof(struct cases) / sizeof(struct timed_call))

struct timing_job {
	const struct call_table *table;
	unsigned options;
	struct timing_evidence timing; /* its fact is the child's answer */
	struct call_evidence calls[CALL_MAX];
};

static void report_call(struct timed_call *timed, double ns_per_tick, struct path_evidence *path)
{
	struct ns_stats stats;

	if (!timed->call.function.any)
		return;
	path->signal = timed->signal;
	ns_stats_compute(timed, ns_per_tick, &stats);
	if (!fact_is_known(&stats.fact))
		return;
	path->min_ns = statistics_in_tenths(stats.ns.minimum);
	path->median_ns = statistics_in_tenths(stats.ns.median);
	path->p99_ns = statistics_in_tenths(stats.ns.p99);
	/* Less than half a tenth is not the time of a call. */
	path->timed = path->min_ns > 0;
}

/* The fact already has the reason if there is no function. */
static void report_other(
	const struct timed_call *timed, double ns_per_tick, double *ns, struct fact *fact)
{
	if (!timed->call.function.any)
		return;
	if (timed->count) {
		*ns = statistics_in_tenths(timed->least * ns_per_tick);
		fact_set_known(fact);
	} else {
		fact_set(fact, FACT_FAILED, "every measurement was disturbed");
	}
}

static void report(struct cases *cases, double ns_per_tick, struct timing_job *job)
{
	struct timing_evidence *timing = &job->timing;

	for (size_t i = 0; i < job->table->count; i++) {
		for (int path = 0; path < PATH_COUNT; path++)
			report_call(&cases->calls[i][path], ns_per_tick, &job->calls[i].path[path]);
	}
	report_other(&cases->others[SYSCALL_FLOOR], ns_per_tick, &timing->syscall_floor_ns,
		&timing->syscall_floor_fact);
	report_other(
		&cases->others[COUNTER], ns_per_tick, &timing->counter_ns, &timing->counter_fact);
	report_other(&cases->others[COUNTER_ORDERED], ns_per_tick, &timing->ordered_ns,
		&timing->ordered_fact);
}

/*
 * Times many batches of the deciding calls by the vDSO alone; a p99 found before is not raised.
 * True if they clear the host, or cannot.
 */
static bool measure_clearing_pass(struct timing_job *job)
{
	struct timed_call cases[CALL_MAX];
	double(*samples)[CLEARING_ROUNDS] = xcalloc(CALL_MAX, sizeof(*samples));
	struct sampler sampler = {.cases = cases, .count = job->table->count};
	struct fact why = {0};
	double ns_per_tick;
	bool clear = true;

	for (size_t i = 0; i < sampler.count; i++) {
		const struct call_evidence *call = &job->calls[i];

		cases[i] = (struct timed_call){.samples = samples[i], .capacity = CLEARING_ROUNDS};
		if (call->decides && call->path[PATH_VDSO].timed)
			cases[i].call = job->table->rows[i].path[PATH_VDSO];
	}
	if (!sampler_start(&sampler, CLEARING_BATCH_NS, &why)) {
		free(samples);
		return true;
	}
	sampler_run(&sampler, &clearing);
	ns_per_tick = timebase_ns_per_tick(&sampler.timebase);
	for (size_t i = 0; i < sampler.count; i++) {
		struct path_evidence *path = &job->calls[i].path[PATH_VDSO];
		struct ns_stats stats;

		ns_stats_compute(&cases[i], ns_per_tick, &stats);
		if (!fact_is_known(&stats.fact))
			continue;
		path->p99_ns = fmin(path->p99_ns, statistics_in_tenths(stats.ns.p99));
		clear = clear && path->p99_ns < job->timing.syscall_floor_ns / 2;
	}
	free(samples);
	return clear;
}

/*
 * With a proof, the verdict (slow, or a contradiction to be settled) rests on the times of one
 * call; without one, on those of each; never on those by libc.
 */
static bool bears_on_verdict(const struct timing_job *job, size_t row, int path)
{
	return path != PATH_LIBC &&
	       (job->options & TIMING_ALONE ||
		       strcmp(job->table->rows[row].clock, "CLOCK_MONOTONIC") == 0);
}

static void fill_cases(struct timing_job *job, struct cases *cases)
{
	struct timing_evidence *timing = &job->timing;
	bool is_brief = job->options & TIMING_BRIEF;

	for (size_t i = 0; i < job->table->count; i++) {
		for (int path = 0; path < PATH_COUNT; path++) {
			if (!is_brief || bears_on_verdict(job, i, path))
				cases->calls[i][path].call = job->table->rows[i].path[path];
		}
	}
	text_copy(timing->counter, sizeof(timing->counter), counter_name());
	counter_probe(&timing->counter_fact);
	timing->ordered_fact = timing->counter_fact;
	if (is_brief)
		fact_set(&timing->ordered_fact, FACT_UNREAD, "no verdict rests on it");
	cases->others[SYSCALL_FLOOR].call = call_syscall_floor();
	if (fact_is_known(&timing->counter_fact))
		cases->others[COUNTER].call = call_loop(counter_repeat);
	if (fact_is_known(&timing->ordered_fact))
		cases->others[COUNTER_ORDERED].call = call_loop(counter_repeat_ordered);
}

static void time_calls(void *argument)
{
	struct cases cases = {0};
	double(*samples)[ROUNDS_MAX] = xcalloc(CASE_COUNT, sizeof(*samples));
	struct timing_job *job = argument;
	const struct effort *effort = job->options & TIMING_BRIEF ? &brief : &whole;
	struct sampler sampler = {.cases = &cases.calls[0][0], .count = CASE_COUNT};
	struct sampler_limits limits = {.rounds_least = ROUNDS_LEAST, .rounds_most = ROUNDS_MAX};
	int cpu = cpus_pin_here();

	if (cpu >= 0)
		fact_set_number(&job->timing.cpu, cpu);
	else
		fact_set(&job->timing.cpu.fact, FACT_DENIED,
			"the process could not be pinned to a CPU");
	values_compare(job->table, job->calls);
	fill_cases(job, &cases);
	for (size_t i = 0; i < CASE_COUNT; i++) {
		sampler.cases[i].samples = samples[i];
		sampler.cases[i].capacity = ROUNDS_MAX;
		limits.ns += sampler.cases[i].call.function.any ? effort->case_ns : 0;
	}
	if (!sampler_start(&sampler, effort->batch_ns, &job->timing.fact)) {
		free(samples);
		return;
	}
	sampler_run(&sampler, &limits);
	job->timing.batches = (unsigned)sampler.rounds;
	report(&cases, timebase_ns_per_tick(&sampler.timebase), job);
	free(samples);
	/* Noise comes in bursts: another pass a little later may have none. */
	for (int i = 0; i < CLEARING_PASSES && job->options & TIMING_ALONE; i++) {
		struct timespec pause = {.tv_nsec = 20000000};

		if (measure_clearing_pass(job))
			break;
		nanosleep(&pause, NULL);
	}
	fact_set_known(&job->timing.fact);
}

void timing_measure(const struct call_table *table, unsigned options,
	struct timing_evidence *timing, struct call_evidence *calls,
	const struct deadline *deadline)
{
	struct timing_job job = {.table = table, .options = options};
	size_t size = table->count * sizeof(*calls);
	struct fact why = {0};

	memcpy(job.calls, calls, size);
	if (child_compute(time_calls, &job, sizeof(job), deadline, &why)) {
		*timing = job.timing;
		memcpy(calls, job.calls, size);
	} else {
		timing->fact = why;
	}
}
