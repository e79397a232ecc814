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
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "count.h"

/* Pages of a CPU's ring; a power of two. 64 KiB hold 4096 samples: 20 million calls a second. */
#define RING_PAGES 16

struct sampling {
	struct trace_run *run;
	const struct root *root;
	struct trace_events events;
	size_t page_size;
	struct perf_event_mmap_page **rings; /* one for each CPU: a page, then the records */
	size_t ring_count;
};

/* Adds a sampler. All samples of a CPU go to one ring, that of *first. 0 or an errno value. */
static int open_sampler(struct sampling *sampling, uint32_t id, struct trace_target target,
	const char *filter, int *first)
{
	struct trace_events *events = &sampling->events;
	int error = trace_event_add(events, id, target, filter, NULL);
	void *ring;
	int file;

	if (error)
		return error;
	file = events->list[events->count - 1].file;
	if (*first)
		return ioctl(file, PERF_EVENT_IOC_SET_OUTPUT, *first) < 0 ? errno : 0;
	ring = mmap(NULL, (1 + RING_PAGES) * sampling->page_size, PROT_READ | PROT_WRITE,
		MAP_SHARED, file, 0);
	if (ring == MAP_FAILED)
		return errno;
	sampling->rings[sampling->ring_count++] = ring;
	*first = file;
	return 0;
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
	target.sample_abi = true;
	if (!error && events->raw_id)
		(void)open_sampler(sampling, events->raw_id, target, events->raw_filter, &first);
	return error;
}

/* 0 or an errno value. CPUs that are not online are passed over. */
static int open_cpus(struct sampling *sampling)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	int error = 0;

	sampling->page_size = (size_t)sysconf(_SC_PAGESIZE);
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

/* Records are multiples of 8 bytes, and so is the ring: none of 8 bytes is cut by its end. */
static void drain_ring(struct sampling *sampling, struct perf_event_mmap_page *ring)
{
	const unsigned char *data = (const unsigned char *)ring + sampling->page_size;
	size_t size = RING_PAGES * sampling->page_size;
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->data_tail;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		uint64_t abi, lost;
		uint32_t pid;

		memcpy(&header, data + tail % size, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		if (header.type == PERF_RECORD_SAMPLE) {
			memcpy(&pid, data + (tail + sizeof(header)) % size, sizeof(pid));
			/* Behind the IDs, if the sample has registers: those of 64-bit programs
			 * have samples without. */
			abi = PERF_SAMPLE_REGS_ABI_32;
			if (header.size > sizeof(header) + 2 * sizeof(pid))
				memcpy(&abi, data + (tail + 2 * sizeof(abi)) % size, sizeof(abi));
			if (abi == PERF_SAMPLE_REGS_ABI_32)
				add_sample(sampling, (pid_t)pid);
		} else if (header.type == PERF_RECORD_LOST) {
			memcpy(&lost, data + (tail + sizeof(header) + sizeof(lost)) % size,
				sizeof(lost));
			sampling->events.trace->top.missed += lost;
		}
		tail += header.size;
	}
	__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
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
		drain_ring(sampling, sampling->rings[i]);
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
		munmap(sampling.rings[i], (1 + RING_PAGES) * sampling.page_size);
	free(sampling.rings);
	trace_events_close(&sampling.events);
	return !error;
}
