/* SPDX-License-Identifier: MIT */
/* Puts text together, and wraps it between words. */
#include "cli/text.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"

#define MARGIN 2
#define COLUMNS_LEAST 50
#define COLUMNS_MOST 100

static int columns = WRAP_COLUMNS;
static const char *label_style = "", *text_style = "";

int wrap_columns(void)
{
	return columns;
}

void wrap_set_columns(int number)
{
	columns = number < COLUMNS_LEAST  ? COLUMNS_LEAST
	          : number > COLUMNS_MOST ? COLUMNS_MOST
	                                  : number;
}

void wrap_set_styles(const char *label, const char *text)
{
	label_style = label;
	text_style = text;
}

static int start_line(FILE *out, int indent)
{
	fprintf(out, "\n%*s", indent, "");
	return indent;
}

static void write_words(FILE *out, int column, int indent, const char *text)
{
	struct span rest = text_span(text);
	struct span word;

	for (bool first = true; text_next_word(&rest, &word); first = false) {
		if (!first && column + 1 + (int)word.length > wrap_columns()) {
			column = start_line(out, indent);
		} else if (!first) {
			fputc(' ', out);
			column++;
		}
		column += fprintf(out, "%.*s", (int)word.length, word.at);
	}
}

void wrap_text(FILE *out, int column, int indent, const char *text)
{
	write_words(out, column, indent, text);
	fputc('\n', out);
}

void wrap_label(FILE *out, const char *label, int indent)
{
	const char *style = *label ? label_style : "";

	fprintf(out, "%*s%s%s%s%*s", MARGIN, "", style, label, *style ? COLOR_RESET : "",
		indent - MARGIN - (int)strlen(label), "");
}

void wrap_print(FILE *out, const char *label, int indent, const char *text)
{
	wrap_label(out, label, indent);
	fputs(text_style, out);
	write_words(out, indent, indent, text);
	fprintf(out, "%s\n", *text_style ? COLOR_RESET : "");
}

/*
 * Returns the length up to the next blank at which the shell lets a backslash end the line, which
 * it does anywhere but between single quotes.
 */
static size_t command_word(const char *command)
{
	bool quoted = false;
	size_t length = 0;

	for (; command[length] && (quoted || command[length] != ' '); length++)
		quoted ^= command[length] == '\'';
	return length;
}

/* Commands of a list begin a line each where they fit one. */
static bool begins_line(const char *command, int column, int indent)
{
	const char *end = strstr(command, " &&");
	int length = (int)(end ? (size_t)(end - command) + strlen(" && \\") : strlen(command));

	return column + length > wrap_columns() && indent + length <= wrap_columns();
}

void wrap_command(FILE *out, int column, int indent, const char *command)
{
	bool after_and = false;

	for (bool first = true; *command; first = false) {
		size_t length = command_word(command);
		/* All but the last word leave room for the backslash. */
		int room = wrap_columns() - column - 1 - (command[length] ? 2 : 0);

		if (!first && ((int)length > room ||
				      (after_and && begins_line(command, column + 1, indent)))) {
			fputs(" \\", out);
			column = start_line(out, indent);
		} else if (!first) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)length, command);
		column += (int)length;
		after_and = length == 2 && strncmp(command, "&&", length) == 0;
		command += length;
		while (*command == ' ')
			command++;
	}
	fputc('\n', out);
}

void strbuf_add(struct strbuf *sb, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sb->text + sb->used, sizeof(sb->text) - sb->used, format, arguments);
	va_end(arguments);
	sb->used += strlen(sb->text + sb->used);
}
