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

const char *const trace_method_names[] = {
	[TRACE_BY_NONE] = "",
	[TRACE_BY_BPF] = "bpf",
	[TRACE_BY_SECCOMP] = "seccomp-ptrace",
	NULL,
};

static const char *const origin_names[] = {
	[TRACE_FROM_UNKNOWN] = "unknown",
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

/* ">" marks the cost of the cheapest system call, where that of this one is not known. */
static void print_cost(bool is_minimum, const char *(*as)(double), double cost, FILE *out)
{
	if (!isnan(cost))
		fprintf(out, "%s%s", is_minimum ? ">" : "", as(cost));
}

/* The clock alone fits the line, where its call before it would not. */
static void print_name(const char *call, const char *clock, bool is_short, FILE *out)
{
	const char *name = as_call(call, clock);
	const char *blank =
		is_short && strcmp(call, "clock_gettime") == 0 ? strchr(name, ' ') : NULL;

	fputs(blank ? blank + 1 : name, out);
}

/* ---- the calls ---- */

CELL(print_call, struct trace_line, print_name(row->call, row->clock, false, out))
CELL(print_rate, struct trace_line,
	if (!isnan(row->per_s)) fputs(as_count((uint64_t)(row->per_s + 0.5)), out))
CELL(print_call_ns, struct trace_line, print_cost(row->is_minimum, as_ns, row->syscall_ns, out))
CELL(print_calls_s, struct trace_line, print_cost(row->is_minimum, as_seconds, row->cost_s, out))
CELL(print_vdso_cost, struct trace_line, print_cost(false, as_seconds, row->vdso_cost_s, out))

#define OF struct trace_line

const struct field trace_line_fields[] = {
	{STRING("call", call), .options = FIELD_FILLED, .title = "system call", .left = true,
		.cell = print_call, .doc = "name of the system call"},
	{STRING("clock", clock),
		.doc = "clock that the calls name, or \"other\"; null: the call takes none"},
	{INTEGER("count", count, INT64_MAX), .title = "count", .width = 8,
		.doc = "calls that were counted"},
	{INTEGER("count_32_bit", count_32_bit, INT64_MAX),
		.doc = "how many of these were calls of 32-bit programs"},
	{REAL("per_s", per_s, 1), .title = "per s", .width = 10, .cell = print_rate,
		.doc = "calls per second; null: the duration is unknown"},
	{FLAG("avoidable", avoidable),
		.doc = "whether the vDSO serves the call on this host, or could"},
	{NS("syscall_ns", syscall_ns), .title = "ns each", .width = 9, .cell = print_call_ns,
		.doc = "ns per call by system call; null: not timed"},
	{FLAG("syscall_ns_is_minimum", is_minimum),
		.doc = "whether that is the cost of the cheapest system call, since this one was "
		       "not timed"},
	{REAL("cost_s", cost_s, 6), .title = "total", .width = 9, .cell = print_calls_s,
		.doc = "seconds that the calls took, by that cost; null: not timed"},
	{NS("vdso_ns", vdso_ns), .doc = "ns per call when served by the vDSO; null: unknown"},
	{REAL("vdso_cost_s", vdso_cost_s, 6), .title = "with vDSO", .cell = print_vdso_cost,
		.doc = "seconds that the calls would take when served by the vDSO; null: unknown"},
	{REAL("cpu_share_percent", cpu_share_percent, 2),
		.doc = "percent of the CPU time that the calls took; null: cost or CPU time is "
		       "unknown"},
	{INTEGER("served", served.value, INT64_MAX), .fact = FACT(served.fact),
		.doc = "calls that the vDSO served, which are not in count; null: not counted"},
	{REAL("total_per_s", total_per_s, 1),
		.doc = "system calls and served calls per second; null: the duration is unknown"},
	{REAL("total_s", total_s, 6), .doc = "seconds that both took; null: not timed"},
	{REAL("fallback_s", fallback_s, 6),
		.doc = "seconds that both would take where the vDSO cannot be used; null: unknown"},
	{0},
};

#undef OF

/* ---- the calls with those that were served ---- */

CELL(print_all, struct trace_line, fputs(as_short((double)row->total), out))
CELL(print_total_rate, struct trace_line, fputs(as_short(row->total_per_s), out))
CELL(print_served, struct trace_line, fputs(as_short((double)row->served.value), out))
CELL(print_system_calls, struct trace_line, fputs(as_short((double)row->count), out))
CELL(print_each, struct trace_line,
	print_cost(row->is_minimum && row->count, as_ns,
		row->total_s *NS_PER_SECOND / (double)row->total, out))
CELL(print_total, struct trace_line,
	print_cost(row->is_minimum && row->count, as_seconds, row->total_s, out))
CELL(print_fallback, struct trace_line,
	print_cost(row->is_minimum, as_seconds, row->fallback_s, out))
CELL(print_clock, struct trace_line, print_name(row->call, row->clock, true, out))

#define COLUMN(heading, function)                                                                  \
	.key = heading, .options = FIELD_COLUMN, .title = heading, .cell = function

const struct field trace_served_fields[] = {
	{COLUMN("count", print_all), .width = 7},
	{COLUMN("per s", print_total_rate), .width = 7},
	{COLUMN("served", print_served), .width = 7},
	{COLUMN("system calls", print_system_calls)},
	{COLUMN("ns each", print_each)},
	{COLUMN("total", print_total), .width = 8},
	{COLUMN("fallback", print_fallback)},
	{COLUMN("clock or call", print_clock), .left = true},
	{0},
};

/* ---- the places ---- */

const char *trace_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

CELL(print_source, struct place_source,
	fprintf(out, "%s:%" PRIu32, trace_file_name(row->path), row->line))
CELL(print_inlined, struct place_source, if (row->inlined_count) fputs(row->inlined[0], out))
CELL(print_share, struct trace_place, fprintf(out, "%.1f%%", row->share_percent))
CELL(print_place_count, struct trace_place, fputs(as_short((double)row->count), out))
CELL(print_place_clock, struct trace_place, print_name(row->call, row->clock, true, out))

#define OF struct place_source

static const struct field inlined_element[] = {
	{.key = "",
		.kind = FIELD_TEXT,
		.options = FIELD_FILLED,
		.size = sizeof(((OF *)0)->inlined[0])},
	{0},
};

static const struct field source_fields[] = {
	{WHOLE("source_reason", fact), .doc = "why the next three are not known; null: they are"},
	{TEXT("source", path), .options = FIELD_SPARE | FIELD_RARE, .title = "source", .left = true,
		.cell = print_source, .doc = "path of the source file, by debug information"},
	{INTEGER("line", line, UINT32_MAX), .doc = "line of the call in it"},
	{LIST("inlined", inlined, inlined_count, inlined_element),
		.options = FIELD_SPARE | FIELD_RARE, .title = "inlined", .left = true,
		.cell = print_inlined,
		.doc = "functions that the compiler inlined there, the innermost first, up to four"},
	{0},
};

#undef OF

/* The name of the file, whose path the text has below the table. */
static void print_place(const void *object, const void *whole, FILE *out)
{
	const struct trace_place *place = object;
	const char *module = trace_file_name(place->module);

	(void)whole;
	if (*place->address)
		fprintf(out, "%s+%s%s%s", module, place->address, *place->function ? " " : "",
			place->function);
	else
		fputs(*place->function ? place->function : *module ? module : "other", out);
}

#define OF struct trace_place

const struct field trace_place_fields[] = {
	{REAL("share_percent", share_percent, 2), .options = FIELD_FILLED, .title = "share",
		.width = 7, .cell = print_share, .doc = "percent of the calls of the list"},
	{INTEGER("count", count, INT64_MAX), .title = "count", .width = 7,
		.cell = print_place_count, .doc = "calls from this place"},
	{STRING("call", call), .options = FIELD_FILLED, .title = "clock or call", .left = true,
		.cell = print_place_clock, .doc = "name of the call"},
	{STRING("clock", clock),
		.doc = "clock that the calls name, or \"other\"; null: the call takes none"},
	{TEXT("module", module), .title = "place", .left = true, .cell = print_place,
		.doc = "path of the file that the code is in, or [run-time code]; null: unknown"},
	{TEXT("address", address),
		.doc = "address of the call in this file, as addr2line takes it; null: unknown"},
	{TEXT("function", function),
		.doc = "function that makes the call, in C++ and Rust without parameters; null: there is "
		       "no symbol for it"},
	{INLINE(source, source_fields)},
	{0},
};

const struct field trace_call_place_fields[] = {
	{WORD("origin", origin, origin_names), .title = "system call by", .left = true,
		.doc = "what made the system call: vdso, which could not read the clock itself; "
		       "syscall-function: syscall(2) of libc; libc: another function of it; code: "
		       "any other code; unknown"},
	{.key = "", .kind = FIELD_INLINE, .fields = trace_place_fields},
	{0},
};

#undef OF

/* ---- the whole host ---- */

CELL(print_pid, struct trace_caller, fprintf(out, "%d", row->pid))
CELL(print_vdso_time, struct trace_caller, if (row->vdso_s > 0) fputs(as_seconds(row->vdso_s), out))
CELL(print_processes, struct trace_caller, if (row->processes) fputs(as_count(row->processes), out))

#define OF struct trace_caller

const struct field trace_group_fields[] = {
	{INTEGER("calls", calls, INT64_MAX), .title = "calls", .width = 12,
		.doc = "calls of its processes"},
	{REAL("vdso_s", vdso_s, 6), .title = "in the vDSO", .cell = print_vdso_time,
		.doc = "seconds of CPU time that its processes spent in the vDSO, by samples"},
	{INTEGER("processes", processes, INT64_MAX), .title = "processes", .width = 9,
		.cell = print_processes, .doc = "processes that made them"},
	{TEXT("name", name), .title = "control group", .left = true,
		.doc = "its unit, or its container and pod; else its path; null: its processes "
		       "ended before it was read"},
	{TEXT("path", cgroup), .doc = "path below the root of the hierarchy; null: as above"},
	{0},
};

const struct field trace_process_fields[] = {
	{TEXT("name", name), .title = "process", .left = true,
		.doc = "name of the process; null: it ended before that was read"},
	{INTEGER("pid", pid, INT32_MAX), .title = "pid", .width = 9, .cell = print_pid,
		.doc = "process ID"},
	{INTEGER("calls", calls, INT64_MAX), .title = "calls", .width = 12,
		.doc = "calls that it made"},
	{REAL("vdso_s", vdso_s, 6), .title = "in the vDSO", .cell = print_vdso_time,
		.doc = "seconds of CPU time that it spent in the vDSO, by samples"},
	{0},
};

#undef OF

/* ---- the document ---- */

static const struct field hint_element[] = {
	{.key = "", .kind = FIELD_STRING, .options = FIELD_FILLED},
	{0},
};

#define OF struct trace_inside

static const struct field inside_fields[] = {
	{WHOLE("vdso_share_reason", fact), .doc = "why there are no samples; null: there are"},
	{REAL("vdso_share_percent", share_percent, 3),
		.doc = "percent of the CPU time of a running process, or of one CPU for a whole host, "
		       "that was spent in the vDSO, by samples"},
	{REAL("vdso_share_error_percent", error_percent, 3),
		.doc = "standard error of that; where no sample is in the vDSO, three samples"},
	{REAL("vdso_reads_per_s_most", reads_per_s_most, 0),
		.doc = "reads of the clock by the vDSO per second, at most; null: not sampled, or "
		       "the cost of a read is not known"},
	{0},
};

#undef OF
#define OF struct trace_report

const struct field trace_fields[] = {
	{INTEGER("clock_system_calls", diagnosis.sums.avoidable, INT64_MAX),
		.fact = FACT(trace.method_fact), .reason = "reason",
		.doc = "clock system calls that the vDSO serves or could"},
	{INTEGER("clock_reads", diagnosis.sums.reads.value, INT64_MAX), .fact = FACT(trace.served),
		.reason = "served_reason", .doc = "reads of the clock, served by the vDSO or not"},
	{REAL("clock_reads_s", diagnosis.sums.reads_s, 6), .fact = FACT(trace.served),
		.doc = "seconds that they took; null: not timed"},
	{REAL("fallback_s", diagnosis.sums.fallback_s, 6), .fact = FACT(trace.served),
		.doc = "seconds that they would take where the vDSO cannot be used; null: unknown"},
	{REAL("lost_s", diagnosis.sums.lost_s.value, 6), .whole = FACT(trace.method_fact),
		.fact = FACT(diagnosis.sums.lost_s.fact),
		.doc = "seconds lost by them against the vDSO; null: unknown"},
	{INLINE(diagnosis.inside, inside_fields)},
	{TEXT("sigsys_call", diagnosis.sigsys_call),
		.doc = "clock system call for which the program got SIGSYS by its seccomp filter; "
		       "null: none"},
	{LIST("hints", diagnosis.hints, diagnosis.hint_count, hint_element),
		.doc = "why only this program makes them, as far as it can be seen from outside"},
	{WORD("method", trace.method, trace_method_names), .fact = FACT(trace.method_fact),
		.reason = "reason",
		.doc = "how calls were counted: by a BPF program, or by seccomp and ptrace"},
	{REASON("bpf_reason"), .fact = FACT(trace.bpf),
		.doc = "why no BPF program counted them; null: it did"},
	{INTEGER("threads_uncounted", trace.threads_uncounted, INT64_MAX),
		.doc = "threads whose calls no BPF program counted, because more were started than "
		       "can be followed at once"},
	{TEXT("program", trace.program.path),
		.doc = "path of the program; null: unknown, or the whole host was traced"},
	{FLAG("program_reads_counter", trace.program.reads_counter),
		.doc = "whether the code of a program that was started reads the CPU's counter "
		       "itself; such reads are not calls, and are not counted"},
	{INTEGER("pid", trace.program.pid, INT32_MAX), .given = GIVEN(trace.program.pid),
		.doc = "process ID of the program; null: unknown, or the whole host was traced"},
	{REAL("duration_s", trace.duration_s.value, 3), .fact = FACT(trace.duration_s.fact),
		.reason = "reason", .doc = "seconds that calls were counted"},
	{REAL("cpu_s", trace.cpu_s.value, 3), .fact = FACT(trace.cpu_s.fact), .reason = "reason",
		.doc = "seconds of CPU time of the program and the children it waited for"},
	{FLAG("cpu_includes_stops", trace.cpu_inflated),
		.doc = "whether the stops by ptrace are part of this CPU time"},
	{INTEGER("children_terminated", trace.children_terminated, INT64_MAX),
		.doc = "processes that the program left running, which were sent SIGTERM"},
	{REASON("served_reason"), .doc = "why served calls were not counted; null: they were"},
	{INTEGER("programs_uncounted", trace.uncounted, INT64_MAX),
		.doc = "programs that were executed and whose served calls were not counted"},
	{TEXT("programs_uncounted_reason", trace.uncounted_why.reason),
		.doc = "why, of the last of them; null: there was none"},
	{INTEGER("programs_let_go", trace.let_go, INT64_MAX),
		.doc = "programs that call ptrace(2) themselves and were let go: the served calls "
		       "of programs that these started are not counted"},
	{FLAG("as_if_fallback", request.as_if_fallback),
		.doc = "whether the program ran as if this host fell back"},
	{INTEGER("refused_calls", trace.refused, INT64_MAX), .given = GIVEN(request.as_if_fallback),
		.doc = "system calls in place of the vDSO that a seccomp filter made fail; null: "
		       "the program ran as this host is"},
	{LIST_AT("places", trace.places.list, trace.places.count, trace_place_fields),
		.fact = FACT(trace.served), .reason = "served_reason",
		.doc = "places that make the most calls into the vDSO, in this order"},
	{LIST_AT("system_call_places", trace.call_places.list, trace.call_places.count,
		 trace_call_place_fields),
		.fact = FACT(trace.method_fact), .reason = "reason",
		.doc = "places that make the most system calls, in this order; empty for a whole "
		       "host"},
	{REASON("reason")},
	{LIST_AT("top", trace.callers.list, trace.callers.count, trace_process_fields),
		.given = GIVEN(request.lists_processes),
		.doc = "processes that made the most calls, in this order; null: not asked for"},
	{LIST_AT("control_groups", trace.callers.list, trace.callers.count, trace_group_fields),
		.given = GIVEN(request.lists_groups),
		.doc = "control groups whose processes made the most calls, in this order; null: "
		       "not asked for"},
	{LIST("calls", diagnosis.lines, diagnosis.line_count, trace_line_fields),
		.fact = FACT(trace.method_fact), .reason = "reason",
		.doc = "system calls that were counted"},
	{INTEGER("repeats", trace.repeats, INT64_MAX),
		.doc = "runs of the program, as this host is and as if it fell back each, that "
		       "were compared"},
	{WHOLE("repeats_reason", trace.repeated),
		.doc = "why they were not compared; null: they were"},
	{REAL("untouched_s", trace.untouched.wall_s, 6),
		.doc = "least seconds of a run as this host is"},
	{REAL("untouched_cpu_s", trace.untouched.cpu_s, 6),
		.doc = "least seconds of CPU time of these"},
	{REAL("as_if_fallback_s", trace.fallen_back.wall_s, 6),
		.doc = "least seconds of a run as if this host fell back"},
	{REAL("as_if_fallback_cpu_s", trace.fallen_back.cpu_s, 6),
		.doc = "least seconds of CPU time of these"},
	{0},
};

#undef OF
