/* SPDX-License-Identifier: MIT */
/*
 * The driver's files share these: the parsing of words and values, the help, the terminal, and
 * the rows of all options of a command: its own, then those that every command has.
 */
#ifndef VDSOCHECK_CLI_DRIVER_H
#define VDSOCHECK_CLI_DRIVER_H

#include "cli/command.h"

/* ---- options.c ---- */

/* Returns the row at this place, for a walk from 0 on; NULL at the end. */
const struct option_row *row_at(const struct command *command, size_t place);

/* Returns true if every command has this row. */
bool is_common(const struct option_row *row);

/* Returns the option that takes the operands as further values, or NULL. */
const struct option_row *operand_row(const struct command *command);

/* Parses the words into *cli, for cli_free() in any case. Returns false after an error message. */
bool cli_parse(struct cli *cli, const struct command *const *commands, int argc, char **argv);
void cli_free(struct cli *cli);

/* Returns the command's format with this name; NULL: it has none. */
const struct format *cli_find_format(const struct command *command, const char *name);

/* ---- help.c ---- */

/* Prints the commands, and the options that most of them have. */
void cli_write_overview(const struct command *const *commands, FILE *out);

/* Prints the help of a command. That of the first one has the options that all have. */
void cli_write_help(const struct command *command, bool first, FILE *out);

/* ---- parse.c ---- */

/* The largest count that is accepted: 10^12. */
#define PARSE_COUNT_MAX 1000000000000u

/* Parses 1 to 10^12, a whole number: "5000", "485k", "1.5M", "2G". */
bool parse_count(struct span text, uint64_t *count);

/* Parses 10 ms to 24 h: "2", "0.5", "500ms", "5m", "1.5h"; seconds without a unit. */
bool parse_duration(struct span text, int64_t *ns);

/* ---- terminal.c ---- */

/* The command whose --help cli_usage_error() names; NULL: that of all commands. */
extern const char *cli_command_name;

/* Returns the stream of the output without cli->output: standard output or standard error. */
int cli_stream(const struct cli *cli);

/* Returns the last message of cli_error(), without "vdsocheck: "; empty: there was none. */
const char *cli_last_error(void);

/* Returns true if the output gets color: with COLOR_AUTO on a capable terminal only. */
bool cli_wants_color(const struct cli *cli);

/* Returns the columns of the terminal that the output goes to; WRAP_COLUMNS for anything else. */
int cli_columns(const struct cli *cli);

#endif
