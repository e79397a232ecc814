/* SPDX-License-Identifier: MIT */
/*
 * Parses the command line: a command's name comes first, or there is none; getopt_long(3) parses
 * what follows by the command's rows, from which --help is printed, too.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define LINE_SIZE 1024

/* The largest number of options that a command has, with those of all. */
#define ROW_MAX 32

static const struct option_row common[] = {
	{OPTION_FORMAT, "format", "FORMAT", ""},
	{'J', "json", NULL, "print JSON, the same as --format json"},
	{'o', "output", "FILE", "write to FILE atomically"},
	{OPTION_COLOR, "color", "WHEN", "use color: auto (the default), always, never"},
	{'q', "quiet", NULL, "print no output; -o still writes its FILE"},
	{'v', "verbose", NULL, "print all details"},
	{'h', "help", NULL, "print this help"},
	{'V', "version", NULL, "print the version"},
	{0},
};

bool is_common(const struct option_row *row)
{
	return row >= common && row < common + ARRAY_SIZE(common);
}

const struct option_row *row_at(const struct command *command, size_t place)
{
	for (const struct option_row *row = command->options; row && row->name; row++) {
		if (place-- == 0)
			return row;
	}
	return common[place].name ? &common[place] : NULL;
}

const struct option_row *operand_row(const struct command *command)
{
	const struct option_row *row;

	for (size_t i = 0; (row = row_at(command, i)); i++) {
		struct span argument = text_span(row->argument ? row->argument : "");

		if (text_take_suffix(&argument, "..."))
			break;
	}
	return row;
}

/* Returns what may follow "help" and its topic so far, beside commands; NULL: no more. */
static const char *topic_at(const struct cli *cli, size_t place)
{
	return cli->help && !cli->named ? cli->commands[0]->topic(cli->topic, place) : NULL;
}

static const char *find_topic(const struct cli *cli, const char *word)
{
	const char *topic;

	for (size_t i = 0; (topic = topic_at(cli, i)) && strcasecmp(topic, word) != 0; i++)
		;
	return topic;
}

/* Takes a command's name, "help" or "version"; several may stand in a row, as in git(1). */
static bool take_command(struct cli *cli, const char *word)
{
	if (strcmp(word, "help") == 0)
		return cli->help = true;
	if (strcmp(word, "version") == 0)
		return cli->version = true;
	for (size_t i = 0; cli->commands[i]; i++) {
		if (strcmp(cli->commands[i]->name, word) == 0) {
			cli->command = cli->commands[i];
			return cli->named = true;
		}
	}
	return false;
}

/* ---- words that are refused ---- */

/* Refuses "--NAME", "--NAME=VALUE" or "-NAME", which is not or not alone the beginning of a name.
 */
static bool refuse_option(const struct command *command, const char *word)
{
	size_t dashes = word[1] == '-' ? 2 : 1;
	int length = (int)strcspn(word, "=");
	struct span name = {word + dashes, (size_t)length - dashes};
	struct nearest nearest = {.word = name};
	const struct option_row *row;
	char matches[LINE_SIZE] = "", all[sizeof(nearest.all)] = "";
	unsigned count = 0;

	for (size_t i = 0; (row = row_at(command, i)); i++) {
		nearest_try(&nearest, row->name);
		text_append(all, sizeof(all), "%s--%s", i ? ", " : "", row->name);
		if (dashes == 2 && strncmp(row->name, name.at, name.length) == 0)
			text_append(
				matches, sizeof(matches), "%s--%s", count++ ? ", " : "", row->name);
	}
	if (count > 1)
		return cli_usage_error("option '%.*s' is ambiguous: %s", length, word, matches);
	if (nearest.name)
		return cli_error(
			"unknown option '%.*s'; did you mean '--%s'?", length, word, nearest.name);
	/* A list that does not fit is left out, as by nearest_refuse(). */
	if (strlen(all) < sizeof(all) - 1)
		return cli_usage_error("unknown option '%.*s'; there are %s", length, word, all);
	return cli_usage_error("unknown option '%.*s'", length, word);
}

/* Refuses a word for which getopt_long(3) returned '?' or, for lack of a value, ':'. */
static bool refuse_word(const struct command *command, int id, const char *word)
{
	const char letter[] = {'-', (char)optopt, '\0'};
	const struct option_row *row;

	if (id == ':')
		return cli_usage_error("option '%s' needs a value", word[1] == '-' ? word : letter);
	for (size_t i = 0; (row = row_at(command, i)); i++) {
		if (row->id == optopt)
			return cli_usage_error("option '%s' takes no value", word);
		if (strcmp(word + 1, row->name) == 0)
			return refuse_option(command, word);
	}
	return optopt ? cli_usage_error("unknown option '%s'", letter)
	              : refuse_option(command, word);
}

/* Refuses an operand. If the command was not named, it was meant as its name. */
static bool refuse_operand(const struct cli *cli, const char *word)
{
	const struct option_row *files = operand_row(cli->command);
	struct nearest nearest = {.word = text_span(word)};
	struct span name = nearest.word;
	struct cli misplaced = {.commands = cli->commands};
	const char *topic;

	if (files && (strchr(word, '/') || (text_take_suffix(&name, ".json") && name.length)))
		return cli_usage_error("'%s' is not a command; to read a file, use --%s %s", word,
			files->name, word);
	for (size_t i = 0; (topic = topic_at(cli, i)); i++)
		nearest_try(&nearest, topic);
	if (cli->topic && *nearest.all)
		return nearest_refuse(&nearest, "no help for");
	if (cli->named || cli->topic)
		return cli_usage_error("unexpected argument '%s'", word);
	if (take_command(&misplaced, word))
		return cli_usage_error("the command '%s' comes before all options", word);
	if (cli_find_format(cli->commands[0], word))
		return cli_error(
			"'%s' is a format, not a command: vdsocheck --format %s", word, word);
	cli_command_name = NULL;
	for (size_t i = 0; cli->commands[i]; i++)
		nearest_try(&nearest, cli->commands[i]->name);
	nearest_try(&nearest, "help");
	nearest_try(&nearest, "version");
	return nearest_refuse(&nearest, cli->help ? "no help for" : "unknown command");
}

