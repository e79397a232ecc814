/* SPDX-License-Identifier: MIT */
/* Writes a report as text: the verdict, how it was counted, a row for each call that was made. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/text.h"
#include "model.h"

#define LABEL_INDENT 13

static const struct heading headings[] = {
	[TRACE_UNKNOWN] = {"UNKNOWN", COLOR_MAGENTA},
	[TRACE_OK] = {"OK", COLOR_GREEN},
	[TRACE_FALLBACK] = {"FALLBACK", COLOR_RED},
	[TRACE_COUNTED] = {"COUNTED", COLOR_BOLD},
	[TRACE_SIMULATED] = {"SIMULATED", COLOR_YELLOW},
};

const char *const trace_method_names[] = {
	[TRACE_BY_BPF] = "bpf",
	[TRACE_BY_SECCOMP] = "seccomp-ptrace",
	NULL,
};

const char *const trace_origin_names[] = {
	[TRACE_BY_UNKNOWN] = "unknown",
	[TRACE_BY_VDSO] = "vdso",
	[TRACE_BY_SYSCALL_FUNCTION] = "syscall-function",
	[TRACE_BY_LIBC] = "libc",
	[TRACE_BY_CODE] = "code",
	NULL,
};

static void write_run(const struct trace_evidence *trace, FILE *out)
{
	const bool is_counted = fact_is_known(&trace->method_fact);
	struct strbuf sb = {.used = 0};

	strbuf_add(&sb, "%s", is_counted ? trace_method_names[trace->method] : "nothing");
	if (!fact_is_known(&trace->bpf))
		strbuf_add(&sb, "; not by bpf: %s", trace->bpf.reason);
	wrap_print(out, "counted by", LABEL_INDENT, sb.text);
	sb = (struct strbuf){.used = 0};
	strbuf_add(&sb, "%s", trace->system_wide ? "all processes" : trace->program.path);
	if (fact_is_known(&trace->duration_s.fact))
		strbuf_add(&sb, ", %.3g s", trace->duration_s.value);
	if (fact_is_known(&trace->cpu_s.fact))
		strbuf_add(&sb, ", %.3g s of CPU time%s", trace->cpu_s.value,
			trace->cpu_inflated ? " including ptrace stops" : "");
	if (is_counted && !fact_is_known(&trace->served) && *trace->program.file)
		strbuf_add(&sb, "; served calls are not counted: %s", trace->served.reason);
	else if (trace->uncounted)
		strbuf_add(&sb,
			"; served calls of %" PRIu64 " executed programs are not counted: %s",
			trace->uncounted, trace->uncounted_why.reason);
	if (trace->let_go)
		strbuf_add(&sb,
			"; not counted is what %" PRIu64 " program%s started that call%s ptrace(2)",
			trace->let_go, trace->let_go == 1 ? "" : "s",
			trace->let_go == 1 ? "s" : "");
	if (trace->children_terminated)
		strbuf_add(&sb, "; %" PRIu64 " process%s it left running got SIGTERM",
			trace->children_terminated, trace->children_terminated == 1 ? "" : "es");
	wrap_print(out, "program", LABEL_INDENT, sb.text);
}

static void write_repeats(const struct trace_evidence *trace, FILE *out)
{
	const struct trace_times *before = &trace->untouched, *after = &trace->fallen_back;
	char wall[2][32], cpu[2][32];

	if (!trace->repeats) {
		wrap_format(
			out, "repeated", LABEL_INDENT, "not compared: %s", trace->repeated.reason);
		return;
	}

	wrap_format(out, "repeated", LABEL_INDENT,
		"as this host is %s, %s of CPU time; as if this host fell back %s (%+.0f%%), %s "
		"(%+.0f%%): the least of %" PRIu64 " runs each",
		trace_describe_seconds(before->wall_s, wall[0]),
		trace_describe_seconds(before->cpu_s, cpu[0]),
		trace_describe_seconds(after->wall_s, wall[1]),
		100 * (after->wall_s / before->wall_s - 1),
		trace_describe_seconds(after->cpu_s, cpu[1]),
		100 * (after->cpu_s / before->cpu_s - 1), trace->repeats);
}

static void write_samples(
	const struct trace_evidence *trace, const struct trace_inside *inside, FILE *out)
{
	const struct trace_sampled *sampled = &trace->sampled;
	struct strbuf sb = {.used = 0};
	char inner[32], taken[32];

	if (!fact_is_known(&inside->fact)) {
		strbuf_add(&sb, "time inside it is not known: %s", inside->fact.reason);
	} else {
		strbuf_add(&sb, "%s of %s samples of user code, one in each %d us, are inside it",
			format_count(sampled->in_vdso, inner), format_count(sampled->taken, taken),
			TRACE_SAMPLE_NS / 1000);
		if (sampled->lost)
			strbuf_add(
				&sb, "; %s samples were lost", format_count(sampled->lost, taken));
		if (sampled->in_vdso && !isnan(inside->fallback_percent_most))
			strbuf_add(&sb,
				"; where the vDSO cannot be used, these reads would take at most "
				"%.*f%% of one CPU",
				inside->fallback_percent_most < 10, inside->fallback_percent_most);
	}
	wrap_print(out, "vDSO", LABEL_INDENT, sb.text);
}

/* Calls that are fewer than one in this number share a row, so that the answer fits a screen. */
#define FOLDED_PART 100

