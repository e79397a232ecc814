/* SPDX-License-Identifier: MIT */
/*
 * The command line. Options may stand before or after the command, so the command is found
 * first; then getopt_long(3) parses with its options. Messages and --help come from the same
 * rows.
 */
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "driver.h"

#define OPTION_MAX 40
#define LINE_SIZE 4096

static const struct option_row common[] = {
	{OPTION_FORMAT, "format", "FORMAT", ""},
	{'J', "json", NULL, "print JSON, the same as --format json"},
	{'o', "output", "FILE", "write to FILE atomically"},
	{OPTION_COLOR, "color", "WHEN", "use color: auto (the default), always, never"},
	{'q', "quiet", NULL, "print nothing on standard output; -o still writes its FILE"},
	{'v', "verbose", NULL, "print all details"},
	{'h', "help", NULL, "print this help"},
	{'V', "version", NULL, "print the version"},
	{0},
};

/* For error messages, which may come from anywhere below. */
static struct {
	const struct command *const *commands;
	const struct command *command;
} known;

bool is_common(const struct option_row *row)
{
	return row >= common && row < common + ARRAY_SIZE(common);
}

const struct option_row *row_at(const struct command *command, size_t *at)
{
	size_t own = 0;

	/* There is a first command. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	while (command->options && command->options[own].name)
		own++;
	if (*at < own)
		return &command->options[(*at)++];
	if (common[*at - own].id == 'v' && command->never_verbose)
		++*at;
	if (!common[*at - own].name)
		return NULL;
	return &common[(*at)++ - own];
}

void cli_usage_error(const char *format, ...)
{
	char line[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	cli_error("%s; see 'vdsocheck %s --help'", line, known.command->name);
}

/* ---- which command ---- */

const struct option_row *operand_row(const struct command *command)
{
	const struct option_row *row;

	for (size_t at = 0; (row = row_at(command, &at));) {
		size_t length = row->argument ? strlen(row->argument) : 0;

		if (length > 3 && strcmp(row->argument + length - 3, "...") == 0)
			return row;
	}
	return NULL;
}

static bool is_file_name(const char *word)
{
	struct span name = text_span(word);

	return strchr(word, '/') || (text_take_suffix(&name, ".json") && name.length);
}

static void refuse_command(const char *word)
{
	const struct option_row *files = operand_row(known.commands[0]);
	unsigned least = UINT_MAX;
	const char *nearest = NULL;

	for (size_t i = 0; known.commands[i]; i++) {
		if (is_misspelling(word, known.commands[i]->name, &least))
			nearest = known.commands[i]->name;
	}
	if (is_misspelling(word, "help", &least))
		nearest = "help";
	if (is_misspelling(word, "version", &least))
		nearest = "version";
	if (nearest)
		cli_error("unknown command '%s'; did you mean '%s'?", word, nearest);
	else if (files && is_file_name(word))
		cli_usage_error("unknown command '%s'; to read a file, use --%s %s", word,
			files->name, word);
	else
		cli_error("unknown command '%s'; see 'vdsocheck --help'", word);
}

/*
 * Whether an option takes a value in any of the commands: an option has the same meaning in all
 * that have it. The name may be abbreviated; a whole name decides over its extensions.
 */
static bool name_takes_value(const char *name)
{
	const struct option_row *row;
	bool takes = false;

	for (size_t i = 0; known.commands[i]; i++) {
		for (size_t at = 0; (row = row_at(known.commands[i], &at));) {
			if (strcmp(name, row->name) == 0)
				return row->argument != NULL;
			takes |= row->argument && strncmp(name, row->name, strlen(name)) == 0;
		}
	}
	return takes;
}

static bool letter_takes_value(int letter)
{
	const struct option_row *row;

	for (size_t i = 0; known.commands[i]; i++) {
		for (size_t at = 0; (row = row_at(known.commands[i], &at));) {
			if (row->id == letter)
				return row->argument != NULL;
		}
	}
	return false;
}

/* Whether the value of the option in this word is the next word. */
static bool takes_next(const char *word)
{
	if (word[1] == '-')
		return !strchr(word, '=') && name_takes_value(word + 2);
	for (const char *letter = word + 1; *letter; letter++) {
		if (letter_takes_value((unsigned char)*letter))
			return !letter[1];
	}
	return false;
}

/* The place of the first word that is neither an option nor the value of one; argc: none. */
static int find_operand(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i + 1 < argc ? i + 1 : argc;
		if (argv[i][0] != '-' || !argv[i][1])
			return i;
		if (takes_next(argv[i]))
			i++;
	}
	return argc;
}

