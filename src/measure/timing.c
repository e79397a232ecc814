/* SPDX-License-Identifier: MIT */
/*
 * Times every call by every path, the counter and the cheapest system call, side by side in one
 * child: what drifts hits all of them alike.
 */
#include "measure/timing.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/child.h"
#include "base/text.h"
#include "measure/counter.h"
#include "measure/cpus.h"
#include "measure/round_robin.h"
#include "measure/statistics.h"

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

static const struct effort efforts[] = {
	[TIMING_WHOLE] = {.batch_ns = 20000, .case_ns = 570000},
	[TIMING_BRIEF] = {.batch_ns = 5000, .case_ns = 40000},
};

/*
 * Where the times decide alone. On a guest whose CPU is taken away unseen, one batch in 500
 * is several times too long: the 99th percentile of 50 batches is the longest, that of 1,000
 * leaves out ten.
 */
#define CLEARING_ROUNDS 1000
#define CLEARING_PASSES 4
#define CLEARING_BATCH_NS 10000
static const struct round_robin_limits clearing = {
	.ns = 200000000, .rounds_least = ROUNDS_LEAST, .rounds_most = CLEARING_ROUNDS};

/* The places of the cases: each call by each path, then these. */
enum { SYSCALL_FLOOR = CALL_MAX * PATH_COUNT, COUNTER, COUNTER_ORDERED, CASE_COUNT };

/* What the parent hands to the child. */
struct job {
	struct evidence evidence; /* timing.fact is the child's answer */
	const struct call_table *calls;
	const struct effort *effort;
};

static void report_call(
	const struct bench_case *one, double ns_per_tick, struct path_evidence *path)
{
	path->signal = one->signal;
	if (!one->count)
		return;
	path->min_ns = statistics_in_tenths(one->least * ns_per_tick);
	path->median_ns =
		statistics_in_tenths(statistics_median(one->samples, one->count) * ns_per_tick);
	path->p99_ns = statistics_in_tenths(
		statistics_percentile(one->samples, one->count, 99) * ns_per_tick);
	/* Less than half a tenth is no time of a call. */
	path->timed = path->min_ns > 0;
}

/* Without a function the fact says already why there is none. */
static void report_other(const struct bench_case *one, double ns_per_tick,
	const struct number_fact *tracer, double *ns, struct fact *fact)
{
	if (!one->call.function.any)
		return;
	if (one->count) {
		*ns = statistics_in_tenths(one->least * ns_per_tick);
		fact_set_known(fact);
	} else if (fact_is_known(&tracer->fact) && tracer->value) {
		/* A tracer of ours (strace -f) stops each system call: nothing is undisturbed. */
		fact_set(fact, FACT_FAILED,
			"every measurement was disturbed: this process is traced by process %lld",
			(long long)tracer->value);
	} else {
		fact_set(fact, FACT_FAILED, "every measurement was disturbed");
	}
}

static void report(const struct round_robin *robin, struct evidence *evidence)
{
	struct timing_evidence *timing = &evidence->timing;
	const struct number_fact *tracer = &evidence->host.tracer;
	double ns_per_tick = timebase_ns_per_tick(&robin->timebase);

	for (size_t i = 0; i < evidence->call_count * PATH_COUNT; i++) {
		if (robin->cases[i].call.function.any)
			report_call(&robin->cases[i], ns_per_tick,
				&evidence->calls[i / PATH_COUNT].path[i % PATH_COUNT]);
	}
	report_other(&robin->cases[SYSCALL_FLOOR], ns_per_tick, tracer, &timing->syscall_floor_ns,
		&timing->syscall_floor_fact);
	report_other(&robin->cases[COUNTER], ns_per_tick, tracer, &timing->counter_ns,
		&timing->counter_fact);
	report_other(&robin->cases[COUNTER_ORDERED], ns_per_tick, tracer, &timing->ordered_ns,
		&timing->ordered_fact);
	timing->batches = (unsigned)robin->rounds;
}

