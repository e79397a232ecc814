/* SPDX-License-Identifier: MIT */
/*
 * Takes samples at the tracepoints of system calls. The kernel writes them to rings that are read
 * while the program goes on, or is stopped because its memory map ends.
 *
 * A sample has the address behind the instruction that made the system call, and its first
 * argument, the clock. The kernel takes as many a second as asked for, and says how many calls each
 * stands for (perf_event_open(2), freq): a program with millions of calls is not slower, and one
 * with few has a sample of its first.
 */
#include <errno.h>
#include <linux/perf_event.h>
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

/* The ring of a call and CPU has room for the samples of 0.4 s. */
#define SAMPLES_PER_S 1000
#define PAGES 4

/* A process with many threads on many CPUs has samples of the first of them. */
#define RING_MAX 1024

/* The words of a sample come after its IDs, registers in the order of their numbers. */
enum { WORD_PERIOD = 1, WORD_ARGUMENT = 3, WORD_ADDRESS, WORD_COUNT };

#if defined(__x86_64__)
#define REGISTERS (1ull << PERF_REG_X86_DI | 1ull << PERF_REG_X86_IP)
#elif defined(__aarch64__)
#define REGISTERS (1ull << PERF_REG_ARM64_X0 | 1ull << PERF_REG_ARM64_PC)
#else
#define REGISTERS 0ull
#endif

/* ---- rings ---- */

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int trace_ring_open(struct trace_events *events, size_t pages, const struct trace_call *call)
{
	size_t size = pages * page_size();
	void *at = mmap(NULL, page_size() + size, PROT_READ | PROT_WRITE, MAP_SHARED,
		trace_event_last(events), 0);

	if (at == MAP_FAILED)
		return errno;
	events->rings = array_grow(
		events->rings, events->ring_count, &events->ring_room, sizeof(*events->rings));
	events->rings[events->ring_count++] = (struct trace_ring){at, size, call};
	return 0;
}

void trace_ring_close(const struct trace_ring *ring)
{
	munmap(ring->page, page_size() + ring->size);
}

/* The ring and its records are multiples of 8 bytes, so that its end cuts no word. */
bool trace_ring_next(const struct trace_ring *ring, struct trace_record *record)
{
	const unsigned char *data = (const unsigned char *)ring->page + page_size();
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
	memcpy(&record->pid, record->words, sizeof(record->pid));
	memcpy(&record->thread, (const char *)record->words + sizeof(record->pid),
		sizeof(record->thread));
	__atomic_store_n(&ring->page->data_tail, tail + header.size, __ATOMIC_RELEASE);
	return true;
}

/* ---- the samples of a program ---- */

int trace_samples_open(struct trace_events *events, pid_t thread, bool from_exec)
{
	const struct trace_plan *plan = events->trace->plan;
	int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), error = REGISTERS ? 0 : ENOSYS;
	struct trace_target target = {.thread = thread,
		.attributes = {.inherit = true,
			.enable_on_exec = from_exec,
			.freq = true,
			.sample_freq = SAMPLES_PER_S,
			.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER,
			.sample_regs_user = REGISTERS}};

	for (size_t i = 0; i < plan->call_count && events->ring_count < RING_MAX && !error; i++) {
		const struct trace_call *call = &plan->calls[i];

		if (call->number[TRACE_NATIVE] < 0 || !served_is_call(call->name))
			continue;
		for (target.cpu = 0; target.cpu < cpus && !error; target.cpu++) {
			error = trace_event_add(events, events->ids[i], target, NULL, NULL);
			if (!error)
				error = trace_ring_open(events, PAGES, call);
			else if (error == ENODEV) /* a CPU that is not online */
				error = 0;
		}
	}
	return error;
}

void trace_samples_take(struct trace_run *run, pid_t gone, struct span maps)
{
	struct trace_record record;

	for (size_t i = 0; run->events && run->call_places && i < run->events->ring_count; i++) {
		const struct trace_ring *ring = &run->events->rings[i];

		while (trace_ring_next(ring, &record)) {
			const bool is_gone = record.pid == gone;
			struct trace_place calls = {.count = record.words[WORD_PERIOD],
				.row = trace_events_row(
					run->trace->plan, ring->call, record.words[WORD_ARGUMENT])};

			if (record.type == PERF_RECORD_SAMPLE && record.count >= WORD_COUNT)
				call_sites_add(run->call_places, &calls, (uint64_t)record.pid,
					is_gone ? 0 : record.thread,
					is_gone ? maps : (struct span){NULL, 0},
					record.words[WORD_ADDRESS]);
		}
	}
}
