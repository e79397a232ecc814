/* SPDX-License-Identifier: MIT */
/* Runs the commands of report.h, and prints what they answer, for people and for programs. */
#include "report.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "collect.h"

void report_answer(struct report *report, const struct answer *answer, const char *rule,
	const char *advice, const char *format, ...)
{
	va_list arguments;

	report->answer = answer;
	report->rule = rule;
	report->advice = advice;
	if (advice)
		fact_set_known(&report->advice_fact);
	else
		fact_set(&report->advice_fact, FACT_ABSENT, "there is nothing to be done");
	if (answer->status != STATUS_OF_RUN)
		report->exit_status = answer->status;
	va_start(arguments, format);
	vsnprintf(report->summary, sizeof(report->summary), format, arguments);
	va_end(arguments);
}

void report_check_clocksource(struct cli *cli, struct clocksource_evidence *clocksource)
{
	if (clocksource_collect_change(&cli->root, clocksource))
		report_answer(cli->data, cli->command->answers, "clocksource-changed", NULL,
			"the clocksource changed from %s to %s during the measurement. Run it again.",
			clocksource->current, clocksource->changed_to);
}

int report_run(struct cli *cli)
{
	struct report *report = cli->data;

	report->type = cli->command->report;
	report->answer = cli->command->answers;
	timestamp_collect(&cli->root, &report->timestamp, &cli->deadline);
	report->exit_status = cli_trouble(cli);
	if (report->type->measure(cli)) {
		report->exit_status = interrupt_status(report->exit_status);
		cli_print(cli, report);
	}
	if (report->type->release)
		report->type->release(report);
	return report->exit_status;
}

/* ---- for programs ---- */

static json_t *verdict(const void *object, const void *whole)
{
	(void)whole;
	return json_string(((const struct report *)object)->answer->word);
}

#define OF struct report

const struct field report_fields[] = {
	{INLINE(timestamp, timestamp_fields)},
	{COMPUTED("verdict", FIELD_WORD, verdict), .options = FIELD_FILLED},
	{INTEGER("exit_status", exit_status, 255),
		.doc = "128 and the number of a signal: interrupted"},
	{TEXT("summary", summary), .options = FIELD_FILLED, .doc = "verdict in a sentence"},
	{0},
};

void report_json(const void *result, const struct style *style, FILE *out)
{
	const struct report *report = result;
	const struct field fields[] = {
		{.key = "", .kind = FIELD_INLINE, .fields = report_fields},
		{.key = "", .kind = FIELD_INLINE, .fields = report->type->fields},
		{0},
	};

	document_write(report->type->schema, fields, report, style->compact, out);
}

/* ---- for people ---- */

void page_end(struct page *page)
{
	if (page->label && page->text.used && page->hang) {
		wrap_label(page->out, page->label, page->indent);
		wrap_text(page->out, page->indent, page->indent + page->hang, page->text.text);
	} else if (page->label && page->text.used) {
		wrap_print(page->out, page->label, page->indent, page->text.text);
	}
	page->label = NULL;
	page->text = (struct strbuf){.used = 0};
}

__attribute__((format(printf, 2, 0))) static void add(
	struct page *page, const char *format, va_list arguments)
{
	struct strbuf *text = &page->text;
	int length = vsnprintf(
		text->text + text->used, sizeof(text->text) - text->used, format, arguments);

	text->used += length > 0 ? (size_t)length : 0;
	if (text->used >= sizeof(text->text))
		text->used = sizeof(text->text) - 1;
}

void page_line(struct page *page, const char *label, const char *format, ...)
{
	va_list arguments;

	page_end(page);
	page->label = label;
	va_start(arguments, format);
	add(page, format, arguments);
	va_end(arguments);
}

void page_add(struct page *page, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add(page, format, arguments);
	va_end(arguments);
}

void page_clocksource(struct page *page, const struct evidence *evidence)
{
	page_line(page, "clocksource", "%s", "");
	strbuf_add_clocksource(evidence, &page->text);
}

void page_host(struct page *page, const struct evidence *evidence)
{
	page_line(page, "host", "%s", "");
	strbuf_add_host(evidence, page->all ? SIZE_MAX : (size_t)(wrap_columns() - page->indent),
		&page->text);
}

void page_table(struct page *page, const struct table *table)
{
	struct table fitting = *table;

	page_end(page);
	if (!table->count)
		return;
	fputc('\n', page->out);
	fitting.columns = wrap_columns();
	table_write(&fitting, page->out);
}

void answer_heading(const struct answer *answer, char heading[ANSWER_WORD_SIZE])
{
	text_clean(heading, ANSWER_WORD_SIZE, answer->word);
	for (char *at = heading; *at; at++)
		*at = (char)toupper((unsigned char)*at);
}

void page_answer(struct page *page, const struct answer *answer, const char *sentence)
{
	char word[ANSWER_WORD_SIZE];
	int column = (int)strlen(answer->word) + 2;

	page_end(page);
	if (!answer->color) {
		wrap_text(page->out, 0, 4, sentence);
		return;
	}
	answer_heading(answer, word);
	fprintf(page->out, "%s%s%s: ", page->color ? answer->color : "", word,
		page->color ? COLOR_RESET : "");
	wrap_text(page->out, column, column, sentence);
}

void report_text(const void *result, const struct style *style, FILE *out)
{
	const struct report *report = result;
	struct page page = {.out = out,
		.indent = report->type->indent,
		.all = style->verbose,
		.color = style->color};

	page_answer(&page, report->answer, report->summary);
	report->type->text(report, &page);
	page_end(&page);
	if (report->advice) {
		fputc('\n', out);
		page_line(&page, "Do", "%s", report->advice);
		page_end(&page);
	}
}

const struct format report_formats[] = {
	{.name = "text", .write = report_text},
	{.name = "json", .write = report_json},
	{0},
};
