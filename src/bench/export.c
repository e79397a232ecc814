/* SPDX-License-Identifier: MIT */
/*
 * What was measured as CSV, for a spreadsheet, and as a table in Markdown, for a report. The rows
 * are those of the JSON document, and the columns are named like its keys.
 */
#include <jansson.h>
#include <string.h>

#include "base/units.h"
#include "report.h"

#define COLUMNS_MAX 8

/* The lists of the document that are tables, and what a reader wants to see of each. */
static const struct {
	const char *key;
	const char *columns[COLUMNS_MAX];
} tables[] = {
	{"calls",
		{"call", "clock", "path", "cpu", "min_ns", "median_ns", "cold_median_ns", "ratio"}},
	{"runs", {"call", "clock", "path", "cpu", "calls", "real_s", "user_s", "sys_s"}},
	{"crowds", {"call", "clock", "path", "threads", "cpus", "alone_ns", "together_ns",
			   "slowest_ns"}},
};

/* Null is empty. In CSV a text with a comma or a quote is quoted. */
static void write_value(const json_t *value, bool csv, FILE *out)
{
	const char *text = json_string_value(value);
	bool quoted = csv && text && strpbrk(text, ",\"");
	char number[400]; /* of any double */
	size_t length;

	if (quoted)
		fputc('"', out);
	for (; text && *text; text++)
		fprintf(out, quoted && *text == '"' ? "\"\"" : "%c", *text);
	if (quoted)
		fputc('"', out);
	if (json_is_integer(value))
		fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	if (!json_is_real(value))
		return;
	/* All digits of the document, microseconds at most, and no exponent. */
	length = (size_t)snprintf(number, sizeof(number), "%.6f", json_real_value(value));
	while (number[length - 1] == '0')
		length--;
	length -= number[length - 1] == '.';
	fprintf(out, "%.*s", (int)length, number);
}

/* All keys but the list of buckets. */
static void write_csv_line(json_t *row, bool names, FILE *out)
{
	const char *key, *comma = "";
	json_t *value;

	json_object_foreach(row, key, value)
	{
		if (strcmp(key, "histogram") == 0)
			continue;
		fputs(comma, out);
		if (names)
			fputs(key, out);
		else
			write_value(value, true, out);
		comma = ",";
	}
	fputc('\n', out);
}

bool bench_report_csv(const void *result, const struct style *style, FILE *out)
{
	json_t *document = field_write(bench_report_fields, result, result), *row;
	const char *between = "";
	size_t at;

	(void)style;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		json_array_foreach(json_object_get(document, tables[i].key), at, row)
		{
			if (at == 0) {
				fputs(between, out);
				write_csv_line(row, true, out);
			}
			write_csv_line(row, false, out);
			between = "\n";
		}
	}
	json_decref(document);
	return document;
}

/* Without the columns that are empty in all rows. */
static void write_markdown(json_t *rows, const char *const *columns, FILE *out)
{
	bool shown[COLUMNS_MAX] = {false};
	json_t *row;
	size_t at;

	json_array_foreach(rows, at, row)
	{
		for (size_t i = 0; i < COLUMNS_MAX; i++)
			shown[i] |= !json_is_null(json_object_get(row, columns[i]));
	}
	for (size_t i = 0; i < COLUMNS_MAX; i++) {
		if (shown[i])
			fprintf(out, "| %s ", columns[i]);
	}
	fputs("|\n", out);
	/* Numbers, which begin with the CPU or the count of threads, are to the right. */
	for (size_t i = 0; i < COLUMNS_MAX; i++) {
		if (shown[i])
			fputs(i < 3 ? "|---" : "|---:", out);
	}
	fputs("|\n", out);
	json_array_foreach(rows, at, row)
	{
		for (size_t i = 0; i < COLUMNS_MAX; i++) {
			if (!shown[i])
				continue;
			fputs("| ", out);
			write_value(json_object_get(row, columns[i]), false, out);
			fputc(' ', out);
		}
		fputs("|\n", out);
	}
}

bool bench_report_markdown(const void *result, const struct style *style, FILE *out)
{
	const struct bench_report *report = result;
	json_t *document = field_write(bench_report_fields, report, report);
	const char *between = "";

	(void)style;
	if (*report->summary) {
		fprintf(out, "%s\n", report->summary);
		between = "\n";
	}
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		json_t *rows = json_object_get(document, tables[i].key);

		if (!json_array_size(rows))
			continue;
		fputs(between, out);
		write_markdown(rows, tables[i].columns, out);
		between = "\n";
	}
	json_decref(document);
	return document;
}
