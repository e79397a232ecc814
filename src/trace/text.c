/* SPDX-License-Identifier: MIT */
/* The text of a report: the verdict, how it was counted, a row for each call that was made. */
#include <inttypes.h>

#include "base/text.h"
#include "cli/describe.h"
#include "cli/layout.h"
#include "model.h"

#define LABEL_INDENT 13

static const struct heading headings[] = {
	[TRACE_UNKNOWN] = {"UNKNOWN", COLOR_MAGENTA},
	[TRACE_OK] = {"OK", COLOR_GREEN},
	[TRACE_FALLBACK] = {"FALLBACK", COLOR_RED},
	[TRACE_COUNTED] = {"COUNTED", COLOR_BOLD},
};

const char *const trace_method_names[] = {
	[TRACE_BY_TRACEPOINTS] = "tracepoints",
	[TRACE_BY_SECCOMP] = "seccomp-ptrace",
	[TRACE_BY_PTRACE] = "ptrace",
	NULL,
};

static void write_run(const struct trace_evidence *trace, FILE *out)
{
	struct strbuf sb = {.used = 0};
	char unlisted[32];

	strbuf_add(&sb, "%s", trace_method_names[trace->method]);
	if (trace->method != TRACE_BY_TRACEPOINTS)
		strbuf_add(&sb, "; not by tracepoints: %s", trace->tracepoints.reason);
	else if (!fact_is_known(&trace->unlisted.fact))
		strbuf_add(&sb, "; calls by 32-bit code are not included: %s",
			trace->unlisted.fact.reason);
	else if (trace->unlisted.value)
		strbuf_add(&sb, "; %s calls by 32-bit code are not in the table",
			format_count((uint64_t)trace->unlisted.value, unlisted));
	wrap_print(out, "counted by", LABEL_INDENT, sb.text);
	sb = (struct strbuf){.used = 0};
	strbuf_add(&sb, "%s", trace->system_wide ? "all processes" : trace->program.path);
	if (fact_is_known(&trace->duration_fact))
		strbuf_add(&sb, ", %.3g s", trace->duration_s);
	if (fact_is_known(&trace->cpu_fact))
		strbuf_add(&sb, ", %.3g s of CPU time%s", trace->cpu_s,
			trace->cpu_inflated ? " including ptrace stops" : "");
	if (trace->children_terminated)
		strbuf_add(&sb, "; %" PRIu64 " process%s it left running got SIGTERM",
			trace->children_terminated, trace->children_terminated == 1 ? "" : "es");
	wrap_print(out, "program", LABEL_INDENT, sb.text);
}

static void write_top(const struct trace_evidence *trace, FILE *out)
{
	char calls[32];

	if (!trace->top.count)
		return;
	fprintf(out, "\n%16s%9s  process (1 of %d calls sampled", "calls, about", "pid",
		TRACE_SAMPLE_PERIOD);
	if (trace->top.missed)
		fprintf(out, ", %s lost", format_count(trace->top.missed, calls));
	fputs(")\n", out);
	for (size_t i = 0; i < trace->top.count; i++) {
		const struct trace_process *process = &trace->top.processes[i];

		fprintf(out, "%16s%9d  %s\n",
			format_count(process->samples * TRACE_SAMPLE_PERIOD, calls), process->pid,
			*process->name ? process->name : "(has ended)");
	}
}

bool trace_report_text(const void *result, const struct style *style, FILE *out)
{
	const struct trace_report *report = result;
	const struct trace_diagnosis *diagnosis = report->diagnosis;

	wrap_answer(out, &headings[diagnosis->verdict], style->color, diagnosis->summary);
	fputc('\n', out);
	write_run(report->trace, out);
	if (diagnosis->sums.calls) {
		fputc('\n', out);
		trace_write_calls(report, out);
	}
	write_top(report->trace, out);
	if (diagnosis->hint_count)
		fputc('\n', out);
	for (size_t i = 0; i < diagnosis->hint_count; i++)
		wrap_print(out, i ? "" : "Why", LABEL_INDENT, diagnosis->hints[i]);
	return true;
}
