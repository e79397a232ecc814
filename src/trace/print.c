/* SPDX-License-Identifier: MIT */
/* Prints a report for people: the tables below its answer, and how was counted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/text.h"
#include "model.h"

static void write_run(const struct trace_report *report, struct page *page)
{
	const struct trace_evidence *trace = &report->trace;
	const struct trace_missed_list *missed = &report->diagnosis.missed;
	const struct trace_inside *inside = &report->diagnosis.inside;

	page_line(page, "program", "%s",
		trace->request->target == TARGET_HOST ? "all processes" : trace->program.path);
	if (fact_is_known(&trace->duration_s.fact))
		page_add(page, ", %s", as_seconds(trace->duration_s.value));
	if (fact_is_known(&trace->cpu_s.fact))
		page_add(page, ", %s of CPU time", as_seconds(trace->cpu_s.value));
	if (page->all && fact_is_known(&inside->fact)) {
		page_line(page, "samples",
			"%s of %s are in the vDSO, one in each %d us of CPU time",
			as_count(trace->sampled.in_vdso), as_count(trace->sampled.taken),
			TRACE_SAMPLE_NS / 1000);
		if (!isnan(inside->reads_per_s_most))
			page_add(page, ": at most %s reads per s",
				as_short(inside->reads_per_s_most));
	}
	for (size_t i = 0; i < missed->count; i++) {
		char text[TRACE_TEXT_SIZE];

		trace_missed_describe(&missed->list[i], text, sizeof(text));
		page_line(page, i ? "" : "not counted", "%s", text);
	}
	page_end(page);
}

/* Writes a table whose lines end at the terminal's last column: names are long. -v has them all. */
static void write_table(struct page *page, const struct table *table)
{
	const int columns = wrap_columns();
	FILE *const out = page->out;
	struct memory_stream stream;

	if (page->all || !table->count)
		return page_table(page, table);
	page->out = memory_stream_open(&stream);
	page_table(page, table);
	memory_stream_close(&stream);
	page->out = out;
	for (const char *line = stream.text, *end; (end = strchr(line, '\n')); line = end + 1) {
		if (end - line <= columns)
			fprintf(out, "%.*s\n", (int)(end - line), line);
		else
			fprintf(out, "%.*s...\n", columns - (int)strlen("..."), line);
	}
	free(stream.text);
}

static int by_calls(const void *left, const void *right)
{
	const uint64_t a = trace_line_calls(left), b = trace_line_calls(right);

	return (a < b) - (a > b);
}

/*
 * The calls that are made least share the last line, so that the answer fits a screen. There is one
 * before it.
 */
static void write_calls(const struct trace_report *report, struct page *page)
{
	const struct trace_diagnosis *diagnosis = &report->diagnosis;
	const uint64_t most = report->request.shown > 1 ? report->request.shown : 2;
	struct trace_line lines[TRACE_ROW_MAX];
	size_t count = diagnosis->line_count;

	memcpy(lines, diagnosis->lines, count * sizeof(*lines));
	qsort(lines, count, sizeof(*lines), by_calls);
	for (; !page->all && count > most; count--) {
		struct trace_line *rest = &lines[count - 2];

		rest->call = "others";
		rest->clock = "";
		rest->count += rest[1].count;
		rest->served.value += rest[1].served.value;
		rest->spent_s += rest[1].spent_s;
		rest->is_minimum |= rest[1].is_minimum;
	}
	write_table(
		page, &(struct table){.fields = page->all ? trace_line_details : trace_line_columns,
			      TABLE_ROWS(lines, count),
			      .whole = report});
}

/* Says where a file is whose name the table has. */
static void write_file(struct page *page, const struct trace_places *places, size_t first)
{
	const char *module = places->list[first].module;
	bool has_names = true, has_failed = false;

	if (*module != '/')
		return;
	for (size_t i = 0; i < places->count; i++) {
		const struct trace_place *place = &places->list[i];

		if (strcmp(place->module, module) != 0)
			continue;
		if (i < first)
			return;
		has_names = has_names && *place->function;
		has_failed = has_failed || place->source.fact.state == FACT_FAILED;
	}
	page_line(page, "", "%s is %s", trace_file_name(module), module);
	if (!has_names && !has_failed)
		page_add(page, "; its debug symbols would give names");
}

static void write_places(struct page *page, const struct trace_places *places, const char *heading)
{
	const int indent = page->indent;
	size_t at = 0;

	write_table(page, &(struct table){.fields = trace_place_fields,
				  .heading = heading,
				  TABLE_ROWS(places->list, places->count)});
	page->indent = page->hang = 2;
	for (size_t i = 0; page->all && i < places->count; i++)
		write_file(page, places, i);
	while (at < places->count && places->list[at].source.fact.state != FACT_FAILED)
		at++;
	/* It is the same for all files. */
	if (at < places->count)
		page_line(page, "", "no functions or source lines: %s",
			places->list[at].source.fact.reason);
	page_end(page);
	page->indent = indent;
	page->hang = 0;
}

void trace_text(const void *data, struct page *page)
{
	const struct trace_report *report = data;
	const struct trace_evidence *trace = &report->trace;
	const struct trace_texts *hints = &report->diagnosis.hints;
	/* If the vDSO made the calls, the places that it was called from say more. */
	const bool are_calls = report->diagnosis.has_call_places;

	fputc('\n', page->out);
	write_run(report, page);
	write_table(page, &(struct table){.fields = trace_caller_fields,
				  TABLE_ROWS(trace->callers.list, trace->callers.count)});
	write_calls(report, page);
	if (page->all || !are_calls)
		write_places(page, &trace->places, "of reads");
	if (page->all || are_calls)
		write_places(page, &trace->call_places, "of system calls");
	if (hints->count)
		fputc('\n', page->out);
	for (size_t i = 0; i < hints->count; i++)
		page_line(page, i ? "" : "Why", "%s", hints->list[i]);
}

const struct format trace_formats[] = {
	{.name = "text", .write = report_text},
	{.name = "json", .write = report_json},
	{0},
};
