/* SPDX-License-Identifier: MIT */
/* Prints a report for people: how was counted, and tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/text.h"
#include "model.h"

static void write_texts(struct page *page, const char *label, const struct trace_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		page_line(page, i ? "" : label, "%s", texts->list[i]);
}

static void write_run(const struct trace_report *report, struct page *page)
{
	const struct trace_evidence *trace = &report->trace;

	page_line(page, "program", "%s",
		trace->request->target == TARGET_HOST ? "all processes" : trace->program.path);
	if (fact_is_known(&trace->duration_s.fact))
		page_add(page, ", %s", as_seconds(trace->duration_s.value));
	if (fact_is_known(&trace->cpu_s.fact))
		page_add(page, ", %s of CPU time", as_seconds(trace->cpu_s.value));
	write_texts(page, "note", &report->diagnosis.notes);
}

static void write_samples(const struct trace_report *report, struct page *page)
{
	const struct trace_sampled *sampled = &report->trace.sampled;
	const struct trace_inside *inside = &report->diagnosis.inside;

	if (!fact_is_known(&inside->fact)) {
		page_line(page, "vDSO", "time inside it is not known: %s", inside->fact.reason);
		return;
	}
	page_line(page, "vDSO", "%s of %s samples, one in each %d us of CPU time, are inside it",
		as_count(sampled->in_vdso), as_count(sampled->taken), TRACE_SAMPLE_NS / 1000);
	if (sampled->lost)
		page_add(page, "; %s samples were lost", as_count(sampled->lost));
	if (sampled->of_32_bit)
		page_add(page, "; %s are in 32-bit code, whose vDSO is another",
			as_count(sampled->of_32_bit));
	if (sampled->in_vdso && !isnan(inside->fallback_percent_most))
		page_add(page,
			"; where the vDSO cannot be used, these reads would take at most %.*f%% of "
			"one CPU",
			inside->fallback_percent_most < 10, inside->fallback_percent_most);
}

static int by_count(const void *left, const void *right)
{
	const struct trace_line *a = left, *b = right;

	return (a->count < b->count) - (a->count > b->count);
}

/*
 * Copies the lines that are shown, and returns their number. Of a whole host the calls that are
 * made least share the last one, so that the answer fits a screen.
 */
static size_t choose_lines(const struct trace_report *report, struct trace_line *lines)
{
	const struct trace_diagnosis *diagnosis = &report->diagnosis;
	const size_t count = diagnosis->line_count, shown = (size_t)report->request.shown;
	struct trace_line *rest;

	memcpy(lines, diagnosis->lines, count * sizeof(*lines));
	if (report->request.target != TARGET_HOST || count <= report->request.shown)
		return count;
	qsort(lines, count, sizeof(*lines), by_count);
	rest = &lines[shown - 1];
	rest->call = "others";
	rest->clock = "";
	for (const struct trace_line *line = rest + 1; line < lines + count; line++) {
		double part;

		/* The costs of one call are means. */
		rest->count += line->count;
		part = (double)line->count / (double)rest->count;
		rest->syscall_ns += part * (line->syscall_ns - rest->syscall_ns);
		rest->vdso_ns += part * (line->vdso_ns - rest->vdso_ns);
		rest->is_minimum |= line->is_minimum;
	}
	return shown;
}

/* Writes a table whose lines end at the terminal's last column: names of functions are long. */
static void write_cut(struct page *page, const struct table *table)
{
	const int columns = wrap_columns();
	FILE *const out = page->out;
	struct memory_stream stream;

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

/* Tables have the names of files, which are long by their paths. */
static void write_places(struct page *page, const struct trace_places *places)
{
	const int indent = page->indent;
	const struct table table = {
		.fields = trace_place_fields, TABLE_ROWS(places->list, places->count)};

	if (page->all || !places->count)
		page_table(page, &table);
	else
		write_cut(page, &table);
	page->indent = page->hang = 2;
	for (size_t i = 0; i < places->count; i++) {
		const char *module = places->list[i].module;
		const struct fact *failed = NULL;
		bool is_first = *module == '/', has_names = true;

		for (size_t k = 0; k < places->count; k++) {
			const struct trace_place *place = &places->list[k];

			if (strcmp(place->module, module) != 0)
				continue;
			is_first = is_first && k >= i;
			has_names = has_names && *place->function;
			if (place->source.fact.state == FACT_FAILED)
				failed = &place->source.fact;
		}
		if (!is_first)
			continue;
		page_line(page, "", "%s is %s", trace_file_name(module), module);
		if (failed)
			page_add(page, "; no source lines: %s", failed->reason);
		else if (!has_names)
			page_add(page, "; its debug symbols would give names");
	}
	page_end(page);
	page->indent = indent;
	page->hang = 0;
}

void trace_text(const void *data, struct page *page)
{
	const struct trace_report *report = data;
	const struct trace_evidence *trace = &report->trace;
	struct trace_line lines[TRACE_ROW_MAX];
	const size_t line_count = choose_lines(report, lines);

	fputc('\n', page->out);
	write_run(report, page);
	if (trace->sampled.fact.state != FACT_UNREAD)
		write_samples(report, page);
	page_table(page, &(struct table){.fields = trace_caller_fields,
				 TABLE_ROWS(trace->callers.list, trace->callers.count)});
	page_table(page, &(struct table){.fields = trace_line_fields,
				 TABLE_ROWS(lines, line_count),
				 .whole = report});
	write_places(page, &trace->places);
	/* If the vDSO made the calls, the places that it was called from say more. */
	if (report->diagnosis.has_call_places)
		write_places(page, &trace->call_places);
	if (report->diagnosis.hints.count)
		fputc('\n', page->out);
	write_texts(page, "Why", &report->diagnosis.hints);
}

const struct format trace_formats[] = {
	{.name = "text", .write = report_text},
	{.name = "json", .write = report_json},
	{0},
};