static void remove_word(int *argc, char **argv, int place)
{
	memmove(&argv[place], &argv[place + 1], (size_t)(*argc - place) * sizeof(*argv));
	--*argc;
}

static bool is_given(const struct option_row *row, int argc, char **argv)
{
	for (int i = 1; row && i < argc; i++) {
		size_t length = strcspn(argv[i], "=");

		if (strncmp(argv[i], "--", 2) == 0 && length > 2 &&
			strncmp(argv[i] + 2, row->name, length - 2) == 0)
			return true;
	}
	return false;
}

/* Takes the command's name out of the words. */
static bool choose_command(struct cli *cli, int *argc, char **argv)
{
	int place;

	/* As git(1) takes "help help" and "version". */
	while ((place = find_operand(*argc, argv)) < *argc) {
		if (strcmp(argv[place], "help") == 0)
			cli->help = true;
		else if (strcmp(argv[place], "version") == 0)
			cli->version = true;
		else
			break;
		remove_word(argc, argv, place);
	}
	if (place == *argc)
		return true;
	for (size_t i = 0; known.commands[i]; i++) {
		if (strcmp(known.commands[i]->name, argv[place]) != 0)
			continue;
		cli->command = known.commands[i];
		cli->named = true;
		remove_word(argc, argv, place);
		return true;
	}
	if (is_given(operand_row(cli->command), *argc, argv))
		return true;
	refuse_command(argv[place]);
	return false;
}

/* ---- its options ---- */

/*
 * The tables that getopt_long() wants. ":": a missing value is not an unknown option. "+": the
 * first operand ends the options.
 */
struct getopt_tables {
	char letters[2 * OPTION_MAX + 3];
	struct option names[OPTION_MAX + 1];
};

static void fill_tables(struct getopt_tables *tables, const struct command *command)
{
	const struct option_row *row;
	char *letter = tables->letters;
	size_t count = 0;

	*tables = (struct getopt_tables){.letters = ""};
	if (command->program)
		*letter++ = '+';
	*letter++ = ':';
	for (size_t at = 0; count < OPTION_MAX && (row = row_at(command, &at));) {
		tables->names[count++] = (struct option){.name = row->name,
			.has_arg = row->argument ? required_argument : no_argument,
			.val = row->id};
		if (row->id >= OPTION_FORMAT)
			continue;
		*letter++ = (char)row->id;
		if (row->argument)
			*letter++ = ':';
	}
}

/* Finds out why getopt_long() refused a long option, which it does not say. */
static void refuse_name(const char *word)
{
	size_t length = strcspn(word, "=") - 2;
	unsigned least = UINT_MAX, count = 0;
	const struct option_row *row, *nearest = NULL;
	char candidates[LINE_SIZE] = "", name[64];

	text_copy_span(name, sizeof(name), (struct span){word + 2, length});
	for (size_t at = 0; (row = row_at(known.command, &at));) {
		size_t used = strlen(candidates);

		if (is_misspelling(name, row->name, &least))
			nearest = row;
		if (!row->help || strncmp(row->name, word + 2, length) != 0)
			continue;
		count++;
		snprintf(candidates + used, sizeof(candidates) - used, " --%s", row->name);
	}
	if ((nearest && least == 0) || count == 1)
		cli_usage_error("option '%s' takes no value", word);
	else if (count > 1)
		cli_usage_error("option '%s' is ambiguous:%s", word, candidates);
	else if (nearest)
		cli_error("unknown option '%s'; did you mean '--%s'?", word, nearest->name);
	else
		cli_usage_error("unknown option '%s'", word);
}

static bool has_option(const struct command *command, int id)
{
	const struct option_row *row;

	for (size_t at = 0; (row = row_at(command, &at));) {
		if (row->id == id)
			return true;
	}
	return false;
}

/* Whether the word is a long option with a single dash, "-help": letters to getopt_long(). */
static bool lacks_a_dash(const char *word)
{
	const struct option_row *row;

	for (size_t at = 0; word && *word == '-' && (row = row_at(known.command, &at));) {
		if (row->help && strcmp(row->name, word + 1) == 0)
			return true;
	}
	return false;
}

/*
 * optopt is an unknown letter, negative beyond ASCII, or the id of an option whose value is missing
 * or not allowed, or 0 for an unknown name. The word before optind is the option's, except for a
 * letter with others after it, which getopt_long() is not done with.
 */
