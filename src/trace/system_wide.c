/* SPDX-License-Identifier: MIT */
/*
 * Counts the calls of the whole host: events on every CPU give exact totals, and samples of the
 * same events, one in TRACE_SAMPLE_PERIOD calls, give the processes that make most of them. Control
 * groups have counters, too, which are opened before the time begins.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "count.h"

/* A CPU's ring of 64 KiB holds 4096 samples, those of 20 million calls a second. */
#define RING_PAGES 16

/* The groups to count are found from samples of half a second, read every TURN_NS. */
#define FINDING_TURNS 25
#define TURN_NS 20000000

/* Sends all samples of a CPU to one ring, that of its first sampler, *first. 0 or an errno value.
 */
static int open_sampler(struct trace_events *events, uint32_t id, struct trace_target target,
	const char *filter, int *first)
{
	int error = trace_event_add(events, id, target, filter, NULL);

	if (error)
		return error;
	if (*first)
		return ioctl(trace_event_last(events), PERF_EVENT_IOC_SET_OUTPUT, *first) < 0
		               ? errno
		               : 0;
	*first = trace_event_last(events);
	return trace_ring_open(events, RING_PAGES, NULL);
}

static int open_samplers(struct trace_events *events, struct trace_target target)
{
	const struct trace_plan *plan = events->trace->plan;
	int first = 0, error = 0;

	target.attributes.sample_period = TRACE_SAMPLE_PERIOD;
	target.attributes.sample_type = PERF_SAMPLE_TID;
	for (size_t i = 0; i < plan->call_count && !error; i++) {
		if (plan->calls[i].number[TRACE_NATIVE] >= 0)
			error = open_sampler(events, events->ids[i], target, NULL, &first);
	}
	/* Not every architecture has PERF_SAMPLE_REGS_USER; then 32-bit programs have no name. */
	target.attributes.sample_type |= PERF_SAMPLE_REGS_USER;
	target.attributes.sample_regs_user = 1;
	if (!error && events->raw_id)
		(void)open_sampler(events, events->raw_id, target, events->raw_filter, &first);
	return error;
}

/* 0 or an errno value. CPUs that are not online are passed over. */
static int open_cpus(struct trace_events *events)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	int error = 0;

	for (int cpu = 0; cpu < cpus && !error; cpu++) {
		struct trace_target target = {.thread = -1, .cpu = cpu};

		error = trace_events_open(events, target);
		if (!error)
			error = open_samplers(events, target);
		else if (error == ENODEV)
			error = 0;
	}
	return error;
}

/* ---- samples ---- */

static void add_sample(const struct trace_run *run, pid_t pid, bool is_32_bit)
{
	struct trace_top *top = &run->trace->top;
	struct trace_callers *processes = &top->processes;
	struct trace_caller *process = processes->list;
	char path[64], content[64];
	struct fact why = {0};
	struct span name;

	while (process < processes->list + processes->count && process->pid != pid)
		process++;
	if (process == processes->list + TRACE_CALLER_MAX && run->trace->lists_groups) {
		cgroup_add_processes(top);
		process = processes->list;
	}
	if (process == processes->list + TRACE_CALLER_MAX) {
		top->missed++;
		return;
	}
	process->samples++;
	process->samples_32_bit += is_32_bit;
	if (process < processes->list + processes->count)
		return;
	processes->count++;
	process->pid = pid;
	if (run->trace->lists_groups)
		cgroup_read(run->root, pid, process->cgroup);
	/* A process that has ended by now has no name. */
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (root_read(run->root, path, content, sizeof(content), &name, &why))
		text_copy_span(process->name, sizeof(process->name), text_trim(name));
}

/* A raw sample has registers: those of 64-bit programs have samples of the calls, too. */
static void drain_rings(const struct trace_run *run)
{
	struct trace_record record;

	for (size_t i = 0; i < run->events->ring_count; i++) {
		while (trace_ring_next(&run->events->rings[i], &record)) {
			if (record.type == PERF_RECORD_LOST)
				run->trace->top.missed += record.words[1];
			else if (record.type == PERF_RECORD_SAMPLE &&
				 (record.count < 2 || record.words[1] == PERF_SAMPLE_REGS_ABI_32))
				add_sample(run, record.pid, record.count >= 2);
		}
	}
}

