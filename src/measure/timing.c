/* SPDX-License-Identifier: MIT */
/*
 * Times every call by every path, the counter and the cheapest system call, side by side in one
 * child: whatever drifts affects all of them alike.
 */
#include "parts.h"

#include <stddef.h>
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
 * are enough. The time is for each case, so that a call is measured as well among few as among
 * many.
 */
#define BATCH_NS 20000
#define CASE_NS 400000
#define BRIEF_BATCH_NS 2500
#define BRIEF_CASE_NS 20000

/* The cases: each call by each path, then these. */
enum { SYSCALL_FLOOR = CALL_MAX * PATH_COUNT, COUNTER, COUNTER_ORDERED, CASE_COUNT };

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

	for (size_t i = 0; i < job->table->count; i++) {
		const struct call_row *row = &job->table->rows[i];
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
	for (size_t i = 0; i < job->table->count * PATH_COUNT; i++)
		report_call(
			&cases[i], ns_per_tick, &job->calls[i / PATH_COUNT].path[i % PATH_COUNT]);
	report_other(&cases[SYSCALL_FLOOR], ns_per_tick, &timing->syscall_floor_ns);
	report_other(&cases[COUNTER], ns_per_tick, &timing->counter_ns);
	report_other(&cases[COUNTER_ORDERED], ns_per_tick, &timing->ordered_ns);
	return true;
}

static void time_guarded(void *argument)
{
	static double samples[CASE_COUNT][ROUNDS_MAX]; /* the pages of few are touched */
	struct timing_job *job = argument;
	int cpu = cpus_pin_here();

	if (cpu >= 0)
		fact_set_number(&job->timing.cpu, cpu);
	else
		fact_set(&job->timing.cpu.fact, FACT_DENIED,
			"the process could not be pinned to a CPU");
	values_compare(job->table, job->calls);
	if (time_cases(job, samples))
		fact_set_known(&job->timing.fact);
}

static void time_calls(void *job)
{
	fault_guard_once(time_guarded, job);
}

void timing_measure(const struct call_table *table, unsigned options,
	struct timing_evidence *timing, struct call_evidence *calls,
	const struct deadline *deadline)
{
	struct timing_job job;
	size_t size = table->count * sizeof(*calls);
	struct fact why = {0};

	/* Only the calls of the table are written, and copied to the child and back. */
	job.table = table;
	job.options = options;
	job.timing = *timing;
	memcpy(job.calls, calls, size);
	if (child_call(
		    time_calls, &job, offsetof(struct timing_job, calls) + size, deadline, &why)) {
		*timing = job.timing;
		memcpy(calls, job.calls, size);
	} else {
		timing->fact = why;
	}
}