/* Writes the rows that are shown of a whole host. Returns their number. */
static size_t fold_lines(const struct trace_diagnosis *diagnosis, struct trace_line *lines)
{
	struct trace_line rest = {.call = "others", .clock = "", .syscall_ns = NAN};
	size_t count = 0;

	for (size_t i = 0; i < diagnosis->line_count; i++) {
		const struct trace_line *line = &diagnosis->lines[i];

		if (line->count >= diagnosis->sums.calls / FOLDED_PART) {
			lines[count++] = *line;
			continue;
		}
		rest.count += line->count;
		rest.per_s += line->per_s;
		rest.cost_s += line->cost_s;
		rest.vdso_cost_s += line->vdso_cost_s;
	}
	if (rest.count)
		lines[count++] = rest;
	return count;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Tables have the names of files, which are long by their paths. */
static void write_modules(const struct trace_places *places, FILE *out)
{
	for (size_t i = 0; i < places->count; i++) {
		const char *module = places->list[i].module;
		size_t k = 0;

		while (k < i && strcmp(places->list[k].module, module) != 0)
			k++;
		if (k == i && *module == '/')
			fprintf(out, "  %s is %s\n", file_name(module), module);
	}
}

static void write_tables(
	const struct trace_evidence *trace, const struct trace_diagnosis *diagnosis, FILE *out)
{
	const struct trace_places *places = &trace->places, *call_places = &trace->call_places;
	const struct trace_callers *processes = &trace->top.processes, *groups = &trace->top.groups;
	struct trace_line lines[TRACE_ROW_MAX];
	size_t line_count = trace->system_wide ? fold_lines(diagnosis, lines) : 0;
	const struct table tables[] = {
		{.fields = trace_process_fields, TABLE_ROWS(processes->list, processes->count)},
		{.fields = trace_group_fields, TABLE_ROWS(groups->list, groups->count)},
		{.fields = trace_line_fields, TABLE_ROWS(lines, line_count)},
		{.fields = fact_is_known(&trace->served) ? trace_served_fields : trace_line_fields,
			TABLE_ROWS(
				diagnosis->lines, trace->system_wide ? 0 : diagnosis->line_count)},
		{.fields = trace_place_fields, TABLE_ROWS(places->list, places->count)},
		/* If the vDSO made the calls, the places that it was called from say more. */
		{.fields = trace_call_place_fields,
			TABLE_ROWS(call_places->list,
				diagnosis->has_call_places ? call_places->count : 0)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		if (!tables[i].count)
			continue;
		fputc('\n', out);
		table_write(&tables[i], out);
		if (tables[i].fields == trace_place_fields)
			write_modules(places, out);
		if (tables[i].fields == trace_call_place_fields)
			write_modules(call_places, out);
	}
}

/* "2026-11-21T15:02:11Z" has the time of day at this place. */
#define TIME_OF_DAY 11

/* Names come last, since a narrow screen may cut the line. */
static void write_interval(const struct trace_report *report, FILE *out)
{
	const struct text_fact *time = &report->timestamp.time;
	const struct trace_evidence *trace = &report->trace;
	const struct trace_sums *sums = &report->diagnosis.sums;
	const struct trace_top *top = &trace->top;
	double per_s =
		trace->duration_s.value > 0 ? (double)sums->calls / trace->duration_s.value : 0;
	char all[32], avoidable[32], rate[32], lost[32] = "-";

	if (!report->is_continued)
		fprintf(out, "%-9s %12s %9s %10s %8s  most time by\n", "time UTC", "system calls",
			"per s", "avoidable", "lost");
	if (fact_is_known(&sums->lost_s.fact))
		trace_describe_seconds(sums->lost_s.value, lost);
	fprintf(out, "%-9s %12s %9s %10s %8s",
		fact_is_known(&time->fact) ? time->value + TIME_OF_DAY : "unknown",
		format_count(sums->calls, all), format_count((uint64_t)(per_s + 0.5), rate),
		format_count(sums->avoidable, avoidable), lost);
	if (top->processes.count)
		fprintf(out, "  %s (%d)",
			*top->processes.list->name ? top->processes.list->name : "-",
			top->processes.list->pid);
	else if (top->groups.count)
		fprintf(out, "  %s", *top->groups.list->name ? top->groups.list->name : "-");
	fputc('\n', out);
}

bool trace_report_text(const void *result, const struct style *style, FILE *out)
{
	const struct trace_report *report = result;
	const struct trace_evidence *trace = &report->trace;
	const struct trace_diagnosis *diagnosis = &report->diagnosis;

	if (report->is_interval) {
		write_interval(report, out);
		return true;
	}
	wrap_answer(out, &headings[diagnosis->verdict], style->color, diagnosis->summary);
	fputc('\n', out);
	write_run(trace, out);
	if (trace->sampled.fact.state != FACT_UNREAD)
		write_samples(trace, &diagnosis->inside, out);
	if (trace->repeats || trace->repeated.state != FACT_UNREAD)
		write_repeats(trace, out);
	write_tables(trace, diagnosis, out);
	if (diagnosis->hint_count)
		fputc('\n', out);
	for (size_t i = 0; i < diagnosis->hint_count; i++)
		wrap_print(out, i ? "" : "Why", LABEL_INDENT, diagnosis->hints[i]);
	return true;
}
