/* SPDX-License-Identifier: MIT */
/*
 * Has the fields of a report: the keys of its document, which is written and never read, and the
 * columns of its tables. A line of the tables with the served calls has 80 characters: numbers are
 * short there, since the document has them exactly, and names come last.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "cli/text.h"
#include "model.h"

static const char *const origin_names[] = {
	[TRACE_FROM_UNKNOWN] = "",
	[TRACE_FROM_VDSO] = "vdso",
	[TRACE_FROM_SYSCALL_FUNCTION] = "syscall-function",
	[TRACE_FROM_LIBC] = "libc",
	[TRACE_FROM_CODE] = "code",
	NULL,
};

/* ---- cells ---- */

/* Defines the function that prints a cell of a row of this type. */
#define CELL(name, type, print)                                                                    \
	static void name(const void *object, const void *whole, FILE *out)                         \
	{                                                                                          \
		const type *row = object;                                                          \
                                                                                                   \
		(void)whole;                                                                       \
		print;                                                                             \
	}

/* The clock alone fits the line, where its call before it would not. */
static void trace_print_name(const char *call, const char *clock, FILE *out)
{
	bool is_short = *clock && strcmp(call, "clock_gettime") == 0;

	fputs(is_short ? strchr(as_call(call, clock), ' ') + 1 : as_call(call, clock), out);
}

/* ---- the calls ---- */

/* ">" marks what rests on the cost of the cheapest system call. */
static void print_cost(const struct trace_line *line, bool is_minimum, const char *cost, FILE *out)
{
	fprintf(out, "%s%s", line->is_minimum && is_minimum ? ">" : "", cost);
}

CELL(print_clock, struct trace_line, trace_print_name(row->call, row->clock, out))
CELL(print_all, struct trace_line, fputs(as_short((double)trace_line_calls(row)), out))
CELL(print_rate, struct trace_line,
	const double duration_s = ((const struct trace_report *)whole)->trace.duration_s.value;
	if (duration_s > 0) fputs(as_short((double)trace_line_calls(row) / duration_s), out))
CELL(print_spent, struct trace_line,
	if (!isnan(row->spent_s)) print_cost(row, row->count, as_seconds(row->spent_s), out))
CELL(print_system_calls, struct trace_line,
	if (fact_is_known(&row->counted)) fputs(as_short((double)row->count), out))
CELL(print_each, struct trace_line,
	if (!isnan(row->spent_s)) print_cost(row, row->count,
		as_ns(row->spent_s *NS_PER_SECOND / (double)trace_line_calls(row)), out))
CELL(print_fallback, struct trace_line,
	if (!isnan(row->fallback_s)) print_cost(row, true, as_seconds(row->fallback_s), out))

#define COLUMN(heading, function)                                                                  \
	.key = heading, .options = FIELD_COLUMN, .title = heading, .cell = function

const struct field trace_line_columns[] = {
	{COLUMN("clock or call", print_clock), .left = true, .width = 22},
	{COLUMN("count", print_all), .width = 8},
	{COLUMN("per s", print_rate), .width = 8},
	{COLUMN("cost", print_spent), .width = 10},
	{0},
};

const struct field trace_line_details[] = {
	{.key = "", .kind = FIELD_INLINE, .fields = trace_line_columns},
	{COLUMN("ns each", print_each), .width = 9},
	{COLUMN("system calls", print_system_calls)},
	{COLUMN("fallback", print_fallback), .width = 9},
	{0},
};

#define OF struct trace_line

static const struct field line_fields[] = {
	{STRING("call", call), .options = FIELD_FILLED, .doc = "name of the system call"},
	{STRING("clock", clock),
		.doc = "clock that the calls name, or \"other\"; null: the call takes none"},
	{INTEGER("count", count, INT64_MAX), .fact = FACT(counted), .reason = NO_REASON,
		.doc = "system calls; null: not counted"},
	{NUMBER_FACT("served", served, INT64_MAX), .reason = NO_REASON,
		.doc = "calls that the vDSO served, which are not in count; null: not known"},
	{FLAG("avoidable", avoidable),
		.doc = "whether the vDSO serves the call on this host, or could"},
	{NS("syscall_ns", syscall_ns), .doc = "ns per call by system call; null: not timed"},
	{FLAG("syscall_ns_is_minimum", is_minimum),
		.doc = "whether that is of the cheapest system call, as this one was not timed"},
	{NS("vdso_ns", vdso_ns), .doc = "ns per call when served by the vDSO; null: unknown"},
	{0},
};

#undef OF

/* ---- the places ---- */

const char *trace_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

CELL(print_source, struct place_source,
	fprintf(out, "%s:%" PRIu32, trace_file_name(row->path), row->line))
CELL(print_share, struct trace_place, fprintf(out, "%.1f%%", row->share_percent))
CELL(print_place_count, struct trace_place, fputs(as_short((double)row->count), out))
CELL(print_place_clock, struct trace_place, trace_print_name(row->call, row->clock, out))

#define OF struct place_source

