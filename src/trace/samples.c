/* SPDX-License-Identifier: MIT */
/*
 * Samples that the kernel takes at the tracepoints of system calls. It writes them to rings that
 * are read while the program goes on, or is stopped because its memory map ends.
 *
 * A sample has the address behind the instruction that made the system call, and its first
 * argument, the clock. The kernel takes as many a second as asked for, and says how many calls each
 * stands for (perf_event_open(2), freq): a program with millions of calls is not slower, and one
 * with few has a sample of its first.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__aarch64__)
#include <asm/perf_regs.h>
#endif

#include "base/memory.h"
#include "count.h"
#include "places.h"
#include "served.h"

/* Samples a second of each call and CPU, and the pages of their ring: 0.4 s of them. */
#define SAMPLES_PER_S 1000
#define PAGES 4

/* A process with many threads on many CPUs has samples of the first of them. */
#define RING_MAX 1024

/* Their words behind the IDs; the registers are in the order of their numbers. */
enum { WORD_PERIOD = 1, WORD_ARGUMENT = 3, WORD_ADDRESS, WORD_COUNT };

#if defined(__x86_64__)
#define REGISTERS (1ull << PERF_REG_X86_DI | 1ull << PERF_REG_X86_IP)
#elif defined(__aarch64__)
#define REGISTERS (1ull << PERF_REG_ARM64_X0 | 1ull << PERF_REG_ARM64_PC)
#else
#define REGISTERS 0ull
#endif

/* ---- rings ---- */

int trace_ring_open(struct trace_ring *ring, int file, size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, (1 + pages) * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (at == MAP_FAILED)
		return errno;
	*ring = (struct trace_ring){.page = at, .size = pages * page};
	return 0;
}

void trace_ring_close(struct trace_ring *ring)
{
	munmap(ring->page, (size_t)sysconf(_SC_PAGESIZE) + ring->size);
}

void trace_record_ids(const struct trace_record *record, pid_t *pid, pid_t *thread)
{
	memcpy(pid, record->words, sizeof(*pid));
	memcpy(thread, (const char *)record->words + sizeof(*pid), sizeof(*thread));
}

/* Records are multiples of 8 bytes, and so is the ring: none of 8 bytes is cut by its end. */
bool trace_ring_next(struct trace_ring *ring, struct trace_record *record)
{
	const unsigned char *data =
		(const unsigned char *)ring->page + (size_t)sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	struct perf_event_header header;

	*record = (struct trace_record){.count = 0};
	if (head - tail < sizeof(header))
		return false;
	memcpy(&header, data + tail % ring->size, sizeof(header));
	if (header.size < sizeof(header) || header.size > head - tail)
		return false;
	record->type = header.type;
	record->count = (header.size - sizeof(header)) / sizeof(uint64_t);
	for (size_t i = 0; i < record->count && i < TRACE_RECORD_WORDS; i++)
		memcpy(&record->words[i],
			data + (tail + sizeof(header) + i * sizeof(uint64_t)) % ring->size,
			sizeof(uint64_t));
	__atomic_store_n(&ring->page->data_tail, tail + header.size, __ATOMIC_RELEASE);
	return true;
}

/* ---- the samples of a program ---- */

struct trace_samples {
	struct trace_events events;
	struct trace_ring *rings;
	size_t count, room;
};

/* Those of one call on one CPU. 0 or an errno value. */
static int open_ring(struct trace_samples *samples, size_t call, struct trace_target target)
{
	struct trace_events *events = &samples->events;
	int error = trace_event_add(events, events->ids[call], target, NULL, NULL);
	struct trace_ring ring;

	if (!error)
		error = trace_ring_open(&ring, events->list[events->count - 1].file, PAGES);
	if (error)
		return error;
	ring.call = &events->trace->plan->calls[call];
	samples->rings =
		array_grow(samples->rings, samples->count, &samples->room, sizeof(*samples->rings));
	samples->rings[samples->count++] = ring;
	return 0;
}

static int open_rings(struct trace_samples *samples, pid_t thread, bool from_exec)
{
	const struct trace_plan *plan = samples->events.trace->plan;
	int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), error = REGISTERS ? 0 : ENOSYS;
	struct trace_target target = {.thread = thread,
		.from_exec = from_exec,
		.sample_period = SAMPLES_PER_S,
		.is_frequency = true,
		.registers = REGISTERS};

	for (size_t call = 0; call < plan->call_count && !error; call++) {
		if (plan->calls[call].number[TRACE_NATIVE] < 0 ||
			!served_is_call(plan->calls[call].name))
			continue;
		for (target.cpu = 0; target.cpu < cpus && !error; target.cpu++) {
			error = open_ring(samples, call, target);
			/* CPUs that are not online are passed over. */
			if (error == ENODEV)
				error = 0;
		}
	}
	return error;
}

struct trace_samples *trace_samples_open(struct trace_samples *samples,
	const struct trace_events *events, pid_t thread, bool from_exec)
{
	if (!samples) {
		samples = xcalloc(1, sizeof(*samples));
		samples->events.trace = events->trace;
		memcpy(samples->events.ids, events->ids, sizeof(events->ids));
	}
	if (samples->count < RING_MAX && open_rings(samples, thread, from_exec) == 0)
		return samples;
	if (samples->count >= RING_MAX)
		return samples;
	trace_samples_close(samples);
	return NULL;
}

void trace_samples_begin(const struct trace_samples *samples)
{
	if (samples)
		trace_events_control(&samples->events, PERF_EVENT_IOC_ENABLE);
}

static void add_sample(const struct trace_samples *samples, const struct trace_call *call,
	struct call_sites *sites, const struct trace_record *record, pid_t gone, struct span maps)
{
	size_t row =
		trace_events_row(samples->events.trace->plan, call, record->words[WORD_ARGUMENT]);
	pid_t pid, thread;

	if (record->count < WORD_COUNT)
		return;
	trace_record_ids(record, &pid, &thread);
	call_sites_add(sites, &(struct trace_place){.row = row}, (uint64_t)pid,
		pid == gone ? 0 : thread, pid == gone ? maps : (struct span){NULL, 0},
		record->words[WORD_ADDRESS], record->words[WORD_PERIOD]);
}

void trace_samples_take(
	struct trace_samples *samples, struct call_sites *sites, pid_t gone, struct span maps)
{
	struct trace_record record;

	for (size_t i = 0; samples && sites && i < samples->count; i++) {
		struct trace_ring *ring = &samples->rings[i];

		while (trace_ring_next(ring, &record)) {
			if (record.type == PERF_RECORD_SAMPLE)
				add_sample(samples, ring->call, sites, &record, gone, maps);
		}
	}
}

void trace_samples_close(struct trace_samples *samples)
{
	if (!samples)
		return;
	for (size_t i = 0; i < samples->count; i++)
		trace_ring_close(&samples->rings[i]);
	trace_events_close(&samples->events);
	free(samples->rings);
	free(samples);
}
