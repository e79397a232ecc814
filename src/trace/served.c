/* SPDX-License-Identifier: MIT */
/*
 * Keeps the tables of a run. Each executed program has one, which its threads and forked children
 * share; when the last of them has ended, its counts are added to those of the run. A program that
 * cannot be counted is noted with the reason, and runs as without us.
 */
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

uint64_t served_count_filters(pid_t pid)
{
	return status_number(pid, "Seccomp", 0)
	               ? status_number(pid, "Seccomp_filters", SERVED_SOME_FILTERS)
	               : 0;
}

static bool may_have_own_filter(pid_t pid, uint64_t around, struct fact *why)
{
	const uint64_t its = served_count_filters(pid);

	if (its <= around)
		return false;
	fact_set(why, FACT_DENIED, "%s",
		its != SERVED_SOME_FILTERS || !around
			? "it has a seccomp filter of its own, which only root can suspend"
			: "whether it has a seccomp filter of its own is not known before Linux "
			  "5.9");
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

	if (!served_count_filters(0) || child_run(try_calls, NULL, NULL, &deadline, &reason))
		return true;
	*why = reason;
	return false;
}

static void read_map(struct served_table *table, pid_t pid)
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
				SERVED_STACK_END_AT);
	}
}

struct served_table *served_begin(int file, pid_t thread)
{
	struct served_table *table = xcalloc(1, sizeof(*table));

	table->file = file;
	table->users = 1;
	read_map(table, thread);
	write_stack_end(table);
	return table;
}

enum injected served_open(
	struct trace_evidence *trace, pid_t thread, uint64_t around, struct served_table **table)
{
	enum injected result = INJECTED_NOT;
	struct fact why = {0};
	int file = -1;

	*table = NULL;
	if (!may_have_own_filter(thread, around, &why) && !served_has_limited_space(thread, &why))
		result = served_inject(trace, thread, &file, &why);
	if (result == INJECTED) {
		fact_set_known(&trace->served);
		*table = served_begin(file, thread);
	} else if (result != INJECTED_GONE) {
		trace_miss(&trace->missed, MISSED_PROGRAMS, 1, why.reason);
		if (!fact_is_known(&trace->served))
			trace->served = why;
	}
	return result;
}

/* Says whether there is code of no file beside our stubs. */
static bool makes_code(struct span maps)
{
	static const char code[] = "xp 00000000 00:00 0 \n";
	const char *first = memmem(maps.at, maps.length, code, sizeof(code) - 1);
	const char *behind = first ? first + sizeof(code) - 1 : NULL;

	return first &&
	       memmem(behind, maps.length - (size_t)(behind - maps.at), code, sizeof(code) - 1);
}

void served_end(struct trace_evidence *trace, struct served_table *table, pid_t pid)
{
	read_map(table, pid);
	if (table->maps.length && makes_code(table->maps))
		table->perf_map = places_open_map(&trace->places, pid);
}

struct span served_maps(const struct served_table *table)
{
	return table ? table->maps : (struct span){NULL, 0};
}

void served_map(struct served_table *table, pid_t pid)
{
	read_map(table, pid);
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
	(void)!pwrite(table->file, moved, sizeof(moved), SERVED_GO_AT);
}

