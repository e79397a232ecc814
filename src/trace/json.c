/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck trace`, which is written and never read. Those of the
 * calls are the columns of the text's table, too.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "cli/describe.h"
#include "judge.h"
#include "model.h"

/* ---- the calls ---- */

/* One row of the list, put together from three tables. */
struct entry {
	const char *call;
	const char *clock;
	uint64_t count, compat;
	bool has_rate, has_cost, has_vdso, has_share;
	bool at_least, avoidable;
	double per_second, ns, cost_s, vdso_ns, vdso_s, share;
};

static void print_name(const void *object, const void *whole, FILE *out)
{
	const struct entry *entry = object;
	struct strbuf name = {.used = 0};

	(void)whole;
	describe_call_name(entry->call, entry->clock, &name);
	fputs(name.text, out);
}

static void print_rate(const void *object, const void *whole, FILE *out)
{
	const struct entry *entry = object;
	char rate[32];

	(void)whole;
	if (entry->has_rate)
		fputs(format_count((uint64_t)(entry->per_second + 0.5), rate), out);
}

/* ">": the cost is that of the cheapest system call, and this one's is not known. */
static void print_ns(const void *object, const void *whole, FILE *out)
{
	const struct entry *entry = object;
	char ns[32];

	(void)whole;
	if (entry->has_cost)
		fprintf(out, "%s%s", entry->at_least ? ">" : "", format_ns(entry->ns, ns));
}

static void print_total(const void *object, const void *whole, FILE *out)
{
	const struct entry *entry = object;
	char total[32];

	(void)whole;
	if (entry->has_cost)
		fprintf(out, "%s%s", entry->at_least ? ">" : "",
			trace_describe_seconds(entry->cost_s, total));
}

static void print_vdso(const void *object, const void *whole, FILE *out)
{
	const struct entry *entry = object;
	char total[32];

	(void)whole;
	if (entry->has_vdso)
		fputs(trace_describe_seconds(entry->vdso_s, total), out);
}

#define OF struct entry

static const struct field entry_fields[] = {
	{STRING("call", call), .options = FIELD_FILLED, .title = "system call", .left = true,
		.cell = print_name, .doc = "name of the system call"},
	{STRING("clock", clock),
		.doc = "clock that the calls name, or \"other\"; null: the call takes none"},
	{INTEGER("count", count, INT64_MAX), .title = "count", .width = 8,
		.doc = "calls that were counted"},
	{INTEGER("count_32_bit", compat, INT64_MAX),
		.doc = "how many of these were calls of 32-bit programs"},
	{REAL("per_s", per_second, 1), .given = GIVEN(has_rate), .title = "per s", .width = 10,
		.cell = print_rate, .doc = "calls per second; null: the duration is unknown"},
	{FLAG("avoidable", avoidable),
		.doc = "whether the vDSO serves the call on this host, or could"},
	{NS("syscall_ns", ns), .given = GIVEN(has_cost), .title = "ns each", .width = 9,
		.cell = print_ns, .doc = "ns per call by system call; null: not timed"},
	{FLAG("syscall_ns_is_minimum", at_least),
		.doc = "whether that is the cost of the cheapest system call, since this one was "
		       "not timed"},
	{REAL("cost_s", cost_s, 6), .given = GIVEN(has_cost), .title = "total", .width = 9,
		.cell = print_total,
		.doc = "seconds that the calls took, by that cost; null: not timed"},
	{NS("vdso_ns", vdso_ns), .given = GIVEN(has_vdso),
		.doc = "ns per call when served by the vDSO; null: unknown"},
	{REAL("vdso_cost_s", vdso_s, 6), .given = GIVEN(has_vdso), .title = "with vDSO",
		.cell = print_vdso,
		.doc = "seconds that the calls would take when served by the vDSO; null: unknown"},
	{REAL("cpu_share_percent", share, 2), .given = GIVEN(has_share),
		.doc = "percent of the CPU time that the calls took; null: cost or CPU time is "
		       "unknown"},
	{0},
};

#undef OF

static struct entry make_entry(const struct trace_report *report, size_t row)
{
	const struct trace_evidence *trace = report->trace;
	const struct trace_cost *cost = &report->diagnosis->costs[row];
	double count = (double)trace_count(trace, row), cost_s = cost_seconds(count, cost->ns, 0);

	return (struct entry){.call = trace->plan->rows[row].call->name,
		.clock = trace->plan->rows[row].clock,
		.count = trace_count(trace, row),
		.compat = trace->counts[TRACE_COMPAT][row],
		.has_rate = trace->duration_s > 0,
		.has_cost = cost->known,
		.has_vdso = cost->vdso_known,
		.has_share = cost->known && fact_is_known(&trace->cpu_fact) && trace->cpu_s > 0,
		.at_least = cost->at_least,
		.avoidable = cost->avoidable,
		.per_second = trace->duration_s > 0 ? count / trace->duration_s : 0,
		.ns = cost->ns,
		.cost_s = cost_s,
		.vdso_ns = cost->vdso_ns,
		.vdso_s = cost_seconds(count, cost->vdso_ns, 0),
		.share = trace->cpu_s > 0 ? 100 * cost_s / trace->cpu_s : 0};
}

/* Of the calls that were made; for free(). */
static struct entry *make_entries(const struct trace_report *report, size_t *count)
{
	struct entry *entries = xcalloc(TRACE_ROW_MAX, sizeof(*entries));

	*count = 0;
	for (size_t row = 0; row < report->trace->plan->row_count; row++) {
		if (trace_count(report->trace, row))
			entries[(*count)++] = make_entry(report, row);
	}
	return entries;
}

static json_t *calls(const void *object, const void *whole)
{
	size_t count;
	struct entry *entries = make_entries(object, &count);
	json_t *list = field_list(entry_fields, entries, count, sizeof(*entries), whole);

	free(entries);
	return list;
}

void trace_write_calls(const struct trace_report *report, FILE *out)
{
	size_t count;
	struct entry *entries = make_entries(report, &count);
	const void *rows[TRACE_ROW_MAX];

	for (size_t i = 0; i < count; i++)
		rows[i] = &entries[i];
	table_write(entry_fields, rows, count, NULL, TABLE_TEXT, out);
	free(entries);
}

/* ---- the run ---- */

#define OF struct trace_process

static const struct field process_fields[] = {
	{TEXT("name", name), .doc = "name of the process; null: it ended before that was read"},
	{INTEGER("pid", pid, INT32_MAX), .doc = "process ID"},
	{INTEGER("samples", samples, INT64_MAX), .doc = "samples of its calls"},
	{0},
};

#undef OF

static bool has_pid(const void *object)
{
	return ((const struct trace_evidence *)object)->program.pid > 0;
}

#define OF struct trace_evidence

static const struct field run_fields[] = {
	{WORD("method", method, trace_method_names),
		.doc = "how calls were counted: by tracepoints, seccomp or ptrace"},
	{REASON("tracepoints_reason"), .fact = FACT(tracepoints),
		.doc = "why tracepoints were not used; null: they were"},
	{NUMBER_FACT("unlisted_32_bit_calls", unlisted, INT64_MAX),
		.doc = "calls of 32-bit code that are not among those listed"},
	{TEXT("program", program.path),
		.doc = "path of the program; null: unknown, or the whole host was traced"},
	{INTEGER("pid", program.pid, INT32_MAX), .has = has_pid,
		.doc = "process ID of the program; null: unknown, or the whole host was traced"},
	{REAL("duration_s", duration_s, 3), .fact = FACT(duration_fact), .reason = "reason",
		.doc = "seconds that calls were counted"},
	{REAL("cpu_s", cpu_s, 3), .fact = FACT(cpu_fact), .reason = "reason",
		.doc = "seconds of CPU time of the program and the children it waited for"},
	{FLAG("cpu_includes_stops", cpu_inflated),
		.doc = "whether the stops by ptrace are part of this CPU time"},
	{INTEGER("children_terminated", children_terminated, INT64_MAX),
		.doc = "processes that the program left running, which were sent SIGTERM"},
	{REASON("reason")},
	{LIST("top", top.processes, top.count, process_fields), .given = GIVEN(system_wide),
		.doc = "processes that made the most calls, the first one most of them; null: one "
		       "program was traced"},
	{INTEGER("calls_per_sample", top.period, TRACE_SAMPLE_PERIOD), .given = GIVEN(system_wide),
		.doc = "calls that a sample stands for; null: one program was traced"},
	{INTEGER("samples_lost", top.missed, INT64_MAX), .given = GIVEN(system_wide),
		.doc = "samples that were lost, or of processes not listed; null: one program was "
		       "traced"},
	{0},
};

#undef OF

/* ---- the verdict, and all of it ---- */

#define OF struct trace_diagnosis

static const struct field verdict_fields[] = {
	{WORD("verdict", verdict, trace_verdict_names),
		.doc = "ok: no clock system call that the vDSO could serve; fallback: at least "
		       "one; unknown: undetermined"},
	{0},
};

static const struct field hint_element[] = {
	{.key = "", .kind = FIELD_TEXT, .options = FIELD_FILLED, .size = TRACE_TEXT_SIZE},
	{0},
};

static const struct field diagnosis_fields[] = {
	{TEXT("summary", summary), .options = FIELD_FILLED, .doc = "verdict in a sentence"},
	{INTEGER("clock_system_calls", sums.avoidable, INT64_MAX),
		.doc = "clock system calls that the vDSO serves or could"},
	{REAL("lost_s", sums.lost_s, 6), .given = GIVEN(sums.lost_known),
		.doc = "seconds lost by them against the vDSO; null: unknown"},
	{LIST("hints", hints, hint_count, hint_element),
		.doc = "why only this program makes them, as far as it can be seen from outside"},
	{0},
};

#undef OF
#define OF struct trace_report

const struct field trace_report_fields[] = {
	{INLINE_AT(moment, moment_fields)},
	{INLINE_AT(diagnosis, verdict_fields)},
	{INTEGER("exit_status", exit_status, 255),
		.doc = "the program's, or 128 and the number of the signal that ended it; with "
		       "--pid or --all that of vdsocheck"},
	{INLINE_AT(diagnosis, diagnosis_fields)},
	{INLINE_AT(trace, run_fields)},
	{COMPUTED("calls", FIELD_LIST, calls), .options = FIELD_FILLED, .fields = entry_fields,
		.doc = "system calls that were counted"},
	{0},
};

bool trace_report_json(const void *result, const struct style *style, FILE *out)
{
	const struct document_part parts[] = {{.fields = trace_report_fields, .from = result}, {0}};

	return document_write(TRACE_JSON_SCHEMA, parts, style->compact, out);
}
