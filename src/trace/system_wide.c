/* SPDX-License-Identifier: MIT */
/*
 * The whole host: events on every CPU give exact totals, and samples of the same events, one in
 * TRACE_SAMPLE_PERIOD calls, give the processes that make most of them.
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

struct ring {
	struct perf_event_mmap_page *page;
	size_t size; /* of the data */
};

struct sampling {
	const struct root *root;
	struct trace_events events;
	struct ring *rings; /* one for each CPU */
	size_t ring_count;
};

/* 0 or an errno value. */
static int map_ring(struct sampling *sampling, int file)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring ring = {.size = RING_PAGES * page};
	void *mapped = mmap(NULL, page + ring.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (mapped == MAP_FAILED)
		return errno;
	ring.page = mapped;
	sampling->rings[sampling->ring_count++] = ring;
	return 0;
}

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
	if (!*first)
		return map_ring(sampling, *first = file);
	return ioctl(file, PERF_EVENT_IOC_SET_OUTPUT, *first) < 0 ? errno : 0;
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

/* A process that has ended by now has no name. */
static void read_name(const struct root *root, struct trace_process *process)
{
	char path[64], content[64];
	struct fact why = {0};
	struct span name;

	snprintf(path, sizeof(path), "/proc/%d/comm", process->pid);
	if (root_read(root, path, content, sizeof(content), &name, &why))
		text_copy_span(process->name, sizeof(process->name), text_trim(name));
}

static void add_sample(struct sampling *sampling, pid_t pid)
{
	struct trace_top *top = &sampling->events.trace->top;

	for (size_t i = 0; i < top->count; i++) {
		if (top->processes[i].pid == pid) {
			top->processes[i].samples++;
			return;
		}
	}
	if (top->count == TRACE_PROCESS_MAX) {
		top->missed++;
		return;
	}
	top->processes[top->count] = (struct trace_process){.pid = pid, .samples = 1};
	read_name(sampling->root, &top->processes[top->count++]);
}

/* Records are multiples of 8 bytes, and the ring is too: what is looked at does not wrap. */
static void drain_ring(struct sampling *sampling, struct ring *ring)
{
	const unsigned char *data =
		(const unsigned char *)ring->page + (size_t)sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		uint64_t abi, lost;
		uint32_t pid;

		memcpy(&header, data + tail % ring->size, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		if (header.type == PERF_RECORD_SAMPLE) {
			memcpy(&pid, data + (tail + sizeof(header)) % ring->size, sizeof(pid));
			/* After the IDs, if it has registers: those of 64-bit programs are sampled
			 * as such. */
			abi = PERF_SAMPLE_REGS_ABI_32;
			if (header.size > sizeof(header) + 2 * sizeof(pid))
				memcpy(&abi, data + (tail + 2 * sizeof(abi)) % ring->size,
					sizeof(abi));
			if (abi == PERF_SAMPLE_REGS_ABI_32)
				add_sample(sampling, (pid_t)pid);
		} else if (header.type == PERF_RECORD_LOST) {
			memcpy(&lost, data + (tail + sizeof(header) + sizeof(lost)) % ring->size,
				sizeof(lost));
			sampling->events.trace->top.missed += lost;
		}
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

static bool drain_rings(void *argument)
{
	struct sampling *sampling = argument;

	for (size_t i = 0; i < sampling->ring_count; i++)
		drain_ring(sampling, &sampling->rings[i]);
	return true;
}

static int compare_samples(const void *one, const void *other)
{
	const struct trace_process *a = one, *b = other;

	return (a->samples < b->samples) - (a->samples > b->samples);
}

/* ---- the count ---- */

bool trace_system_wide(struct trace_run *run, struct fact *why)
{
	struct sampling sampling = {.root = run->root};
	struct trace_top *top = &run->trace->top;
	int error;

	if (!trace_events_find(run->root, run->trace, &sampling.events, why))
		return false;
	error = open_cpus(&sampling);
	if (error) {
		trace_events_explain(error, why);
	} else {
		trace_events_watch(run, &sampling.events, drain_rings, &sampling);
		drain_rings(&sampling);
		qsort(top->processes, top->count, sizeof(top->processes[0]), compare_samples);
		top->count = top->count < run->shown ? top->count : run->shown;
		top->period = TRACE_SAMPLE_PERIOD;
	}
	for (size_t i = 0; i < sampling.ring_count; i++)
		munmap(sampling.rings[i].page,
			(size_t)sysconf(_SC_PAGESIZE) + sampling.rings[i].size);
	free(sampling.rings);
	trace_events_close(&sampling.events);
	return !error;
}
