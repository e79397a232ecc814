/* SPDX-License-Identifier: MIT */
/*
 * Keeps the tables of a run. Each executed program has one, which its threads and forked children
 * share; when the last of them has ended, its counts are added to those of the run. A program that
 * cannot be counted is noted with the reason, and runs as without us.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/text.h"
#include "measure/vdso.h"
#include "places.h"
#include "served.h"

struct served_table {
	int file;
	size_t users;     /* threads */
	bool is_locked;   /* by the stubs */
	struct span maps; /* owned: the memory map when it was last read */
	unsigned threads; /* that were started */
	size_t perf_map;  /* of the code that was made at run time, in trace->places; 0: none */
};

/* Linux before 5.9 does not show how many filters there are. */
static bool has_own_filter(pid_t pid, uint64_t around, struct fact *why)
{
	if (!status_number(pid, "Seccomp", 0) ||
		status_number(pid, "Seccomp_filters", UINT64_MAX) <= around)
		return false;
	fact_set(why, FACT_DENIED,
		"it has, or before Linux 5.9 may have, a seccomp filter of its own, which only "
		"root can suspend");
	return true;
}

bool served_has_limited_space(pid_t pid, struct fact *why)
{
	static const char unlimited[] = "\nMax address space         unlimited ";
	struct span limits = proc_read(pid, "limits", SERVED_PAGE);
	bool is_limited = limits.length &&
	                  !memmem(limits.at, limits.length, unlimited, sizeof(unlimited) - 1);

	span_free(limits);
	if (is_limited)
		fact_set(why, FACT_DENIED, "its address space is limited (ulimit -v)");
	return is_limited;
}

