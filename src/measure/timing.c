/* SPDX-License-Identifier: MIT */
/*
 * Times every call by every path, the counter and the cheapest system call, side by side in one
 * child: whatever drifts affects all of them alike.
 */
#include "parts.h"

#include <string.h>

#include "base/child.h"
#include "base/memory.h"
#include "measure/cpus.h"
#include "measure/sampler.h"

#define ROUNDS_MAX 128
#define ROUNDS_LEAST 9

/*
 * A batch of 20 us is a thousand times what the timebase takes and a hundredth of a time slice. To
 * distinguish a call from one that enters the kernel and costs several times as much, shorter ones
 * are enough, and are interrupted less often. The time is for each case, so that a call is measured
 * as well among few as among many.
 */
#define BATCH_NS 20000
#define CASE_NS 400000
#define BRIEF_BATCH_NS 1000
#define BRIEF_CASE_NS 20000

/* The proof follows if this many times what the timing took are left. */
#define PROOF_TIMES_LEAST 3

/* The cases: each call by each path, then these. */
enum { SYSCALL_FLOOR = CALL_MAX * PATH_COUNT, COUNTER, COUNTER_ORDERED, CASE_COUNT };

/* In memory that the child shares with its parent. */
struct timing_job {
	unsigned options;
	const struct deadline *deadline; /* not owned */
	bool proves;                     /* a part of the proof follows */
	bool is_timed;                   /* the times are complete */
	struct timing_evidence timing;   /* its fact is the child's answer */
	struct proof_run run;            /* the calls, with or without a proof */
};

static void report_call(struct timed_call *timed, double ns_per_tick, struct path_evidence *path)
{
	struct ns_stats stats;

	if (!timed->call.function.any)
		return;
	path->signal = timed->signal;
	ns_stats_compute(timed, ns_per_tick, &stats);
	if (timed->fails)
		path->fact = stats.fact;
	else
		fact_set(&path->fact, FACT_FAILED, "every measurement was disturbed");
	path->min_ns = statistics_in_tenths(stats.ns.minimum);
	path->median_ns = statistics_in_tenths(stats.ns.median);
	path->p99_ns = statistics_in_tenths(stats.ns.p99);
	/* Less than half a tenth is not the time of a call. */
	if (path->min_ns > 0)
		fact_set_known(&path->fact);
}

/* The fact already has the reason if there is no function. */
static void report_other(const struct timed_call *timed, double ns_per_tick, struct real_fact *ns)
{
	if (!timed->call.function.any)
		return;
	if (timed->count)
		fact_set_real(ns, statistics_in_tenths(timed->least * ns_per_tick));
	else
		fact_set(&ns->fact, FACT_FAILED, "every measurement was disturbed");
}

static void fill_cases(struct timing_job *job, struct timed_call cases[CASE_COUNT])
{
	struct timing_evidence *timing = &job->timing;
	bool is_brief = job->options & TIMING_BRIEF;

	for (size_t i = 0; i < job->run.table->count; i++) {
		const struct call_row *row = &job->run.table->rows[i];
		/* The verdict slow, or a contradiction to be settled, rests on those of one call.
		 */
		bool decides = strcmp(row->clock, "CLOCK_MONOTONIC") == 0;

		for (size_t path = 0; path < PATH_COUNT; path++) {
			if (!is_brief || (decides && path != PATH_LIBC))
				cases[i * PATH_COUNT + path].call = row->path[path];
		}
	}
	text_clean(timing->counter, sizeof(timing->counter), counter_name());
	counter_probe(&timing->counter_ns.fact);
	timing->ordered_ns.fact = timing->counter_ns.fact;
	if (is_brief)
		fact_set(&timing->ordered_ns.fact, FACT_UNREAD, "no verdict rests on it");
	cases[SYSCALL_FLOOR].call = call_syscall_floor();
	if (fact_is_known(&timing->counter_ns.fact))
		cases[COUNTER].call = call_loop(counter_repeat);
	if (fact_is_known(&timing->ordered_ns.fact))
		cases[COUNTER_ORDERED].call = call_loop(counter_repeat_ordered);
}