/* Many batches of the deciding calls by the vDSO alone; a p99 found before is not raised. */
static bool measure_clearing_pass(struct job *job)
{
	static struct bench_case cases[CALL_MAX];
	static double samples[CALL_MAX][CLEARING_ROUNDS];
	struct round_robin robin = {.cases = cases, .count = job->calls->count};
	struct fact why = {0};
	double ns_per_tick;
	bool clear = true;

	for (size_t i = 0; i < robin.count; i++) {
		const struct call_evidence *call = &job->evidence.calls[i];

		cases[i] = (struct bench_case){.samples = samples[i], .capacity = CLEARING_ROUNDS};
		if (call->decides && call->path[PATH_VDSO].timed)
			cases[i].call = job->calls->rows[i].path[PATH_VDSO];
	}
	if (!round_robin_start(&robin, CLEARING_BATCH_NS, &why))
		return false;
	round_robin_run(&robin, &clearing);
	ns_per_tick = timebase_ns_per_tick(&robin.timebase);
	for (size_t i = 0; i < robin.count; i++) {
		struct path_evidence *path = &job->evidence.calls[i].path[PATH_VDSO];
		double p99;

		if (!cases[i].count)
			continue;
		p99 = statistics_summarise(samples[i], cases[i].count).p99;
		path->p99_ns = fmin(path->p99_ns, statistics_in_tenths(p99 * ns_per_tick));
		clear = clear && path->p99_ns < job->evidence.timing.syscall_floor_ns / 2;
	}
	return clear;
}

/*
 * With a proof, the verdict (slow, or a contradiction to be settled) rests on the times of one
 * call; without one, on those of each; never on those by libc.
 */
static bool bears_on_verdict(const struct job *job, size_t row, size_t path)
{
	const struct call_row *call = &job->calls->rows[row];

	return path != PATH_LIBC && (!fact_is_known(&job->evidence.proof.fact) ||
					    strcmp(call->clock, "CLOCK_MONOTONIC") == 0);
}

static void measure_calls(void *argument)
{
	static struct bench_case cases[CASE_COUNT];
	static double samples[CASE_COUNT][ROUNDS_MAX];
	struct job *job = argument;
	struct timing_evidence *timing = &job->evidence.timing;
	struct round_robin robin = {.cases = cases, .count = CASE_COUNT};
	struct round_robin_limits limits = {
		.rounds_least = ROUNDS_LEAST, .rounds_most = ROUNDS_MAX};

	timing->cpu = cpus_pin_here();
	text_copy(timing->counter, sizeof(timing->counter), counter_name());
	counter_probe(&timing->counter_fact);
	timing->ordered_fact = timing->counter_fact;
	if (job->effort == &efforts[TIMING_BRIEF])
		fact_set(&timing->ordered_fact, FACT_UNREAD, "no verdict rests on it");
	for (size_t i = 0; i < job->calls->count * PATH_COUNT; i++) {
		if (job->effort == &efforts[TIMING_BRIEF] &&
			!bears_on_verdict(job, i / PATH_COUNT, i % PATH_COUNT))
			continue;
		cases[i].call = job->calls->rows[i / PATH_COUNT].path[i % PATH_COUNT];
	}
	cases[SYSCALL_FLOOR].call = call_syscall_floor();
	if (fact_is_known(&timing->counter_fact))
		cases[COUNTER].call = call_loop(counter_repeat);
	if (fact_is_known(&timing->ordered_fact))
		cases[COUNTER_ORDERED].call = call_loop(counter_repeat_ordered);
	for (size_t i = 0; i < CASE_COUNT; i++) {
		cases[i].samples = samples[i];
		cases[i].capacity = ROUNDS_MAX;
		limits.ns += cases[i].call.function.any ? job->effort->case_ns : 0;
	}
	if (!round_robin_start(&robin, job->effort->batch_ns, &timing->fact))
		return;
	round_robin_run(&robin, &limits);
	report(&robin, &job->evidence);
	/* Noise comes in bursts: another pass a little later may have none. */
	for (int i = 0; i < CLEARING_PASSES && !fact_is_known(&job->evidence.proof.fact); i++) {
		struct timespec pause = {.tv_nsec = 20000000};

		if (measure_clearing_pass(job))
			break;
		nanosleep(&pause, NULL);
	}
	fact_set_known(&timing->fact);
}

void timing_measure(struct evidence *evidence, const struct call_table *calls,
	enum timing_effort effort, const struct deadline *deadline)
{
	static struct job job;
	struct fact why = {0};

	job.evidence = *evidence;
	job.calls = calls;
	job.effort = &efforts[effort];
	if (child_compute(measure_calls, &job, sizeof(job), deadline, &why))
		*evidence = job.evidence;
	else
		evidence->timing.fact = why;
}