/* Makes the calls that served_inject() makes, which sees what they return. */
static void try_calls(void *unused)
{
	int file = memfd_create("vdsocheck", MFD_CLOEXEC);
	void *page =
		mmap(NULL, SERVED_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	if (page != MAP_FAILED)
		munmap(page, SERVED_PAGE);
	if (file >= 0)
		close(file);
}

bool served_is_harmless(struct fact *why)
{
	struct deadline deadline = deadline_after(CHILD_PROBE_NS);
	struct fact reason;

	if (!status_number(0, "Seccomp", 0) || child_run(try_calls, NULL, NULL, &deadline, &reason))
		return true;
	*why = reason;
	return false;
}

static void served_read_map(struct served_table *table, pid_t pid)
{
	struct span maps = maps_read(pid);

	/* The map of a process that has ended is empty. */
	if (!maps.length)
		return;
	span_free(table->maps);
	table->maps = maps;
}

/* The memory from the stack pointer of the first thread up to this is mapped. */
static void write_stack_end(const struct served_table *table)
{
	struct span rest = table->maps;
	struct mapping mapping;

	while (maps_next(&rest, &mapping)) {
		if (text_equals(mapping.path, "[stack]"))
			(void)!pwrite(table->file, &mapping.end, sizeof(mapping.end),
				offsetof(struct served_file, stack_end));
	}
}

struct served_table *served_begin(int file, pid_t thread)
{
	struct served_table *table = xcalloc(1, sizeof(*table));

	table->file = file;
	table->users = 1;
	served_read_map(table, thread);
	write_stack_end(table);
	return table;
}

struct served_table *served_open(struct trace_evidence *trace, pid_t thread, uint64_t around)
{
	struct fact why = {0};
	int file = -1, error = EPERM;

	if (!has_own_filter(thread, around, &why) && !served_has_limited_space(thread, &why))
		error = served_inject(thread, trace->request->as_if_fallback, &file, &why);
	if (!error) {
		fact_set_known(&trace->served);
		return served_begin(file, thread);
	}
	if (error != ESRCH) {
		trace_miss(&trace->missed, MISSED_PROGRAMS, 1, why.reason);
		if (!fact_is_known(&trace->served))
			trace->served = why;
	}
	return NULL;
}

/* Says whether there is code that was made at run time beside our stubs. */
static bool makes_code(struct span maps)
{
	struct mapping map;
	size_t made = 0;

	while (maps_next(&maps, &map))
		made += map.executable && mapping_is_made(&map);
	return made > 1;
}

void served_end(struct trace_evidence *trace, struct served_table *table, pid_t pid)
{
	served_read_map(table, pid);
	if (table->maps.length && makes_code(table->maps))
		table->perf_map = places_open_map(&trace->places, pid);
}

struct span served_maps(const struct served_table *table)
{
	return table ? table->maps : (struct span){NULL, 0};
}

void served_map(struct served_table *table, pid_t pid)
{
	served_read_map(table, pid);
}

void served_know_go(struct served_table *table, const struct code_range go[TRACE_GO_FUNCTIONS])
{
	struct code_range moved[TRACE_GO_FUNCTIONS] = {{0, 0}};
	struct span rest = table->maps;
	struct mapping first;

	do {
		if (!maps_next(&rest, &first))
			return;
	} while (!first.inode);
	for (size_t i = 0; i < TRACE_GO_FUNCTIONS && go[i].size; i++)
		moved[i] = (struct code_range){first.start + go[i].start, go[i].size};
	(void)!pwrite(table->file, moved, sizeof(moved), offsetof(struct served_file, go));
}

void served_map_thread(struct served_table *table, pid_t pid)
{
	/* At the first, second, fourth and so on. */
	if (table && !(table->threads & (table->threads + 1)))
		served_read_map(table, pid);
	if (table)
		table->threads++;
}

/* ---- the users and the counts ---- */

void served_lock(struct served_table *table)
{
	static const uint32_t locked = 1;

	if (!table || table->is_locked)
		return;
	table->is_locked = true;
	(void)!pwrite(table->file, &locked, sizeof(locked), offsetof(struct served_file, shared));
}

struct served_table *served_share(struct served_table *table)
{
	if (table)
		table->users++;
	served_lock(table);
	return table;
}

/* clock_getres() of these clocks is always a system call, and is counted as one. */
static bool is_passed_on(uint64_t call, uint64_t clock)
{
	static const uint32_t in_vdso = 1U << CLOCK_REALTIME | 1U << CLOCK_MONOTONIC |
	                                1U << CLOCK_MONOTONIC_RAW | 1U << CLOCK_REALTIME_COARSE |
	                                1U << CLOCK_MONOTONIC_COARSE | 1U << CLOCK_BOOTTIME |
	                                1U << CLOCK_TAI;

	return call == SERVED_CLOCK_GETRES && !(in_vdso >> clock & 1);
}

/* Returns the row of the plan of a call and clock; TRACE_ROW_MAX: it is not counted. */
static size_t find_row(const struct trace_plan *plan, uint64_t which)
{
	const uint64_t number = which / SERVED_CLOCKS;
	const struct trace_call *call = number < SERVED_CALL_COUNT
	                                        ? trace_plan_call(plan, served_calls[number].name)
	                                        : NULL;

	return call ? trace_plan_row(plan, call, which % SERVED_CLOCKS) : TRACE_ROW_MAX;
}

unsigned served_rarity(uint64_t before)
{
	before = before < SERVED_EARLY ? before | SERVED_FIRST / 2 : SERVED_EARLY;
	return 64 - (unsigned)__builtin_ctz(SERVED_FIRST) - (unsigned)__builtin_clzll(before);
}

/* Returns the number of calls that a record stands for among those that were taken. */
static double weigh(const struct served_record *record)
{
	return (double)(1U << served_rarity(record->before));
}

/* Says whether a record can be used. The program may have written anything to it. */
static bool is_whole(const struct served_record *record)
{
	return record->state == SERVED_WHOLE && record->which < SERVED_COUNTERS &&
	       record->size <= SERVED_STACK_SIZE;
}

_Static_assert(SERVED_STACK_SIZE <= sizeof(((struct stack_sample *)0)->bytes), "a stack fits");

/* The first frame is that of the caller, in the instruction that calls. */
static void copy_stack(const struct served_record *record, struct stack_sample *stack)
{
	*stack = (struct stack_sample){.size = (uint32_t)record->size};
#if defined(__aarch64__)
	memcpy(&stack->registers[19], record->kept, sizeof(record->kept));
	stack->registers[STACK_PLACE] = record->kept[11] - 1;
#else
	stack->registers[3] = record->kept[0];
	stack->registers[6] = record->kept[1];
	memcpy(&stack->registers[12], &record->kept[2], 4 * sizeof(*record->kept));
	stack->registers[STACK_PLACE] = record->return_address - 1;
#endif
	stack->registers[STACK_POINTER] = record->stack_pointer;
	memcpy(stack->bytes, record->stack, stack->size);
}

/* Adds the records, so many of which were used; together they stand for all calls. */
static void add_stacks(struct trace_evidence *trace, const struct served_table *table,
	const struct served_file *file, size_t used, const uint64_t calls[SERVED_COUNTERS])
{
	const struct image *image = places_keep(&trace->places, table->maps, table->perf_map);
	double weights[SERVED_COUNTERS] = {0};
	struct stack_sample stack;

	for (size_t i = 0; i < used; i++) {
		if (is_whole(&file->records[i]))
			weights[file->records[i].which] += weigh(&file->records[i]);
	}
	for (size_t i = 0; i < used; i++) {
		const struct served_record *record = &file->records[i];
		const size_t row = is_whole(record) ? find_row(trace->request->plan, record->which)
		                                    : TRACE_ROW_MAX;

		if (row == TRACE_ROW_MAX)
			continue;
		copy_stack(record, &stack);
		places_add_stack(&trace->places, image, (struct place_call){.row = row},
			weigh(record) * (double)calls[record->which] / weights[record->which],
			&stack);
	}
}

static void add_table(struct trace_evidence *trace, const struct served_table *table)
{
	struct served_file *file = xcalloc(1, sizeof(*file));
	uint64_t calls[SERVED_COUNTERS] = {0};
	size_t row, used;

	/* What could not be read is 0. */
	(void)!pread(table->file, file, offsetof(struct served_file, records), 0);
	used = file->taken < SERVED_RECORDS ? (size_t)file->taken : SERVED_RECORDS;
	(void)!pread(table->file, file->records, used * sizeof(*file->records),
		offsetof(struct served_file, records));
	for (size_t call = 0; call < SERVED_CALL_COUNT; call++)
		trace->refused += file->refused[call];
	for (size_t i = 0; i < SERVED_COUNTERS; i++) {
		for (size_t shard = 0; shard < SERVED_SHARDS; shard++)
			calls[i] += file->counters[shard][i];
		row = find_row(trace->request->plan, i);
		if (row < TRACE_ROW_MAX && !is_passed_on(i / SERVED_CLOCKS, i % SERVED_CLOCKS))
			trace->vdso_calls[row] += calls[i];
	}
	add_stacks(trace, table, file, used, calls);
	free(file);
}

void served_drop(struct trace_evidence *trace, struct served_table *table)
{
	if (!table || --table->users)
		return;
	add_table(trace, table);
	close(table->file);
	span_free(table->maps);
	free(table);
}
