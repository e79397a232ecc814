/* SPDX-License-Identifier: MIT */
/* The text of --help, made from a command's row, so that it cannot differ from what is parsed. */
#include <string.h>

#include "cli/layout.h"
#include "driver.h"

#define HELP_INDENT 25
#define LINE_SIZE 1024

/* "print text, json or report (...)" */
static void list_formats(const struct format *format, char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "print %s (the default)", format->name);

	while ((++format)->name && used < size) {
		used += (size_t)snprintf(text + used, size - used, "%s%s%s%s%s",
			format[1].name ? ", " : " or ", format->name, format->summary ? " (" : "",
			format->summary ? format->summary : "", format->summary ? ")" : "");
	}
}

static void write_option(const struct command *command, const struct option_row *row, FILE *out)
{
	char letter[] = {'-', (char)row->id, ',', '\0'};
	char formats[LINE_SIZE];
	int column = fprintf(out, "  %3s --%s%s%s ", row->id < OPTION_FORMAT ? letter : "",
		row->name, row->argument ? " " : "", row->argument ? row->argument : "");

	if (column > HELP_INDENT) {
		fputc('\n', out);
		column = 0;
	}
	fprintf(out, "%*s", HELP_INDENT - column, "");
	if (row->id == OPTION_FORMAT)
		list_formats(command->formats, formats, sizeof(formats));
	wrap_text(out, HELP_INDENT, HELP_INDENT, row->id == OPTION_FORMAT ? formats : row->help);
}

static void write_usage(const struct command *command, bool first, FILE *out)
{
	const struct option_row *operands = operand_row(command);

	fprintf(out, "Usage: vdsocheck %s%s%s [OPTION]...", first ? "[" : "", command->name,
		first ? "]" : "");
	if (operands)
		fprintf(out, " [--%s %s]", operands->name, operands->argument);
	if (command->program)
		fprintf(out, " %s", command->program);
	if (command->operands)
		fprintf(out, " %s", command->operands);
	if (first)
		fputs("\n       vdsocheck COMMAND [OPTION]..."
		      "\n       vdsocheck help COMMAND"
		      "\n       vdsocheck version",
			out);
	fputs("\n\n", out);
}

void cli_write_help(const struct cli *cli, const struct command *const *commands, FILE *out)
{
	const struct command *command = cli->command;
	bool first = command == commands[0];
	const struct option_row *row;

	write_usage(command, first, out);
	wrap_text(out, 0, 0, command->help);
	if (first)
		fputs("\nCommands:\n", out);
	for (size_t i = 0; first && commands[i]; i++)
		wrap_print(out, commands[i]->name, HELP_INDENT, commands[i]->summary);
	fputs("\nOptions:\n", out);
	for (size_t at = 0; (row = row_at(command, &at));) {
		if (row->help)
			write_option(command, row, out);
	}
	fputs("\nExit status: ", out);
	wrap_text(out, strlen("Exit status: "), 0, command->status);
}