static int compare_calls(const void *one, const void *other)
{
	const struct trace_caller *a = one, *b = other;

	return (a->calls < b->calls) - (a->calls > b->calls);
}

void trace_callers_sort(struct trace_callers *callers, uint64_t shown)
{
	for (size_t i = 0; i < callers->count; i++) {
		struct trace_caller *caller = &callers->list[i];
		uint64_t sampled = caller->samples * TRACE_SAMPLE_PERIOD;

		if (!caller->is_exact && caller->calls < sampled)
			caller->calls = sampled;
	}
	qsort(callers->list, callers->count, sizeof(callers->list[0]), compare_calls);
	callers->count = callers->count < shown ? callers->count : (size_t)shown;
}

static void forget_counts(struct trace_evidence *trace)
{
	memset(trace->counts, 0, sizeof(trace->counts));
	trace->unlisted.value = 0;
	cgroup_begin(trace);
}

/* Counts up to TRACE_COUNTED_MAX groups exactly: those that make the most calls now. */
static void count_groups(struct trace_run *run, struct trace_events *events)
{
	struct trace_top *top = &run->trace->top;

	trace_program_threads(0, cgroup_add_running, run);
	run->events = events;
	if (top->groups.count > TRACE_COUNTED_MAX) {
		trace_events_control(events, PERF_EVENT_IOC_ENABLE);
		for (int turn = 0; turn < FINDING_TURNS && !run->stop; turn++) {
			nanosleep(&(struct timespec){.tv_nsec = TURN_NS}, NULL);
			drain_rings(run);
		}
		cgroup_add_processes(top);
		trace_callers_sort(&top->groups, TRACE_CALLER_MAX);
	}
	cgroup_open_counters(events);
	/* A counter that cannot be read fails again at the end. */
	(void)trace_events_add_up(events);
	drain_rings(run);
	forget_counts(run->trace);
}

/* ---- the count ---- */

static void finish_top(const struct trace_run *run)
{
	struct trace_top *top = &run->trace->top;

	if (run->trace->lists_groups) {
		cgroup_add_processes(top);
		cgroup_take_counts(run->trace);
	}
	trace_callers_sort(&top->processes, run->shown);
	trace_callers_sort(&top->groups, run->shown);
	while (top->groups.count && !top->groups.list[top->groups.count - 1].calls)
		top->groups.count--;
	top->period = TRACE_SAMPLE_PERIOD;
}

/* Reports an interval, and begins the next one with no counts. */
static bool report_interval(struct trace_run *run)
{
	struct trace_evidence *trace = run->trace;

	run->failure.error = trace_events_add_up(run->events);
	if (run->failure.error)
		return false;
	trace_run_counted(run);
	finish_top(run);
	if (!run->report(run->argument))
		return false;
	forget_counts(trace);
	run->begin_ns += (int64_t)(trace->duration_s.value * NS_PER_SECOND);
	while (run->next_ns <= run->begin_ns)
		run->next_ns += run->interval_ns;
	return true;
}

static bool look_around(struct trace_run *run)
{
	drain_rings(run);
	return !run->interval_ns || kernel_clock_ns(CLOCK_MONOTONIC) < run->next_ns ||
	       report_interval(run);
}

bool trace_system_wide(struct trace_run *run, struct fact *why)
{
	struct trace_events events;
	int error;

	if (!trace_events_find(run->root, run->trace, &events, why))
		return false;
	error = open_cpus(&events);
	if (error) {
		trace_events_explain(error, why);
	} else {
		if (run->trace->lists_groups)
			count_groups(run, &events);
		trace_events_watch(run, &events, look_around);
		drain_rings(run);
		finish_top(run);
	}
	run->events = NULL;
	cgroup_close(&run->trace->counted);
	trace_events_close(&events);
	return !error;
}
