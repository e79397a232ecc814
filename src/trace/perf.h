/* SPDX-License-Identifier: MIT */
/* Counting by the kernel's tracepoints of system calls: what is counted runs at full speed. */
#ifndef VDSOCHECK_TRACE_PERF_H
#define VDSOCHECK_TRACE_PERF_H

#include "base/root.h"
#include "model.h"

/* An open event: the calls that pass its filter are those of a row, or of all clocks. */
struct trace_event {
	int file;
	size_t row;
	bool of_all_clocks; /* and `row` is the first of the call */
};

struct trace_events {
	struct trace_event *list;
	size_t count, room;
	uint32_t ids[TRACE_CALL_MAX]; /* of the calls' tracepoints; as tracefs names them */
};

/*
 * Finds the tracepoints of all calls of the plan. False with the reason: no tracefs, no
 * permission, or a call without one.
 */
bool trace_events_find(const struct root *root, const struct trace_plan *plan,
	struct trace_events *events, struct fact *why);

/* What is counted: a thread and what it starts (cpu -1), or a CPU (thread -1). */
struct trace_target {
	pid_t thread;
	int cpu;
	bool from_exec; /* from the next execve(2) on, else once trace_events_enable() is called */
};

/* Opens the events for one target more. 0 or an errno value. */
int trace_events_open(
	struct trace_events *events, const struct trace_plan *plan, struct trace_target target);

void trace_events_enable(const struct trace_events *events);
void trace_events_disable(const struct trace_events *events);

/* Adds up what was counted. 0, or an errno value if a counter could not be read: then nothing. */
int trace_events_read(const struct trace_events *events, const struct trace_plan *plan,
	struct trace_counts *counts);

void trace_events_close(struct trace_events *events);

/* To the hard limit: each event is a file. */
void trace_raise_file_limit(void);

/* Why events could not be opened, with what would help. */
void trace_events_explain(int error, struct fact *why);

#endif
