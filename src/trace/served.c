/* SPDX-License-Identifier: MIT */
/*
 * The tables of a run. Each executed program has one, which its threads and forked children share;
 * when the last of them has ended, its counts are added to those of the run. A program that cannot
 * be counted is noted with the reason, and runs as without us.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/root.h"
#include "served.h"

/* The lines of a memory map beyond it are not read. */
#define MAPS_SIZE (4 << 20)

struct served_table {
	int file;
	size_t users; /* threads */
	pid_t pid;
	char *maps; /* owned: the memory map when it was last read */
	size_t maps_length;
};

uint64_t served_filters(pid_t pid)
{
	char path[64], content[4096];
	struct span span = {content, 0}, value;
	uint64_t filters = 0;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return UINT64_MAX;
	(void)file_read_all(file, content, sizeof(content), &span.length);
	close(file);
	/* The first is there since Linux 5.9. */
	if (text_find_value(span, "Seccomp_filters", &value) ||
		text_find_value(span, "Seccomp", &value))
		number_parse(value, &filters);
	return filters;
}

struct served_table *served_open(
	struct trace_evidence *trace, pid_t thread, uint64_t filters, int *signal)
{
	struct served_table *table;
	int file = -1;

	*signal = 0;
	if (served_filters(thread) > filters)
		fact_set(&trace->uncounted_why, FACT_DENIED, "it has a seccomp filter of its own");
	else
		file = served_inject(trace, thread, signal, &trace->uncounted_why);
	if (file < 0) {
		trace->uncounted++;
		if (!fact_is_known(&trace->served))
			trace->served = trace->uncounted_why;
		return NULL;
	}
	fact_set_known(&trace->served);
	table = xcalloc(1, sizeof(*table));
	table->file = file;
	table->users = 1;
	served_look(table, thread);
	return table;
}

void served_look(struct served_table *table, pid_t pid)
{
	char path[64], *maps;
	size_t length = 0;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	maps = xmalloc(MAPS_SIZE);
	(void)file_read_all(file, maps, MAPS_SIZE, &length);
	close(file);
	/* A process that has ended has an empty one. */
	if (length) {
		free(table->maps);
		table->pid = pid;
		table->maps = xmalloc(length);
		memcpy(table->maps, maps, length);
		table->maps_length = length;
	}
	free(maps);
}

struct served_table *served_share(struct served_table *table)
{
	if (table)
		table->users++;
	return table;
}

/* The row of a call and clock, as a key names them; TRACE_ROW_MAX: it is not in the plan. */
static size_t find_row(const struct trace_plan *plan, uint64_t call, uint64_t clock)
{
	for (size_t i = 0; i < plan->call_count && call < SERVED_CALL_COUNT; i++) {
		const struct trace_call *planned = &plan->calls[i];
		size_t row = planned->row;

		if (strcmp(planned->name, served_call_names[call]) != 0)
			continue;
		while (row < planned->rest && plan->rows[row].clock_id != (int64_t)clock)
			row++;
		return row;
	}
	return TRACE_ROW_MAX;
}

bool served_has_call(const struct trace_plan *plan)
{
	for (uint64_t call = 0; call < SERVED_CALL_COUNT; call++) {
		if (find_row(plan, call, 0) < TRACE_ROW_MAX)
			return true;
	}
	return false;
}

static void add_calls(struct trace_evidence *trace, const struct served_table *table,
	uint64_t call_and_clock, uint64_t address, uint64_t count)
{
	size_t row = find_row(trace->plan, call_and_clock >> 5, call_and_clock & 31);

	if (!count || row == TRACE_ROW_MAX)
		return;
	trace->vdso_calls[row] += count;
	places_add(trace, (struct span){table->maps, table->maps_length}, table->pid, address, row,
		count);
}

/* Most pages of a table are holes, which no stub has written to. */
static void add_table(struct trace_evidence *trace, const struct served_table *table)
{
	uint64_t words[SERVED_PAGE / sizeof(uint64_t)];

	for (off_t at = 0; (at = lseek(table->file, at, SEEK_DATA)) >= 0; at += SERVED_PAGE) {
		if (pread(table->file, words, sizeof(words), at) != sizeof(words))
			return;
		for (size_t i = 0; at < SERVED_SHARDS_AT && i < SERVED_OVERFLOWS; i++)
			add_calls(trace, table, i, 0, words[i]);
		for (size_t i = 0; at >= SERVED_SHARDS_AT && i < sizeof(words) / sizeof(*words);
			i += 2)
			add_calls(trace, table, words[i] >> 48, words[i] & 0xffffffffffff,
				words[i + 1]);
	}
}

void served_drop(struct trace_evidence *trace, struct served_table *table)
{
	if (!table || --table->users)
		return;
	add_table(trace, table);
	close(table->file);
	free(table->maps);
	free(table);
}
