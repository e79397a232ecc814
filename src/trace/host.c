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
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/units.h"
#include "perf.h"
#include "run.h"

/* How often the rings are emptied. */
#define PAUSE_NS 20000000

/* Pages of a CPU's ring; a power of two. 64 KiB hold 4096 samples: 20 million calls a second. */
#define RING_PAGES 16

struct ring {
	struct perf_event_mmap_page *page;
	size_t size; /* of the data */
};

struct host_count {
	struct trace_events events;
	struct ring *rings;
	size_t ring_count;
	int *samplers; /* events that write samples; call_count for each CPU */
	size_t sampler_count;
	const struct root *root;
	struct trace_evidence *trace;
};

static int open_sampler(uint32_t id, int cpu)
{
	struct perf_event_attr attributes = {.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attributes),
		.config = id,
		.disabled = 1,
		.sample_period = TRACE_SAMPLE_PERIOD,
		.sample_type = PERF_SAMPLE_TID};

	return (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int map_ring(struct host_count *count, int file)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring ring = {.size = RING_PAGES * page};
	void *mapped = mmap(NULL, page + ring.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (mapped == MAP_FAILED)
		return errno;
	ring.page = mapped;
	count->rings[count->ring_count++] = ring;
	return 0;
}

/* All samples of a CPU go to one ring, that of the first event. 0 or an errno value. */
static int open_samplers(struct host_count *count, int cpu)
{
	const struct trace_plan *plan = count->trace->plan;
	int first = -1;

	for (size_t i = 0; i < plan->call_count; i++) {
		int file, error = 0;

		if (plan->calls[i].number[TRACE_NATIVE] < 0)
			continue;
		file = open_sampler(count->events.ids[i], cpu);
		if (file < 0)
			return errno;
		count->samplers[count->sampler_count++] = file;
		if (first < 0)
			error = map_ring(count, file);
		else if (ioctl(file, PERF_EVENT_IOC_SET_OUTPUT, first) < 0)
			error = errno;
		if (error)
			return error;
		if (first < 0)
			first = file;
	}
	return 0;
}

/* 0 or an errno value. CPUs that are not online are passed over. */
static int open_all(struct host_count *count)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_CONF);

	count->rings = calloc((size_t)cpus, sizeof(*count->rings));
	count->samplers = calloc((size_t)cpus * TRACE_CALL_MAX, sizeof(*count->samplers));
	if (!count->rings || !count->samplers)
		return ENOMEM;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int error = trace_events_open(&count->events, count->trace->plan,
			(struct trace_target){.thread = -1, .cpu = cpu});

		if (error == ENODEV)
			continue;
		if (!error)
			error = open_samplers(count, cpu);
		if (error)
			return error;
	}
	return 0;
}

static void close_all(struct host_count *count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < count->ring_count; i++)
		munmap(count->rings[i].page, page + count->rings[i].size);
	for (size_t i = 0; i < count->sampler_count; i++)
		close(count->samplers[i]);
	free(count->rings);
	free(count->samplers);
	trace_events_close(&count->events);
}

static void control_samplers(const struct host_count *count, unsigned long request)
{
	for (size_t i = 0; i < count->sampler_count; i++)
		ioctl(count->samplers[i], request, 0);
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

static void add_sample(struct host_count *count, pid_t pid)
{
	struct trace_top *top = &count->trace->top;

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
	read_name(count->root, &top->processes[top->count++]);
}

/* Records are multiples of 8 bytes, and the ring is too: what is looked at does not wrap. */
static void drain(struct host_count *count, struct ring *ring)
{
	const unsigned char *data =
		(const unsigned char *)ring->page + (size_t)sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		uint32_t pid;
		uint64_t lost;

		memcpy(&header, data + tail % ring->size, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		if (header.type == PERF_RECORD_SAMPLE) {
			memcpy(&pid, data + (tail + sizeof(header)) % ring->size, sizeof(pid));
			add_sample(count, (pid_t)pid);
		} else if (header.type == PERF_RECORD_LOST) {
			memcpy(&lost, data + (tail + sizeof(header) + sizeof(lost)) % ring->size,
				sizeof(lost));
			count->trace->top.missed += lost;
		}
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

static void drain_all(struct host_count *count)
{
	for (size_t i = 0; i < count->ring_count; i++)
		drain(count, &count->rings[i]);
}

static int more_samples(const void *one, const void *other)
{
	const struct trace_process *a = one, *b = other;

	return (a->samples < b->samples) - (a->samples > b->samples);
}

/* ---- the count ---- */

static void count_host(struct host_count *count, int64_t limit_ns, const volatile bool *stop,
	void (*show)(double done))
{
	struct trace_evidence *trace = count->trace;
	struct deadline deadline = deadline_after(limit_ns);
	int64_t left, start_ns = kernel_clock_ns(CLOCK_MONOTONIC);

	trace_events_enable(&count->events);
	control_samplers(count, PERF_EVENT_IOC_ENABLE);
	while (!*stop && (left = deadline_left_ns(&deadline)) > 0) {
		struct timespec pause = {.tv_nsec = left < PAUSE_NS ? (long)left : PAUSE_NS};

		nanosleep(&pause, NULL);
		drain_all(count);
		show(1 - (double)left / (double)limit_ns);
	}
	trace_events_disable(&count->events);
	control_samplers(count, PERF_EVENT_IOC_DISABLE);
	drain_all(count);
	trace->duration_s = (double)(kernel_clock_ns(CLOCK_MONOTONIC) - start_ns) / NS_PER_SECOND;
	fact_set_known(&trace->duration_fact);
	qsort(trace->top.processes, trace->top.count, sizeof(trace->top.processes[0]),
		more_samples);
}

bool trace_host_by_tracepoints(const struct root *root, struct trace_evidence *trace,
	int64_t limit_ns, const volatile bool *stop, void (*show)(double done), struct fact *why)
{
	struct host_count count = {.root = root, .trace = trace};
	int error;

	if (!trace_events_find(root, trace->plan, &count.events, why))
		return false;
	trace_raise_file_limit();
	error = open_all(&count);
	if (error) {
		trace_events_explain(error, why);
	} else {
		trace->method = TRACE_BY_TRACEPOINTS;
		fact_set(&trace->cpu_fact, FACT_ABSENT, "not counted for a whole host");
		count_host(&count, limit_ns, stop, show);
		error = trace_events_read(&count.events, trace->plan, &trace->counts);
		if (error)
			fact_set_errno(why, error, "reading the counters");
	}
	close_all(&count);
	return !error;
}
