/* SPDX-License-Identifier: MIT */
/*
 * Prints the text of --help, made from the rows that are parsed. Without a command it is an
 * overview, which fits a terminal of 24 lines; all options of a command are in its own help, and
 * those that all commands have in that of the first command.
 */
#include <string.h>

#include "cli/text.h"
#include "driver.h"

#define HELP_INDENT 25
#define OVERVIEW_INDENT 21
#define LINE_SIZE 1024

static void write_option(
	const struct command *command, const struct option_row *row, int indent, FILE *out)
{
	char letter[] = {'-', (char)row->id, ',', '\0'};
	const struct format *format = command->formats;
	char formats[LINE_SIZE];
	int column = fprintf(out, "  %3s --%s%s%s ", row->id < OPTION_FORMAT ? letter : "",
		row->name, row->argument ? " " : "", row->argument ? row->argument : "");

	if (column > indent) {
		fputc('\n', out);
		column = 0;
	}
	fprintf(out, "%*s", indent - column, "");
	/* "print text (the default), json or report (...)" */
	snprintf(formats, sizeof(formats), "print %s (the default)", format->name);
	while ((++format)->name) {
		text_append(formats, sizeof(formats), "%s%s", format[1].name ? ", " : " or ",
			format->name);
		if (format->summary)
			text_append(formats, sizeof(formats), " (%s)", format->summary);
	}
	wrap_text(out, indent, indent, row->id == OPTION_FORMAT ? formats : row->help);
}

/* "0 MEANING, 1 MEANING, 1 MEANING, 2 MEANING, ...", or with the words of the answers. */
static void help_write_status(const struct command *command, bool by_word, FILE *out)
{
	const struct answer *answers = command->answers;
	char text[LINE_SIZE] = "";

	for (int status = 0; answers && status <= 2; status++) {
		for (size_t i = 0; answers[i].word; i++) {
			if (answers[i].status == status)
				text_append(text, sizeof(text), "%s%d %s", *text ? ", " : "",
					status, by_word ? answers[i].word : answers[i].meaning);
		}
	}
	text_append(text, sizeof(text), "%s%s", *text ? ", " : "", command->status);
	fputs("\nExit status: ", out);
	wrap_text(out, strlen("Exit status: "), 0, text);
}

void cli_write_overview(const struct command *const *commands, FILE *out)
{
	const struct option_row *row;

	fputs("Usage: vdsocheck [COMMAND] [OPTION]...\n"
	      "  vdsocheck                   is the clock served by the vDSO here; if not, why\n"
	      "  vdsocheck --format report   the same as Markdown, for a ticket\n"
	      "  vdsocheck trace -- PROGRAM  how often a program reads the clock, and where\n\n",
		out);
	wrap_text(out, 0, 0, commands[0]->help);
	fputs("\nCommands:\n", out);
	for (size_t i = 0; commands[i]; i++)
		wrap_print(out, commands[i]->name, 11, commands[i]->summary);
	fputc('\n', out);
	wrap_text(out, 0, 0,
		"Common options; see also 'vdsocheck help COMMAND|causes|terms', 'man vdsocheck':");
	for (size_t i = 0; (row = row_at(commands[0], i)); i++) {
		if (row->id < OPTION_FORMAT && strchr("Joqv", row->id))
			write_option(commands[0], row, OVERVIEW_INDENT, out);
	}
	help_write_status(commands[0], true, out);
}

void cli_write_help(const struct command *command, bool first, FILE *out)
{
	const struct option_row *row, *operands = operand_row(command);

	fprintf(out, "Usage: vdsocheck %s [OPTION]...", command->name);
	if (operands)
		fprintf(out, " [--%s %s]", operands->name, operands->argument);
	if (command->program)
		fprintf(out, " %s", command->program);
	fputs("\n\n", out);
	wrap_text(out, 0, 0, command->help);
	fputs("\nOptions:\n", out);
	for (size_t i = 0; (row = row_at(command, i)); i++) {
		if (!first && is_common(row) && row->id != OPTION_FORMAT)
			continue;
		write_option(command, row, HELP_INDENT, out);
	}
	if (!first)
		wrap_print(out, "and", 6,
			"-J, -o FILE, --color WHEN, -q, -v, -h, -V: see 'vdsocheck help check'");
	help_write_status(command, false, out);
}