void served_map_thread(struct served_table *table, pid_t pid)
{
	/* At the first, second, fourth and so on. */
	if (table && !(table->threads & (table->threads + 1)))
		read_map(table, pid);
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
	(void)!pwrite(table->file, &locked, sizeof(locked), SERVED_SHARED_AT);
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

/* Of one call and clock, in all shards. */
struct counted {
	uint64_t calls;
	double weight; /* of its records */
};

static void read_counters(int file, struct counted counted[SERVED_COUNTERS])
{
	uint64_t counters[SERVED_COUNTERS];

	for (size_t shard = 0; shard < SERVED_SHARDS; shard++) {
		off_t at = (off_t)(SERVED_SHARDS_AT + shard * SERVED_SHARD_SIZE);

		if (pread(file, counters, sizeof(counters), at) != sizeof(counters))
			return;
		for (size_t i = 0; i < SERVED_COUNTERS; i++)
			counted[i].calls += counters[i];
	}
}

/* Returns N where one call in N was taken. */
static double weigh(const struct served_record *record)
{
	uint64_t seldom = 1;

	while (seldom < SERVED_SELDOM && seldom * SERVED_FIRST <= record->before)
		seldom *= 2;
	return (double)seldom;
}

/* Reads the records that are whole, of at most so many, and weighs them. */
static size_t read_records(int file, struct served_record *records, size_t most,
	struct counted counted[SERVED_COUNTERS])
{
	const size_t size = sizeof(*records);
	ssize_t length = pread(file, records, most * size, SERVED_RECORDS_AT);
	size_t count = 0;

	for (size_t i = 0; length > 0 && i < (size_t)length / size; i++) {
		if (records[i].state != SERVED_WHOLE || records[i].which >= SERVED_COUNTERS)
			continue;
		counted[records[i].which].weight += weigh(&records[i]);
		records[count++] = records[i];
	}
	return count;
}

/* The first frame is that of the caller, in the instruction that calls. */
static void copy_stack(const struct served_record *record, struct stack_sample *stack)
{
	const size_t size = (uint32_t)record->size;

	*stack = (struct stack_sample){.size = 0};
#if defined(__aarch64__)
	memcpy(&stack->registers[19], record->kept, sizeof(record->kept));
	stack->registers[STACK_POINTER] = record->stack_pointer;
	stack->registers[STACK_PLACE] = record->kept[11];
#else
	stack->registers[3] = record->rbx;
	stack->registers[6] = record->rbp;
	stack->registers[STACK_POINTER] = record->stack_pointer;
	memcpy(&stack->registers[12], record->r12_to_r15, sizeof(record->r12_to_r15));
	stack->registers[STACK_PLACE] = record->return_address;
#endif
	stack->registers[STACK_PLACE]--;
	if (size <= sizeof(stack->bytes)) {
		stack->size = (uint32_t)size;
		memcpy(stack->bytes, record->stack, size);
	}
}

static void add_stacks(struct trace_evidence *trace, const struct served_table *table,
	const struct served_record *records, size_t count, const struct counted *counted)
{
	const struct image *image = places_keep(&trace->places, table->maps, table->perf_map);
	struct stack_sample stack;
	size_t row;

	for (size_t i = 0; i < count; i++) {
		const struct counted *all = &counted[records[i].which];

		row = find_row(trace->request->plan, records[i].which);
		copy_stack(&records[i], &stack);
		/* Together they stand for all calls that were counted. */
		if (row < TRACE_ROW_MAX)
			places_add_stack(&trace->places, image, (struct place_call){.row = row},
				weigh(&records[i]) * (double)all->calls / all->weight, &stack);
	}
}

static void add_table(struct trace_evidence *trace, const struct served_table *table)
{
	struct served_record *records;
	struct counted counted[SERVED_COUNTERS] = {{0, 0}};
	struct served_head head = {.taken = 0};
	size_t count, most, row;

	if (pread(table->file, &head, sizeof(head), 0) == sizeof(head)) {
		for (size_t call = 0; call < SERVED_CALL_COUNT; call++)
			trace->refused += head.refused[call];
	}
	read_counters(table->file, counted);
	for (size_t i = 0; i < SERVED_COUNTERS; i++) {
		row = find_row(trace->request->plan, i);
		if (row < TRACE_ROW_MAX && !is_passed_on(i / SERVED_CLOCKS, i % SERVED_CLOCKS))
			trace->vdso_calls[row] += counted[i].calls;
	}
	most = head.taken < SERVED_RECORDS ? (size_t)head.taken : SERVED_RECORDS;
	records = xcalloc(most, sizeof(*records));
	count = read_records(table->file, records, most, counted);
	add_stacks(trace, table, records, count, counted);
	free(records);
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