static const struct field source_fields[] = {
	{WHOLE("source_reason", fact), .doc = "why the next two are not known; null: they are"},
	{TEXT("source", path), .options = FIELD_SPARE | FIELD_RARE, .title = "source", .left = true,
		.cell = print_source, .doc = "path of the source file, by debug information"},
	{INTEGER("line", line, UINT32_MAX), .doc = "line of the call in it"},
	{0},
};

#undef OF

/* A function and its callers, or the name of the file, whose path the text has below the table. */
static void print_place(const void *object, const void *whole, FILE *out)
{
	const struct trace_place *place = object;
	const char *module = trace_file_name(place->module);

	(void)whole;
	if (*place->address && !*place->function)
		fprintf(out, "%s+%s", module, place->address);
	else
		fputs(*place->function ? place->function : *module ? module : "other", out);
	for (size_t i = 0; i < place->caller_count; i++)
		fprintf(out, " < %s", place->callers[i]);
}

#define OF struct trace_place

static const struct field caller_element[] = {
	{.key = "",
		.kind = FIELD_TEXT,
		.options = FIELD_FILLED,
		.size = sizeof(((OF *)0)->callers[0])},
	{0},
};

const struct field trace_place_fields[] = {
	{WORD("origin", origin, origin_names),
		.doc = "what made the system call: vdso, which could not read the clock itself; "
		       "syscall-function: syscall(2) of libc; libc: another function of it; code: "
		       "any other code; null: unknown, or a call into the vDSO"},
	{REAL("share_percent", share_percent, 2), .options = FIELD_FILLED, .title = "share",
		.width = 7, .cell = print_share, .doc = "percent of the calls of the list"},
	{INTEGER("count", count, INT64_MAX), .title = "count", .width = 7,
		.cell = print_place_count,
		.doc = "calls from this place; of a running process, samples in the vDSO"},
	{STRING("call", call), .options = FIELD_RARE, .title = "clock or call", .left = true,
		.cell = print_place_clock,
		.doc = "name of the call; null: a sample does not know it"},
	{STRING("clock", clock),
		.doc = "clock that the calls name, or \"other\"; null: the call takes none"},
	{TEXT("module", module), .title = "place", .left = true, .cell = print_place,
		.doc = "path of the file that the code is in, or [run-time code]; null: unknown"},
	{TEXT("address", address),
		.doc = "address of the call in this file, as addr2line takes it; null: unknown"},
	{REAL("share_error_percent", error_percent, 2),
		.doc = "standard error of share_percent; 0: all calls were counted by place"},
	{TEXT("function", function),
		.doc = "function that makes the call, without parameters; null: it has no symbol"},
	{INLINE(source, source_fields)},
	{LIST("callers", callers, caller_count, caller_element),
		.doc = "functions that call this one, the innermost first, up to two"},
	{0},
};

#undef OF

/* ---- the whole host ---- */

CELL(print_vdso_time, struct trace_caller, if (row->vdso_s > 0) fputs(as_seconds(row->vdso_s), out))
CELL(print_pid, struct trace_caller, if (row->pid) fprintf(out, "%d", row->pid))

#define OF struct trace_caller

const struct field trace_caller_fields[] = {
	{INTEGER("pid", pid, INT32_MAX), .given = GIVEN(pid), .options = FIELD_RARE, .title = "pid",
		.width = 9, .cell = print_pid, .doc = "process ID; null: it is a control group"},
	{INTEGER("calls", calls, INT64_MAX), .title = "calls", .width = 12,
		.doc = "calls that it made"},
	{REAL("vdso_s", vdso_s, 6), .title = "time in vDSO", .cell = print_vdso_time,
		.doc = "seconds of CPU time that it spent in the vDSO, by samples"},
	{INTEGER("processes", processes, INT64_MAX), .given = GIVEN(processes),
		.options = FIELD_RARE, .title = "processes", .width = 9,
		.doc = "processes of a control group that made the calls; null: none did, or it is "
		       "a process"},
	{TEXT("name", name), .title = "name", .left = true,
		.doc = "of a process; of a control group its unit, or its container and pod, else "
		       "its path; null: it was removed before it was read, or is not known"},
	{TEXT("path", cgroup),
		.doc = "path of a control group below the root of the hierarchy; null: as above"},
	{0},
};

#undef OF

/* ---- the document ---- */

static const struct field text_element[] = {
	{.key = "", .kind = FIELD_TEXT, .options = FIELD_FILLED, .size = TRACE_TEXT_SIZE},
	{0},
};

#define OF struct trace_missed

static const struct field missed_fields[] = {
	{WORD("kind", kind, trace_missed_names), .options = FIELD_FILLED,
		.doc = "system-calls and served-calls (into the vDSO): all; programs: executed "
		       "ones, whose calls into the vDSO; children: those of such programs; "
		       "threads: their system calls; calls: system calls; samples, and "
		       "32-bit-samples in code whose vDSO is not looked for; privileges: "
		       "programs that ran without those of their files"},
	{INTEGER("count", count, INT64_MAX), .given = GIVEN(count),
		.doc = "how many; null: all of the run"},
	{TEXT("reason", reason), .options = FIELD_FILLED, .doc = "why"},
	{0},
};

