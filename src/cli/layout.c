/* SPDX-License-Identifier: MIT */
/* Text for a terminal: wrapped between words, and folded commands. */
#include "cli/layout.h"

#include <string.h>

#include "base/text.h"

#define MARGIN 2

static int start_line(FILE *out, int indent)
{
	fprintf(out, "\n%*s", indent, "");
	return indent;
}

void wrap_text(FILE *out, int column, int indent, const char *text)
{
	struct span rest = text_span(text);
	struct span word;

	for (bool first = true; text_next_word(&rest, &word); first = false) {
		if (!first && column + 1 + (int)word.length > WRAP_COLUMNS) {
			column = start_line(out, indent);
		} else if (!first) {
			fputc(' ', out);
			column++;
		}
		column += fprintf(out, "%.*s", (int)word.length, word.at);
	}
	fputc('\n', out);
}

void wrap_answer(FILE *out, const struct heading *heading, bool colored, const char *text)
{
	int column = (int)strlen(heading->word) + 2;

	fprintf(out, "%s%s%s: ", colored ? heading->color : "", heading->word,
		colored ? COLOR_RESET : "");
	wrap_text(out, column, column, text);
}

void wrap_print(FILE *out, const char *label, int indent, const char *text)
{
	fprintf(out, "%*s%-*s", MARGIN, "", indent - MARGIN, label);
	wrap_text(out, indent, indent, text);
}

/*
 * The length up to the next blank at which the shell lets a backslash end the line, which it does
 * anywhere but between single quotes.
 */
static size_t command_word(const char *command)
{
	bool quoted = false;
	size_t length = 0;

	for (; command[length] && (quoted || command[length] != ' '); length++)
		quoted ^= command[length] == '\'';
	return length;
}

/* A list of commands reads best with each on a line of its own, where one is as wide as that. */
static bool begins_line(const char *command, int column, int indent)
{
	const char *end = strstr(command, " &&");
	int length = (int)(end ? (size_t)(end - command) + strlen(" && \\") : strlen(command));

	return column + length > WRAP_COLUMNS && indent + length <= WRAP_COLUMNS;
}

int wrap_command(FILE *out, int column, int indent, const char *command)
{
	bool after_and = false;

	for (bool first = true; *command; first = false) {
		size_t length = command_word(command);
		/* All but the last word leave room for the backslash. */
		int room = WRAP_COLUMNS - column - 1 - (command[length] ? 2 : 0);

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
	return column;
}