static bool time_cases(struct timing_job *job, double samples[CASE_COUNT][ROUNDS_MAX])
{
	struct timing_evidence *timing = &job->timing;
	bool is_brief = job->options & TIMING_BRIEF;
	struct timed_call cases[CASE_COUNT] = {0};
	struct sampler sampler = {.cases = cases, .count = CASE_COUNT};
	struct sampler_limits limits = {.rounds_least = ROUNDS_LEAST, .rounds_most = ROUNDS_MAX};
	double ns_per_tick;

	fill_cases(job, cases);
	for (size_t i = 0; i < CASE_COUNT; i++) {
		cases[i].samples = samples[i];
		cases[i].capacity = ROUNDS_MAX;
		if (cases[i].call.function.any)
			limits.ns += is_brief ? BRIEF_CASE_NS : CASE_NS;
	}
	if (!sampler_start(&sampler, is_brief ? BRIEF_BATCH_NS : BATCH_NS, &timing->fact))
		return false;
	sampler_run(&sampler, &limits);
	timing->batches = (unsigned)sampler.rounds;
	ns_per_tick = timebase_ns_per_tick(&sampler.timebase);
	for (size_t i = 0; i < job->run.table->count * PATH_COUNT; i++)
		report_call(&cases[i], ns_per_tick,
			&job->run.calls[i / PATH_COUNT].path[i % PATH_COUNT]);
	report_other(&cases[SYSCALL_FLOOR], ns_per_tick, &timing->syscall_floor_ns);
	report_other(&cases[COUNTER], ns_per_tick, &timing->counter_ns);
	report_other(&cases[COUNTER_ORDERED], ns_per_tick, &timing->ordered_ns);
	return true;
}

static void time_calls(struct timing_job *job)
{
	static double samples[CASE_COUNT][ROUNDS_MAX]; /* the pages of few are touched */
	int cpu = cpus_pin_here();

	if (cpu >= 0)
		fact_set_number(&job->timing.cpu, cpu);
	else
		fact_set(&job->timing.cpu.fact, FACT_DENIED,
			"the process could not be pinned to a CPU");
	values_compare(job->run.table, job->run.calls);
	if (time_cases(job, samples))
		fact_set_known(&job->timing.fact);
	job->is_timed = true;
}

/* The proof is left to a child of its own if the rest of the time may be too short for it. */
static void run_job(void *argument)
{
	struct timing_job *job = argument;
	int64_t before_ns = deadline_left_ns(job->deadline), left_ns;
	int cpus[CPUS_MAX];
	size_t cpu_count = cpus_list(cpus, CPUS_MAX);

	time_calls(job);
	left_ns = deadline_left_ns(job->deadline);
	if (!job->proves || before_ns - left_ns > left_ns / PROOF_TIMES_LEAST)
		return;
	cpus_use(cpus, cpu_count);
	proof_seccomp_run(&job->run);
}

bool timing_measure(const struct call_table *table, unsigned options,
	struct timing_evidence *timing, struct call_evidence *calls, struct proof_evidence *proof,
	const struct deadline *deadline)
{
	struct timing_job *job = child_share(sizeof(*job), &timing->fact);
	size_t size = table->count * sizeof(*calls);
	struct fact why = {0};
	bool is_proven;

	if (!job)
		return false;
	job->options = options;
	job->deadline = deadline;
	job->proves = proof && fact_is_known(&proof->fact) && proof->method == PROOF_SECCOMP;
	job->run.table = table;
	job->run.place = PROOF_SPREAD;
	job->run.call = PROOF_RUN_NOTHING;
	memcpy(job->run.calls, calls, size);
	child_run(run_job, NULL, job, deadline, &why);
	is_proven = proof && fact_is_known(&job->run.fact);
	if (job->is_timed) {
		*timing = job->timing;
		memcpy(calls, job->run.calls, size);
	} else {
		timing->fact = why;
	}
	if (is_proven && job->run.cpus > proof->cpus)
		proof->cpus = job->run.cpus;
	child_unshare(job, sizeof(*job));
	return is_proven;
}