#undef OF
#define OF struct trace_inside

static const struct field inside_fields[] = {
	{WHOLE("vdso_share_reason", fact), .doc = "why there are no samples; null: there are"},
	{REAL("vdso_share_percent", share_percent, 3),
		.doc = "percent of a running process's CPU time, or of one CPU, spent in the vDSO"},
	{REAL("vdso_share_error_percent", error_percent, 3),
		.doc = "standard error of that; where no sample is in the vDSO, three samples"},
	{REAL("vdso_reads_per_s_most", reads_per_s_most, 0),
		.doc = "most reads of the clock per second; null: the cost of one is not known"},
	{0},
};

#undef OF
#define OF struct trace_report

const struct field trace_fields[] = {
	{STRING("rule", report.rule), .options = FIELD_FILLED,
		.doc = "id of the rule that gave the verdict"},
	{INTEGER("clock_system_calls", diagnosis.sums.avoidable, INT64_MAX),
		.fact = FACT(diagnosis.counted), .reason = "reason",
		.doc = "clock system calls that the vDSO serves or could"},
	{INTEGER("clock_reads", diagnosis.sums.reads, INT64_MAX), .fact = FACT(trace.served),
		.reason = "served_reason", .doc = "reads of the clock, served by the vDSO or not"},
	{REAL("clock_reads_s", diagnosis.sums.reads_s, 6), .fact = FACT(trace.served),
		.reason = "served_reason", .doc = "seconds that they took; null: not timed"},
	{REAL("fallback_s", diagnosis.sums.fallback_s, 6), .fact = FACT(trace.served),
		.reason = "served_reason",
		.doc = "seconds that they would take where the vDSO cannot be used; null: unknown"},
	{REAL_FACT("lost_s", diagnosis.sums.lost_s, 6), .reason = NO_REASON,
		.doc = "seconds lost by them against the vDSO; null: unknown"},
	{INLINE(diagnosis.inside, inside_fields)},
	{TEXT("sigsys_call", diagnosis.sigsys_call),
		.doc = "clock system call that a seccomp filter ended a thread for; null: none"},
	{LIST("hints", diagnosis.hints.list, diagnosis.hints.count, text_element),
		.doc = "why only this program makes them, as far as it can be seen from outside"},
	{LIST("not_counted", diagnosis.missed.list, diagnosis.missed.count, missed_fields),
		.doc = "what was not counted, or did not go as it would without vdsocheck"},
	{TEXT("program", trace.program.path),
		.doc = "path of the program; null: unknown, or the whole host was traced"},
	{INTEGER("pid", trace.program.pid, INT32_MAX), .given = GIVEN(trace.program.pid),
		.doc = "process ID of the program; null: unknown, or the whole host was traced"},
	{REAL("duration_s", trace.duration_s.value, 3), .fact = FACT(trace.duration_s.fact),
		.reason = "reason", .doc = "seconds that calls were counted"},
	{REAL("cpu_s", trace.cpu_s.value, 3), .fact = FACT(trace.cpu_s.fact), .reason = "reason",
		.doc = "seconds of CPU time of the program and the children it waited for"},
	{REASON("served_reason"),
		.doc = "why served calls of no program were counted: the first reason, of which "
		       "not_counted has all; null: they were"},
	{FLAG("as_if_fallback", request.as_if_fallback),
		.doc = "whether the program ran as if this host fell back"},
	{INTEGER("refused_calls", trace.refused, INT64_MAX), .given = GIVEN(request.as_if_fallback),
		.doc = "system calls of such a run that a filter made fail; null: no such run"},
	{LIST_AT("places", trace.places.list, trace.places.count, trace_place_fields),
		.fact = FACT(trace.served), .reason = "served_reason",
		.doc = "places that make the most calls into the vDSO, in this order"},
	{LIST_AT("sampled_places", trace.places.list, trace.places.count, trace_place_fields),
		.fact = FACT(diagnosis.inside.fact), .reason = "vdso_share_reason",
		.doc = "places that what ran already called the vDSO from in most samples, in this "
		       "order; with --all of the processes with the most samples, at the end"},
	{LIST_AT("system_call_places", trace.call_places.list, trace.call_places.count,
		 trace_place_fields),
		.fact = FACT(trace.counted), .reason = "reason",
		.doc = "places that make the most system calls, in this order"},
	{REASON("reason")},
	{LIST_AT("top", trace.callers.list, trace.callers.count, trace_caller_fields),
		.given = GIVEN(request.lists_processes),
		.doc = "processes that made the most calls, in this order; null: not asked for"},
	{LIST_AT("control_groups", trace.callers.list, trace.callers.count, trace_caller_fields),
		.given = GIVEN(request.lists_groups),
		.doc = "control groups that made the most calls, in this order; null: not asked "
		       "for"},
	{LIST("calls", diagnosis.lines, diagnosis.line_count, line_fields),
		.fact = FACT(diagnosis.listed), .reason = "reason",
		.doc = "calls that were counted"},
	{0},
};

#undef OF
