/* SPDX-License-Identifier: MIT */
/*
 * Tables for people, from the fields that also make JSON: a field with a title is a column. All
 * cells are made first, so that a column is as wide as its widest cell: what does not fit the line
 * makes it longer, and is never cut. Before that the columns get as narrow as they can, and those
 * that can be spared are left out.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "field.h"

#define COLUMN_MAX 12
#define MARGIN 2

/* The cell of null. */
#define EMPTY "-"

struct column {
	const struct field *fields, *field; /* the row, and its table */
	const struct field *inside;         /* the FIELD_INLINE that it is part of; NULL: none */
	size_t width;
	size_t least; /* width of the widest cell, with the blanks before it */
	bool left_out;
};

static size_t find_columns(const struct field *fields, const struct field *inside,
	struct column columns[COLUMN_MAX], size_t count)
{
	for (const struct field *field = fields; field->key; field++) {
		if (field->kind == FIELD_INLINE)
			count = find_columns(field->fields, field, columns, count);
		if (!field->title)
			continue;
		assert(count < COLUMN_MAX);
		columns[count++] = (struct column){fields, field, inside, (size_t)field->width, 0,
			field->options & FIELD_RARE};
	}
	return count;
}

static void print_value(const json_t *value, const struct field *field, FILE *out)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		fputs(json_string_value(value), out);
		break;
	case JSON_INTEGER:
		fputs(as_count((uint64_t)json_integer_value(value)), out);
		break;
	case JSON_REAL:
		if (field->decimals == 1)
			fputs(as_ns(json_real_value(value)), out);
		else
			fprintf(out, "%.*f", field->decimals, json_real_value(value));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		fputs(json_is_true(value) ? "yes" : "no", out);
		break;
	default:
		break;
	}
}

/* Returns what the row's cell prints, for free(); NULL or "" for null. */
static char *make_text(const struct field *fields, const struct field *field, const void *object,
	const void *whole)
{
	struct field shown = *field;
	struct memory_stream stream;
	FILE *out = memory_stream_open(&stream);
	json_t *value;

	shown.decimals = shown.cell_decimals ? shown.cell_decimals : shown.decimals;
	if (!field->cell) {
		value = field_value(fields, &shown, object, whole);
		print_value(value, &shown, out);
		json_decref(value);
	} else if (!field_lost(fields, field, object)) {
		field->cell(object, whole, out);
	}
	memory_stream_close(&stream);
	return stream.text;
}

void document_print_titled(
	const struct field *fields, const void *object, const void *whole, FILE *out)
{
	for (const struct field *field = fields; field->key; field++) {
		char *text = field->title ? make_text(fields, field, object, whole) : NULL;

		if (text && *text)
			fprintf(out, "; %s %s", field->title, text);
		free(text);
		if (field->kind == FIELD_OBJECT)
			document_print_titled(
				field->fields, field_member(field, object), whole, out);
	}
}

static char *make_cell(const struct column *column, const void *object, const void *whole)
{
	char *text = make_text(column->fields, column->field,
		column->inside ? field_member(column->inside, object) : object, whole);

	if (text && *text)
		return text;
	free(text);
	return xstrdup(EMPTY);
}

/* Returns the least number of blanks before the column. */
static size_t gap(const struct column *column)
{
	return column->field->left ? MARGIN : 1;
}

static void write_cell(
	const struct column *column, bool last, const char *text, enum table_form form, FILE *out)
{
	if (form == TABLE_MARKDOWN)
		fprintf(out, " %s |", text);
	else if (!column->field->left)
		fprintf(out, "%*s", (int)column->width, text);
	else if (!last || *text)
		fprintf(out, "%*s%-*s", MARGIN, "", last ? 0 : (int)column->width - MARGIN, text);
}

static void write_line(const struct column *columns, size_t column_count, const char *const *texts,
	enum table_form form, FILE *out)
{
	if (form == TABLE_MARKDOWN)
		fputc('|', out);
	while (column_count && columns[column_count - 1].left_out)
		column_count--;
	for (size_t i = 0; i < column_count; i++) {
		if (!columns[i].left_out)
			write_cell(&columns[i], i + 1 == column_count, texts[i], form, out);
	}
	fputc('\n', out);
}

static bool is_too_wide(
	const struct table *table, const struct column *columns, size_t column_count)
{
	size_t sum = 0;

	for (size_t i = 0; i < column_count; i++)
		sum += columns[i].left_out ? 0 : columns[i].width;
	return table->form == TABLE_TEXT && table->columns && sum > (size_t)table->columns;
}

static void fit(const struct table *table, struct column *columns, size_t column_count)
{
	bool narrow;

	for (size_t i = 0; i < column_count; i++) {
		if (columns[i].width < columns[i].least)
			columns[i].width = columns[i].least;
	}
	narrow = is_too_wide(table, columns, column_count);
	for (size_t i = 0; i < column_count && narrow; i++)
		columns[i].width = columns[i].least;
	for (size_t i = column_count; i-- > 0 && is_too_wide(table, columns, column_count);)
		columns[i].left_out |= columns[i].field->options & FIELD_SPARE;
}

void table_write(const struct table *table, FILE *out)
{
	struct column columns[COLUMN_MAX];
	size_t column_count = find_columns(table->fields, NULL, columns, 0);
	size_t cell_count = table->count * column_count;
	char **cells = xcalloc(cell_count, sizeof(*cells));
	const char *titles[COLUMN_MAX] = {NULL}, *rules[COLUMN_MAX] = {NULL};

	for (size_t i = 0; i < cell_count; i++) {
		struct column *column = &columns[i % column_count];
		const char *object = (const char *)table->first + i / column_count * table->size;
		size_t width;

		cells[i] = make_cell(column, object, table->whole);
		width = strlen(cells[i]) + gap(column);
		column->least = width > column->least ? width : column->least;
		column->left_out = column->left_out && strcmp(cells[i], EMPTY) == 0;
	}
	/* From the last row, so that each is compared with what the one above had. */
	for (size_t i = cell_count; i-- > column_count;) {
		if (columns[i % column_count].field->options & FIELD_ONCE &&
			strcmp(cells[i], cells[i - column_count]) == 0)
			*cells[i] = '\0';
	}
	for (size_t i = 0; i < column_count; i++) {
		size_t width;

		titles[i] = table->heading && i == 0 ? table->heading : columns[i].field->title;
		width = strlen(titles[i]) + gap(&columns[i]);
		columns[i].least = width > columns[i].least ? width : columns[i].least;
		rules[i] = columns[i].field->left ? "---" : "---:";
	}
	fit(table, columns, column_count);
	write_line(columns, column_count, titles, table->form, out);
	if (table->form == TABLE_MARKDOWN)
		write_line(columns, column_count, rules, table->form, out);
	for (size_t i = 0; i < table->count; i++)
		write_line(columns, column_count, (const char *const *)&cells[i * column_count],
			table->form, out);
	for (size_t i = 0; i < cell_count; i++)
		free(cells[i]);
	free(cells);
}
