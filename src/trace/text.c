/* SPDX-License-Identifier: MIT */
/* The text of a report: the verdict, how it was counted, a row for each call that was made. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/describe.h"
#include "cli/layout.h"
#include "judge.h"
#include "report.h"

#define LABEL_INDENT 13

#define ROW "  %-28s%12s%11s%8s%10s%9s\n"

static const struct heading headings[] = {
	[TRACE_UNKNOWN] = {"COUNTED", COLOR_BOLD},
	[TRACE_OK] = {"OK", COLOR_GREEN},
	[TRACE_FALLBACK] = {"SYSTEM CALLS", COLOR_RED},
};

const char *const trace_method_names[] = {
	[TRACE_BY_TRACEPOINTS] = "tracepoints",
	[TRACE_BY_SECCOMP] = "seccomp and ptrace",
	[TRACE_BY_PTRACE] = "ptrace",
	NULL,
};

static void write_run(const struct trace_evidence *trace, FILE *out)
{
	struct strbuf sb = {.used = 0};

	strbuf_add(&sb, "%s", trace_method_names[trace->method]);
	if (trace->method != TRACE_BY_TRACEPOINTS)
		strbuf_add(&sb, "; not by tracepoints: %s", trace->tracepoints.reason);
	else if (trace->plan->arch[TRACE_COMPAT])
		strbuf_add(&sb, ", which see no calls of 32-bit programs");
	wrap_print(out, "counted by", LABEL_INDENT, sb.text);
	sb = (struct strbuf){.used = 0};
	strbuf_add(&sb, "%s", trace->of_host ? "all of the host" : trace->program.path);
	if (fact_is_known(&trace->duration_fact))
		strbuf_add(&sb, ", %.3g s", trace->duration_s);
	if (fact_is_known(&trace->cpu_fact))
		strbuf_add(&sb, ", %.3g s of CPU time%s", trace->cpu_s,
			trace->cpu_inflated ? ", the stops included" : "");
	if (trace->children_terminated)
		strbuf_add(&sb, "; processes that it left running and that were sent SIGTERM: %d",
			(int)trace->children_terminated);
	wrap_print(out, "program", LABEL_INDENT, sb.text);
}

/* ">": the cost is that of the cheapest system call, and this one's is not known. */
static void describe_ns(const struct trace_cost *cost, char text[32])
{
	char ns[32];

	if (cost->known)
		snprintf(text, 32, "%s%.7s", cost->at_least ? ">" : "", format_ns(cost->ns, ns));
	else
		snprintf(text, 32, "-");
}

static void describe_cost(bool known, bool at_least, double seconds, char text[32])
{
	char amount[32];

	if (known)
		snprintf(text, 32, "%s%.20s", at_least ? ">" : "",
			trace_describe_seconds(seconds, amount));
	else
		snprintf(text, 32, "-");
}

static void write_row(const struct trace_report *report, size_t row, FILE *out)
{
	const struct trace_evidence *trace = report->trace;
	const struct trace_cost *cost = &report->diagnosis->costs[row];
	uint64_t count = trace_count(&trace->counts, row);
	const struct trace_row *of = &trace->plan->rows[row];
	struct strbuf name = {.used = 0};
	char counted[32], rate[32] = "-", ns[32], paid[32], vdso[32];

	describe_call_name(of->call->name, of->clock, &name);
	if (fact_is_known(&trace->duration_fact) && trace->duration_s > 0)
		format_count((uint64_t)((double)count / trace->duration_s + 0.5), rate);
	describe_ns(cost, ns);
	describe_cost(cost->known, cost->at_least, cost_seconds((double)count, cost->ns, 0), paid);
	describe_cost(cost->vdso_known, false, cost_seconds((double)count, cost->vdso_ns, 0), vdso);
	fprintf(out, ROW, name.text, format_count(count, counted), rate, ns, paid, vdso);
}

static void write_rows(const struct trace_report *report, FILE *out)
{
	const struct trace_plan *plan = report->trace->plan;

	if (!report->diagnosis->sums.calls)
		return;
	fprintf(out, "\n" ROW, "system call", "count", "per s", "ns each", "in all", "by vDSO");
	for (size_t row = 0; row < plan->row_count; row++) {
		if (trace_count(&report->trace->counts, row))
			write_row(report, row, out);
	}
}

static void write_top(const struct trace_evidence *trace, FILE *out)
{
	char calls[32];

	if (!trace->top.count)
		return;
	fprintf(out, "\n  %-28s%12s%11s   1 of %d calls sampled", "process", "calls, about", "pid",
		TRACE_SAMPLE_PERIOD);
	if (trace->top.missed)
		fprintf(out, ", %s lost", format_count(trace->top.missed, calls));
	fputc('\n', out);
	for (size_t i = 0; i < trace->top.count && i < trace->shown; i++) {
		const struct trace_process *process = &trace->top.processes[i];

		fprintf(out, "  %-28s%12s%11d\n", *process->name ? process->name : "(has ended)",
			format_count(process->samples * TRACE_SAMPLE_PERIOD, calls), process->pid);
	}
}

bool trace_report_text(const void *result, const struct style *style, FILE *out)
{
	const struct trace_report *report = result;
	const struct trace_diagnosis *diagnosis = report->diagnosis;

	wrap_answer(out, &headings[diagnosis->verdict], style->color, diagnosis->summary);
	fputc('\n', out);
	write_run(report->trace, out);
	write_rows(report, out);
	write_top(report->trace, out);
	if (diagnosis->hint_count)
		fputc('\n', out);
	for (size_t i = 0; i < diagnosis->hint_count; i++)
		wrap_print(out, i ? "" : "Why", LABEL_INDENT, diagnosis->hints[i]);
	return true;
}
