/* SPDX-License-Identifier: MIT */
/*
 * Counts the calls of the whole host: events on every CPU give exact totals, and samples of the
 * same events, one in TRACE_SAMPLE_PERIOD calls, give the processes that make most of them.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "count.h"

/* Pages of a CPU's ring; a power of two. 64 KiB hold 4096 samples: 20 million calls a second. */
#define RING_PAGES 16

struct sampling {
	struct trace_run *run;
	const struct root *root;
	struct trace_events events;
	struct trace_ring *rings; /* one for each CPU */
	size_t ring_count;
};

/* Adds a sampler. All samples of a CPU go to one ring, that of *first. 0 or an errno value. */
static int open_sampler(struct sampling *sampling, uint32_t id, struct trace_target target,
	const char *filter, int *first)
{
	struct trace_events *events = &sampling->events;
	int error = trace_event_add(events, id, target, filter, NULL);
	int file;

	if (error)
		return error;
	file = events->list[events->count - 1].file;
	if (*first)
		return ioctl(file, PERF_EVENT_IOC_SET_OUTPUT, *first) < 0 ? errno : 0;
	error = trace_ring_open(&sampling->rings[sampling->ring_count], file, RING_PAGES);
	if (!error)
		sampling->ring_count++;
	*first = file;
	return error;
}

static int open_samplers(struct sampling *sampling, struct trace_target target)
{
	const struct trace_events *events = &sampling->events;
	const struct trace_plan *plan = events->trace->plan;
	int first = 0, error = 0;

	target.sample_period = TRACE_SAMPLE_PERIOD;
	for (size_t i = 0; i < plan->call_count && !error; i++) {
		if (plan->calls[i].number[TRACE_NATIVE] >= 0)
			error = open_sampler(sampling, events->ids[i], target, NULL, &first);
	}
	/* Not every architecture has PERF_SAMPLE_REGS_USER; then 32-bit programs have no name. */
	target.registers = 1;
	if (!error && events->raw_id)
		(void)open_sampler(sampling, events->raw_id, target, events->raw_filter, &first);
	return error;
}

/* 0 or an errno value. CPUs that are not online are passed over. */
static int open_cpus(struct sampling *sampling)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	int error = 0;

	sampling->rings = xcalloc((size_t)cpus, sizeof(*sampling->rings));
	for (int cpu = 0; cpu < cpus && !error; cpu++) {
		struct trace_target target = {.thread = -1, .cpu = cpu};

		error = trace_events_open(&sampling->events, target);
		if (!error)
			error = open_samplers(sampling, target);
		else if (error == ENODEV)
			error = 0;
	}
	return error;
}

/* ---- samples ---- */

static void add_sample(struct sampling *sampling, pid_t pid)
{
	const struct trace_evidence *trace = sampling->events.trace;
	struct trace_top *top = &sampling->events.trace->top;
	struct trace_process *process = top->processes, *end = process + top->count;
	char path[64], content[64];
	struct fact why = {0};
	struct span name;

	while (process < end && process->pid != pid)
		process++;
	if (process == top->processes + TRACE_PROCESS_MAX && trace->lists_groups) {
		cgroup_add_processes(top);
		process = end = top->processes;
	}
	if (process == top->processes + TRACE_PROCESS_MAX) {
		top->missed++;
		return;
	}
	process->samples++;
	if (process < end)
		return;
	top->count++;
	process->pid = pid;
	if (trace->lists_groups)
		cgroup_read(sampling->root, pid, process->cgroup);
	/* A process that has ended by now has no name. */
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (root_read(sampling->root, path, content, sizeof(content), &name, &why))
		text_copy_span(process->name, sizeof(process->name), text_trim(name));
}

/* A raw sample has registers: those of 64-bit programs have samples of the calls, too. */
static void drain_ring(struct sampling *sampling, struct trace_ring *ring)
{
	struct trace_record record;
	pid_t pid, thread;

	while (trace_ring_next(ring, &record)) {
		if (record.type == PERF_RECORD_LOST)
			sampling->events.trace->top.missed += record.words[1];
		else if (record.type == PERF_RECORD_SAMPLE &&
			 (record.count < 2 || record.words[1] == PERF_SAMPLE_REGS_ABI_32)) {
			trace_record_ids(&record, &pid, &thread);
			add_sample(sampling, pid);
		}
	}
}

static int compare_samples(const void *one, const void *other)
{
	const struct trace_process *a = one, *b = other;

	return (a->samples < b->samples) - (a->samples > b->samples);
}

/* ---- the count ---- */

static void drain_rings(struct sampling *sampling)
{
	for (size_t i = 0; i < sampling->ring_count; i++)
		drain_ring(sampling, &sampling->rings[i]);
}

static void finish_top(const struct sampling *sampling)
{
	struct trace_top *top = &sampling->run->trace->top;
	size_t shown = sampling->run->shown;

	qsort(top->processes, top->count, sizeof(top->processes[0]), compare_samples);
	if (sampling->run->trace->lists_groups) {
		cgroup_add_processes(top);
		cgroup_sort(top, shown);
	}
	top->count = top->count < shown ? top->count : shown;
	top->period = TRACE_SAMPLE_PERIOD;
}

/* Reports an interval, and begins the next one with no counts. */
static bool report_interval(struct sampling *sampling)
{
	struct trace_run *run = sampling->run;
	struct trace_evidence *trace = run->trace;
	int64_t now;

	run->failure.error = trace_events_read(&sampling->events);
	if (run->failure.error)
		return false;
	trace_run_counted(run);
	finish_top(sampling);
	if (!run->report(run->argument))
		return false;
	memset(trace->counts, 0, sizeof(trace->counts));
	trace->unlisted.value = 0;
	memset(&trace->top, 0, sizeof(trace->top));
	now = run->begin_ns + (int64_t)(trace->duration_s * NS_PER_SECOND);
	run->begin_ns = now;
	while (run->next_ns <= now)
		run->next_ns += run->interval_ns;
	return true;
}

static bool look_around(void *argument)
{
	struct sampling *sampling = argument;
	const struct trace_run *run = sampling->run;

	drain_rings(sampling);
	return !run->interval_ns || kernel_clock_ns(CLOCK_MONOTONIC) < run->next_ns ||
	       report_interval(sampling);
}

bool trace_system_wide(struct trace_run *run, struct fact *why)
{
	struct sampling sampling = {.run = run, .root = run->root};
	int error;

	if (!trace_events_find(run->root, run->trace, &sampling.events, why))
		return false;
	error = open_cpus(&sampling);
	if (error) {
		trace_events_explain(error, why);
	} else {
		trace_events_watch(run, &sampling.events, look_around, &sampling);
		drain_rings(&sampling);
		finish_top(&sampling);
	}
	for (size_t i = 0; i < sampling.ring_count; i++)
		trace_ring_close(&sampling.rings[i]);
	free(sampling.rings);
	trace_events_close(&sampling.events);
	return !error;
}
