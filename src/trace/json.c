/* SPDX-License-Identifier: MIT */
/* The fields of the document of `vdsocheck trace`, which is written and never read. */
#include "document.h"
#include "judge.h"
#include "report.h"

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

#define OF struct entry

static const struct field entry_fields[] = {
	{STRING("call", call), .options = FIELD_FILLED},
	{STRING("clock", clock)},
	{INTEGER("count", count, INT64_MAX)},
	{INTEGER("count_32_bit", compat, INT64_MAX)},
	{REAL("per_second", per_second, 1), .given = GIVEN(has_rate)},
	{FLAG("avoidable", avoidable)},
	{NS("syscall_ns", ns), .given = GIVEN(has_cost)},
	{FLAG("syscall_ns_is_minimum", at_least)},
	{REAL("cost_seconds", cost_s, 6), .given = GIVEN(has_cost)},
	{NS("vdso_ns", vdso_ns), .given = GIVEN(has_vdso)},
	{REAL("vdso_cost_seconds", vdso_s, 6), .given = GIVEN(has_vdso)},
	{REAL("cpu_share_percent", share, 2), .given = GIVEN(has_share)},
	{0},
};

#undef OF

static void fill(const struct trace_report *report, size_t row, struct entry *entry)
{
	const struct trace_evidence *trace = report->trace;
	const struct trace_cost *cost = &report->diagnosis->costs[row];

	*entry = (struct entry){.call = trace->plan->rows[row].call->name,
		.clock = trace->plan->rows[row].clock,
		.count = trace_count(&trace->counts, row),
		.compat = trace->counts.of[TRACE_COMPAT][row],
		.has_rate = fact_is_known(&trace->duration_fact) && trace->duration_s > 0,
		.has_cost = cost->known,
		.has_vdso = cost->vdso_known,
		.at_least = cost->at_least,
		.avoidable = cost->avoidable,
		.ns = cost->ns,
		.vdso_ns = cost->vdso_ns};
	entry->cost_s = cost_seconds((double)entry->count, cost->ns, 0);
	entry->vdso_s = cost_seconds((double)entry->count, cost->vdso_ns, 0);
	entry->has_share = cost->known && fact_is_known(&trace->cpu_fact) && trace->cpu_s > 0;
	if (entry->has_rate)
		entry->per_second = (double)entry->count / trace->duration_s;
	if (entry->has_share)
		entry->share = 100 * entry->cost_s / trace->cpu_s;
}

static json_t *calls(const void *object, const void *whole)
{
	static struct entry entries[TRACE_ROW_MAX];
	const struct trace_evidence *trace = ((const struct trace_report *)object)->trace;
	size_t count = 0;

	for (size_t row = 0; row < trace->plan->row_count; row++) {
		if (trace_count(&trace->counts, row))
			fill(object, row, &entries[count++]);
	}
	return field_list(entry_fields, entries, count, sizeof(entries[0]), whole);
}

/* ---- the run ---- */

#define OF struct trace_process

static const struct field process_fields[] = {
	{TEXT("name", name)},
	{INTEGER("pid", pid, INT32_MAX)},
	{INTEGER("samples", samples, INT64_MAX)},
	{0},
};

#undef OF

static bool has_pid(const void *object)
{
	return ((const struct trace_evidence *)object)->program.pid > 0;
}

static json_t *top(const void *object, const void *whole)
{
	const struct trace_evidence *trace = object;
	size_t count = trace->top.count < trace->shown ? trace->top.count : trace->shown;

	return field_list(process_fields, trace->top.processes, count,
		sizeof(trace->top.processes[0]), whole);
}

static json_t *period(const void *object, const void *whole)
{
	(void)object;
	(void)whole;
	return json_integer(TRACE_SAMPLE_PERIOD);
}

#define OF struct trace_evidence

static const struct field run_fields[] = {
	{WORD("method", method, trace_method_names)},
	{REASON("tracepoints_reason"), .fact = FACT(tracepoints)},
	{TEXT("program", program.path)},
	{INTEGER("pid", program.pid, INT32_MAX), .has = has_pid},
	{REAL("duration_seconds", duration_s, 3), .fact = FACT(duration_fact), .reason = "reason"},
	{REAL("cpu_seconds", cpu_s, 3), .fact = FACT(cpu_fact), .reason = "reason"},
	{FLAG("cpu_includes_stops", cpu_inflated)},
	{INTEGER("children_terminated", children_terminated, INT64_MAX)},
	{REASON("reason")},
	{COMPUTED("top", FIELD_LIST, top), .fields = process_fields, .given = GIVEN(of_host)},
	{COMPUTED("calls_per_sample", FIELD_INTEGER, period), .most = TRACE_SAMPLE_PERIOD,
		.given = GIVEN(of_host)},
	{INTEGER("samples_lost", top.missed, INT64_MAX), .given = GIVEN(of_host)},
	{0},
};

#undef OF

/* ---- the verdict, and all of it ---- */

#define OF struct trace_diagnosis

static const struct field verdict_fields[] = {
	{WORD("verdict", verdict, trace_verdict_names)},
	{0},
};

static const struct field hint_element[] = {
	{.key = "", .kind = FIELD_TEXT, .options = FIELD_FILLED, .size = TRACE_TEXT_SIZE},
	{0},
};

static const struct field diagnosis_fields[] = {
	{TEXT("summary", summary), .options = FIELD_FILLED},
	{INTEGER("clock_system_calls", sums.avoidable, INT64_MAX)},
	{REAL("lost_seconds", sums.lost_s, 6), .given = GIVEN(sums.lost_known)},
	{LIST("why", hints, hint_count, hint_element)},
	{0},
};

#undef OF
#define OF struct trace_report

const struct field trace_report_fields[] = {
	{INLINE_AT(moment, moment_fields)},
	{INLINE_AT(diagnosis, verdict_fields)},
	{INTEGER("exit_status", exit_status, 255)},
	{INLINE_AT(diagnosis, diagnosis_fields)},
	{INLINE_AT(trace, run_fields)},
	{COMPUTED("calls", FIELD_LIST, calls), .options = FIELD_FILLED, .fields = entry_fields},
	{0},
};

bool trace_report_json(const void *result, const struct style *style, FILE *out)
{
	const struct document_part parts[] = {{.fields = trace_report_fields, .from = result}, {0}};

	return document_write(TRACE_JSON_SCHEMA, parts, style->compact, out);
}
