/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck trace`, which is written and never read, and the columns
 * of the text's tables, which are fields, too. A line of the tables with the served calls has 80
 * characters: numbers are short there, since the document has them exactly, and names come last.
 */
#include <math.h>
#include <string.h>

#include "base/time.h"
#include "cli/text.h"
#include "model.h"

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

static void print_count(double count, FILE *out)
{
	char text[32];

	if (!isnan(count))
		fputs(format_count((uint64_t)(count + 0.5), text), out);
}

/* Prints at most six characters: "99,999", "123 k", "1.23 M". */
static void print_short(double count, FILE *out)
{
	static const char units[] = "kMGTPE";
	double value = round(count);
	int unit = -1;

	for (; value >= (unit < 0 ? 100000 : 999.5); unit++)
		value /= 1000;
	if (unit < 0)
		print_count(value, out);
	else
		fprintf(out, "%.*f %c",
			value < 9.995   ? 2
			: value < 99.95 ? 1
					: 0,
			value, units[unit]);
}

/* ">" marks the cost of the cheapest system call, where that of this one is not known. */
static void print_seconds(bool is_minimum, double seconds, FILE *out)
{
	char text[32];

	if (!isnan(seconds))
		fprintf(out, "%s%s", is_minimum ? ">" : "", trace_describe_seconds(seconds, text));
}

static void print_ns(bool is_minimum, double ns, FILE *out)
{
	char text[32];

	if (!isnan(ns))
		fprintf(out, "%s%s", is_minimum ? ">" : "", format_ns(ns, text));
}

/* The clock alone fits the line, where its call before it would not. */
static void print_name(const char *call, const char *clock, bool is_short, FILE *out)
{
	struct strbuf name = {.used = 0};
	const char *blank;

	describe_call_name(call, clock, &name);
	blank = is_short && strcmp(call, "clock_gettime") == 0 ? strchr(name.text, ' ') : NULL;
	fputs(blank ? blank + 1 : name.text, out);
}

/* ---- the calls ---- */

CELL(print_call, struct trace_line, print_name(row->call, row->clock, false, out))
CELL(print_rate, struct trace_line, print_count(row->per_s, out))
CELL(print_call_ns, struct trace_line, print_ns(row->is_minimum, row->syscall_ns, out))
CELL(print_cost, struct trace_line, print_seconds(row->is_minimum, row->cost_s, out))
CELL(print_vdso_cost, struct trace_line, print_seconds(false, row->vdso_cost_s, out))

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
	{REAL("cost_s", cost_s, 6), .title = "total", .width = 9, .cell = print_cost,
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

CELL(print_all, struct trace_line, print_short((double)row->total, out))
CELL(print_total_rate, struct trace_line, print_short(row->total_per_s, out))
CELL(print_served, struct trace_line, print_short((double)row->served.value, out))
CELL(print_system_calls, struct trace_line, print_short((double)row->count, out))
CELL(print_each, struct trace_line,
	print_ns(row->is_minimum && row->count, row->total_s *NS_PER_SECOND / (double)row->total,
		out))
CELL(print_total, struct trace_line,
	print_seconds(row->is_minimum && row->count, row->total_s, out))
CELL(print_fallback, struct trace_line, print_seconds(row->is_minimum, row->fallback_s, out))
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

CELL(print_share, struct trace_place, fprintf(out, "%.1f%%", row->share_percent))
CELL(print_place_count, struct trace_place, print_short((double)row->count, out))
CELL(print_place_clock, struct trace_place, print_name(row->call, row->clock, true, out))

/* The name of the file, whose path the text has below the table. */
static void print_place(const void *object, const void *whole, FILE *out)
{
	const struct trace_place *place = object;
	const char *slash = strrchr(place->module, '/');
	const char *module = slash ? slash + 1 : place->module;

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
		.doc = "path of the file that the code is in; null: it is of no file, or unknown"},
	{TEXT("address", address),
		.doc = "address of the call in this file, as addr2line takes it; null: unknown"},
	{TEXT("function", function),
		.doc = "function that makes the call; null: the file has no symbol for it"},
	{0},
};

const struct field trace_call_place_fields[] = {
	{WORD("origin", origin, trace_origin_names), .title = "system call by", .left = true,
		.doc = "what made the system call: vdso, which could not read the clock itself; "
		       "syscall-function: syscall(2) of libc; libc: another function of it; code: "
		       "any other code; unknown"},
	{.key = "", .kind = FIELD_INLINE, .fields = trace_place_fields},
	{0},
};

#undef OF

/* ---- the whole host ---- */

CELL(print_pid, struct trace_caller, fprintf(out, "%d", row->pid))
CELL(print_calls, struct trace_caller, print_count((double)row->calls, out))
CELL(print_vdso_time, struct trace_caller,
	if (row->vdso_s > 0) print_seconds(false, row->vdso_s, out))
CELL(print_processes, struct trace_caller,
	if (row->processes) print_count((double)row->processes, out))

#define OF struct trace_caller

const struct field trace_group_fields[] = {
	{INTEGER("calls", calls, INT64_MAX), .title = "calls", .width = 12, .cell = print_calls,
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
	{INTEGER("calls", calls, INT64_MAX), .title = "calls", .width = 12, .cell = print_calls,
		.doc = "calls that it made"},
	{REAL("vdso_s", vdso_s, 6), .title = "in the vDSO", .cell = print_vdso_time,
		.doc = "seconds of CPU time that it spent in the vDSO, by samples"},
	{0},
};

#undef OF

/* ---- the run ---- */

#define OF struct trace_evidence

static const struct field run_fields[] = {
	{WORD("method", method, trace_method_names), .fact = FACT(method_fact), .reason = "reason",
		.doc = "how calls were counted: by a BPF program, or by seccomp and ptrace"},
	{REASON("bpf_reason"), .fact = FACT(bpf),
		.doc = "why no BPF program counted them; null: it did"},
	{TEXT("program", program.path),
		.doc = "path of the program; null: unknown, or the whole host was traced"},
	{FLAG("program_reads_counter", program.reads_counter),
		.doc = "whether the code of a program that was started reads the CPU's counter "
		       "itself; such reads are not calls, and are not counted"},
	{INTEGER("pid", program.pid, INT32_MAX), .given = GIVEN(program.pid),
		.doc = "process ID of the program; null: unknown, or the whole host was traced"},
	{REAL("duration_s", duration_s.value, 3), .fact = FACT(duration_s.fact), .reason = "reason",
		.doc = "seconds that calls were counted"},
	{REAL("cpu_s", cpu_s.value, 3), .fact = FACT(cpu_s.fact), .reason = "reason",
		.doc = "seconds of CPU time of the program and the children it waited for"},
	{FLAG("cpu_includes_stops", cpu_inflated),
		.doc = "whether the stops by ptrace are part of this CPU time"},
	{INTEGER("children_terminated", children_terminated, INT64_MAX),
		.doc = "processes that the program left running, which were sent SIGTERM"},
	{REASON("served_reason"), .doc = "why served calls were not counted; null: they were"},
	{INTEGER("programs_uncounted", uncounted, INT64_MAX),
		.doc = "programs that were executed and whose served calls were not counted"},
	{TEXT("programs_uncounted_reason", uncounted_why.reason),
		.doc = "why, of the last of them; null: there was none"},
	{INTEGER("programs_let_go", let_go, INT64_MAX),
		.doc = "programs that call ptrace(2) themselves and were let go: the served calls "
		       "of programs that these started are not counted"},
	{FLAG("as_if_fallback", as_if_fallback),
		.doc = "whether the program ran as if this host fell back"},
	{INTEGER("refused_calls", refused, INT64_MAX), .given = GIVEN(as_if_fallback),
		.doc = "system calls in place of the vDSO that a seccomp filter made fail; null: "
		       "the program ran as this host is"},
	{INTEGER("repeats", repeats, INT64_MAX),
		.doc = "runs of the program, as this host is and as if it fell back each, that "
		       "were compared"},
	{TEXT("repeats_reason", repeated.reason),
		.doc = "why they were not compared; null: they were, or not asked for"},
	{REAL("untouched_s", untouched.wall_s, 6), .given = GIVEN(repeats),
		.doc = "least seconds of a run as this host is; null: not compared"},
	{REAL("untouched_cpu_s", untouched.cpu_s, 6), .given = GIVEN(repeats),
		.doc = "least seconds of CPU time of these; null: not repeated"},
	{REAL("as_if_fallback_s", fallen_back.wall_s, 6), .given = GIVEN(repeats),
		.doc = "least seconds of a run as if this host fell back; null: not repeated"},
	{REAL("as_if_fallback_cpu_s", fallen_back.cpu_s, 6), .given = GIVEN(repeats),
		.doc = "least seconds of CPU time of these; null: not repeated"},
	{LIST_AT("places", places.list, places.count, trace_place_fields), .fact = FACT(served),
		.reason = "served_reason",
		.doc = "places that make the most calls into the vDSO, in this order"},
	{LIST_AT("system_call_places", call_places.list, call_places.count,
		 trace_call_place_fields),
		.fact = FACT(method_fact), .reason = "reason",
		.doc = "places that make the most system calls, in this order; empty for a whole "
		       "host"},
	{REASON("reason")},
	{LIST_AT("top", top.processes.list, top.processes.count, trace_process_fields),
		.given = GIVEN(lists_processes),
		.doc = "processes that made the most calls, in this order; null: not asked for"},
	{LIST_AT("control_groups", top.groups.list, top.groups.count, trace_group_fields),
		.given = GIVEN(lists_groups),
		.doc = "control groups whose processes made the most calls, in this order; null: "
		       "not asked for"},
	{0},
};

#undef OF

/* ---- the verdict, and the document ---- */

#define OF struct trace_diagnosis

static const struct field verdict_fields[] = {
	{WORD("verdict", verdict, trace_verdict_names),
		.doc = "ok: no clock system call that the vDSO could serve; fallback: at least "
		       "one; unknown: undetermined; simulated: it ran as if this host fell back"},
	{0},
};

static const struct field hint_element[] = {
	{.key = "", .kind = FIELD_STRING, .options = FIELD_FILLED},
	{0},
};

static const struct field diagnosis_fields[] = {
	{TEXT("summary", summary), .options = FIELD_FILLED, .doc = "verdict in a sentence"},
	{INTEGER("clock_system_calls", sums.avoidable, INT64_MAX), .given = GIVEN(is_counted),
		.doc = "clock system calls that the vDSO serves or could; null: see reason"},
	{INTEGER("clock_reads", sums.reads.value, INT64_MAX), .fact = FACT(sums.reads.fact),
		.doc = "reads of the clock, served by the vDSO or not; null: those that the vDSO "
		       "served were not counted"},
	{REAL("clock_reads_s", sums.reads_s, 6), .fact = FACT(sums.reads.fact),
		.doc = "seconds that they took; null: not timed"},
	{REAL("fallback_s", sums.fallback_s, 6), .fact = FACT(sums.reads.fact),
		.doc = "seconds that they would take where the vDSO cannot be used; null: unknown"},
	{REAL("lost_s", sums.lost_s.value, 6), .fact = FACT(sums.lost_s.fact),
		.given = GIVEN(is_counted),
		.doc = "seconds lost by them against the vDSO; null: unknown"},
	{REAL("vdso_share_percent", inside.share_percent, 3), .fact = FACT(inside.fact),
		.doc = "percent of the CPU time of a running process, or of one CPU for a whole host, "
		       "that was spent in the vDSO, by samples; null: not sampled"},
	{REAL("vdso_share_error_percent", inside.error_percent, 3), .fact = FACT(inside.fact),
		.doc = "standard error of that; where no sample is in the vDSO, three samples"},
	{REAL("vdso_reads_per_s_most", inside.reads_per_s_most, 0), .fact = FACT(inside.fact),
		.doc = "reads of the clock by the vDSO per second, at most; null: not sampled, or the "
		       "cost of a read is not known"},
	{TEXT("vdso_share_reason", inside.fact.reason),
		.doc = "why there are no samples; null: there are, or a program was started"},
	{TEXT("sigsys_call", sigsys_call),
		.doc = "clock system call for which the program got SIGSYS by its seccomp filter; "
		       "null: none"},
	{LIST("hints", hints, hint_count, hint_element),
		.doc = "why only this program makes them, as far as it can be seen from outside"},
	{0},
};

static const struct field calls_fields[] = {
	{LIST("calls", lines, line_count, trace_line_fields), .given = GIVEN(is_counted),
		.doc = "system calls that were counted; null: see reason"},
	{0},
};

#undef OF
#define OF struct trace_report

const struct field trace_report_fields[] = {
	{INLINE(timestamp, timestamp_fields)},
	{INLINE(diagnosis, verdict_fields)},
	{INTEGER("exit_status", exit_status, 255),
		.doc = "the program's, or 128 and the number of the signal that ended it; with "
		       "--pid or --all that of vdsocheck"},
	{INLINE(diagnosis, diagnosis_fields)},
	{INLINE(trace, run_fields)},
	{INLINE(diagnosis, calls_fields)},
	{0},
};

bool trace_report_json(const void *result, const struct style *style, FILE *out)
{
	const struct trace_report *report = result;
	return document_write(TRACE_JSON_SCHEMA, trace_report_fields, report,
		report->is_interval || style->compact, out);
}