/* ---- options and operands ---- */

static bool take_color(struct cli *cli, const char *word)
{
	static const char *const names[] = {
		[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never"};
	int place = take_name("--color: unknown value", text_span(word), names, ARRAY_SIZE(names));

	cli->color = place < 0 ? COLOR_AUTO : (enum color_choice)place;
	return place >= 0;
}

const struct format *cli_find_format(const struct command *command, const char *name)
{
	for (const struct format *format = command->formats; format->name; format++) {
		if (strcmp(format->name, name) == 0)
			return format;
	}
	return NULL;
}

static bool take_format(struct cli *cli, const char *name)
{
	const struct format *found = cli_find_format(cli->command, name);
	struct nearest nearest = {.word = text_span(name)};

	if (found) {
		cli->format = found;
		return true;
	}
	for (const struct format *format = cli->command->formats; format->name; format++)
		nearest_try(&nearest, format->name);
	return nearest_refuse(&nearest, "--format: unknown format");
}

static bool add_operand(struct cli *cli, const char *word)
{
	if (!*word && !cli->command->program)
		return cli_usage_error("the name of a file is empty");
	cli->operands[cli->operand_count++] = word;
	return true;
}

static bool cli_take_option(struct cli *cli, int id, const char *value)
{
	const struct option_row *files = operand_row(cli->command);

	switch (id) {
	case 'h':
		return cli->help = true;
	case 'V':
		return cli->version = true;
	case 'q':
		return cli->quiet = true;
	case 'v':
		return cli->style.verbose = true;
	case 'J':
		return take_format(cli, "json");
	case 'o':
		if (!*value)
			return cli_usage_error("--output: the file name is empty");
		cli->output = strcmp(value, "-") == 0 ? NULL : value;
		return true;
	case OPTION_FORMAT:
		return take_format(cli, value);
	case OPTION_COLOR:
		return take_color(cli, value);
	case OPTION_SYSROOT:
		cli->sysroot = value;
		return true;
	default:
		if (id == 'd' && cli->command->duration_ns)
			return take_duration("--duration", value, &cli->duration_ns);
		if (files && files->id == id)
			return add_operand(cli, value);
		return cli->command->take(cli, id, value);
	}
}

/* Operands are a program and its arguments, or more values of an option that reads files. */
static bool take_operand(struct cli *cli, const char *word)
{
	if (!cli->command->program && !cli->operand_count)
		return refuse_operand(cli, word);
	return add_operand(cli, word);
}

/* A command's rows as getopt_long(3) takes them. */
struct getopt_rows {
	struct option list[ROW_MAX];
	char letters[2 * ROW_MAX + 3];
};

static void make_rows(const struct command *command, struct getopt_rows *rows)
{
	const struct option_row *row;
	size_t count = 0;

	/* A program's name ends the options; other operands are returned where they stand. */
	*rows = (struct getopt_rows){.letters = {command->program ? '+' : '-', ':'}};
	for (; count < ROW_MAX - 1 && (row = row_at(command, count)); count++) {
		rows->list[count] = (struct option){.name = row->name,
			.has_arg = row->argument ? required_argument : no_argument,
			.val = row->id};
		if (row->id < OPTION_FORMAT)
			text_append(rows->letters, sizeof(rows->letters), "%c%s", row->id,
				row->argument ? ":" : "");
	}
}

bool cli_parse(struct cli *cli, const struct command *const *commands, int argc, char **argv)
{
	struct getopt_rows rows;
	const char *topic;
	const char *word; /* is parsed next */
	bool failed = false;
	int id;

	*cli = (struct cli){.commands = commands, .command = commands[0], .sysroot = "/"};
	for (; argc > 1 && !cli->named && take_command(cli, argv[1]); argc--)
		argv++;
	for (; argc > 1 && (topic = find_topic(cli, argv[1])); argc--) {
		cli->topic = topic;
		argv++;
	}
	cli_command_name = cli->command->name;
	cli->format = cli->command->formats;
	cli->duration_ns = cli->command->duration_ns;
	cli->data = xcalloc(1, cli->command->size);
	cli->operands = xcalloc((size_t)argc + 1, sizeof(*cli->operands));
	make_rows(cli->command, &rows);
	word = argc > 1 ? argv[1] : "";
	optind = 0; /* begins anew */
	while ((id = getopt_long(argc, argv, rows.letters, rows.list, NULL)) != -1) {
		const char *value = optarg ? optarg : "";

		/* After a mistake only those words count that decide how it is reported. */
		if (failed && id != 'q' &&
			(id != OPTION_FORMAT || !cli_find_format(cli->command, value)))
			continue;
		if (id == '?' || id == ':')
			failed = !refuse_word(cli->command, id, word);
		else if (id == 1)
			failed = !take_operand(cli, value);
		else if (!cli_take_option(cli, id, value))
			failed = true;
		word = optind < argc ? argv[optind] : "";
	}
	while (optind < argc && !failed)
		failed = !take_operand(cli, argv[optind++]);
	return !failed;
}

void cli_free(struct cli *cli)
{
	free(cli->data);
	free(cli->operands);
}