static bool refuse_option(int found, char **argv)
{
	const char *word = argv[optind - 1];
	const char *next = argv[optind];
	bool in_next = optopt > 0 && next && strchr(next, optopt) && lacks_a_dash(next);
	const char *cluster = in_next ? next : word;
	const char letter[] = {'-', (char)optopt, '\0'};

	if (found == ':')
		cli_usage_error(
			"option '%s' needs a value", strncmp(word, "--", 2) == 0 ? word : letter);
	else if (lacks_a_dash(cluster))
		cli_error("unknown option '%s'; did you mean '-%s'?", cluster, cluster);
	else if (optopt != 0 && !has_option(known.command, optopt))
		cli_usage_error("unknown option '%s'", letter);
	else
		refuse_name(word);
	return false;
}

static bool take_color(struct cli *cli, const char *word)
{
	static const char *const words[] = {
		[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i], word) == 0) {
			cli->color = (enum color_choice)i;
			return true;
		}
	}
	cli_usage_error("--color: '%s' is not auto, always or never", word);
	return false;
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
	char names[LINE_SIZE] = "";

	if (found) {
		cli->format = found;
		return true;
	}
	for (const struct format *format = cli->command->formats; format->name; format++) {
		size_t used = strlen(names);

		snprintf(
			names + used, sizeof(names) - used, "%s%s", used ? ", " : "", format->name);
	}
	cli_usage_error("--format: '%s' is not one of %s", name, names);
	return false;
}

static bool take_option(struct cli *cli, int id, const char *value)
{
	const struct option_row *operands = operand_row(cli->command);

	switch (id) {
	case 'h':
		return cli->help = true;
	case 'V':
		return cli->version = true;
	case 'q':
		return cli->quiet = true;
	case 'v':
		return cli->verbose = true;
	case 'J':
		return take_format(cli, "json");
	case 'o':
		if (!*value) {
			cli_usage_error("--output: the file name is empty");
			return false;
		}
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
		if (operands && operands->id == id) {
			cli->operands[cli->operand_count++] = value;
			return true;
		}
		return cli->command->take(cli, id, value);
	}
}

static bool take_words(struct cli *cli, int argc, char **argv)
{
	const struct option_row *row = operand_row(cli->command);
	struct getopt_tables tables;
	int found;

	fill_tables(&tables, cli->command);
	optind = 0; /* anew, whatever was parsed before */
	while ((found = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
		if (found == '?' || found == ':')
			return refuse_option(found, argv);
		if (!take_option(cli, found, optarg))
			return false;
	}
	if (optind < argc && !cli->operand_count && !cli->command->program &&
		!cli->command->operands) {
		if (row && is_file_name(argv[optind]))
			cli_usage_error("unexpected argument '%s'; to read a file, use --%s %s",
				argv[optind], row->name, argv[optind]);
		else
			cli_usage_error("unexpected argument '%s'", argv[optind]);
		return false;
	}
	while (optind < argc)
		cli->operands[cli->operand_count++] = argv[optind++];
	return true;
}

/* Of words that were refused: the format may have a place for the message. */
static void find_format(struct cli *cli, int argc, char **argv)
{
	const struct format *format;
	struct getopt_tables tables;
	int found;

	fill_tables(&tables, cli->command);
	optind = 0;
	while ((found = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
		cli->quiet |= found == 'q';
		if (found == OPTION_FORMAT && (format = cli_find_format(cli->command, optarg)))
			cli->format = format;
	}
}

static bool take_command_line(struct cli *cli, int *argc, char **argv)
{
	if (!choose_command(cli, argc, argv))
		return false;
	known.command = cli->command;
	cli->format = cli->command->formats;
	cli->own = xcalloc(1, cli->command->size);
	cli->operands = xcalloc((size_t)*argc, sizeof(*cli->operands));
	return take_words(cli, *argc, argv);
}

bool cli_parse(struct cli *cli, const struct command *const *commands, int argc, char **argv)
{
	known.commands = commands;
	known.command = commands[0];
	*cli = (struct cli){.command = commands[0], .sysroot = "/"};
	opterr = 0;
	if (take_command_line(cli, &argc, argv))
		return true;
	find_format(cli, argc, argv);
	return false;
}

void cli_free(struct cli *cli)
{
	free(cli->own);
	free(cli->operands);
}
