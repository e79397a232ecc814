/* SPDX-License-Identifier: MIT */
/*
 * The command line. Options may stand before or after the command, so the command is found first;
 * then one walk over the words takes its options and operands, as getopt_long(3) would. What it
 * does not say is needed for messages: which word it was, and why it was refused. Messages and
 * --help come from the same rows.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "driver.h"

#define LINE_SIZE 4096

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

/* The error messages need it, and may come from anywhere below. */
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
 * that have it. It is a name, which may be abbreviated, or a letter if that is NULL; a whole name
 * decides over its extensions.
 */
static bool takes_value(int letter, const char *name)
{
	const struct option_row *row;
	bool takes = false;

	for (size_t i = 0; known.commands[i]; i++) {
		for (size_t at = 0; (row = row_at(known.commands[i], &at));) {
			if (name ? strcmp(name, row->name) == 0 : row->id == letter)
				return row->argument != NULL;
			takes |= name && row->argument &&
			         strncmp(name, row->name, strlen(name)) == 0;
		}
	}
	return takes;
}

static const struct option_row *find_letter(const struct command *command, int letter)
{
	const struct option_row *row;

	for (size_t at = 0; (row = row_at(command, &at));) {
		if (row->id == letter)
			break;
	}
	return row;
}

/* True if the value of the option in this word is the next word. */
static bool takes_next(const char *word)
{
	if (word[1] == '-')
		return !strchr(word, '=') && takes_value(0, word + 2);
	for (const char *letter = word + 1; *letter; letter++) {
		if (takes_value((unsigned char)*letter, NULL))
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

	/* git(1) takes "help help" and "version" in the same way. */
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

/* The words after the command's name; `at` is the one that is looked at. */
struct words {
	int count, at;
	char **list;
	bool failed; /* after the first mistake: for the options that say how it is reported */
};

/* The first command that has an option of this name; NULL if none has. */
static const struct command *find_owner(struct span name)
{
	const struct option_row *row;

	for (size_t i = 0; known.commands[i]; i++) {
		for (size_t at = 0; (row = row_at(known.commands[i], &at));) {
			if (row->help && !is_common(row) && text_equals(name, row->name))
				return known.commands[i];
		}
	}
	return NULL;
}

/* The row with this name, or the only one that it abbreviates; NULL after an error message. */
static const struct option_row *find_name(const struct words *words, struct span name)
{
	const struct option_row *row, *found = NULL, *nearest = NULL;
	const struct command *other;
	char candidates[LINE_SIZE] = "", word[64];
	unsigned least = UINT_MAX, count = 0;

	text_copy_span(word, sizeof(word), name);
	for (size_t at = 0; (row = row_at(known.command, &at));) {
		if (text_equals(name, row->name))
			return row;
		if (is_misspelling(word, row->name, &least))
			nearest = row;
		if (!row->help || strncmp(row->name, name.at, name.length) != 0)
			continue;
		found = row;
		count++;
		text_append(candidates, sizeof(candidates), " --%s", row->name);
	}
	if (count == 1 || words->failed)
		return count == 1 ? found : NULL;
	if (count > 1)
		cli_usage_error(
			"option '--%.*s' is ambiguous:%s", (int)name.length, name.at, candidates);
	else if ((other = find_owner(name)))
		cli_usage_error("option '--%.*s' is one of 'vdsocheck %s', not of 'vdsocheck %s'",
			(int)name.length, name.at, other->name, known.command->name);
	else if (nearest)
		cli_error("unknown option '--%.*s'; did you mean '--%s'?", (int)name.length,
			name.at, nearest->name);
	else
		cli_usage_error("unknown option '--%.*s'", (int)name.length, name.at);
	return NULL;
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
	for (const struct format *format = cli->command->formats; format->name; format++)
		text_append(names, sizeof(names), "%s%s", *names ? ", " : "", format->name);
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

/* `text` is NULL for an option without a value. */
static void apply_option(
	struct cli *cli, struct words *words, const struct option_row *row, const char *text)
{
	const char *value = text ? text : "";
	const struct format *format;

	if (!words->failed) {
		words->failed = !take_option(cli, row->id, value);
	} else if (row->id == 'q') {
		cli->quiet = true;
	} else if (row->id == OPTION_FORMAT) {
		format = cli_find_format(cli->command, value);
		cli->format = format ? format : cli->format;
	}
}

/* The value of an option that needs one: what stands behind it in its word, or the next word. */
static const char *take_value(struct words *words, const char *option, const char *behind)
{
	if (behind)
		return behind;
	if (words->at + 1 < words->count)
		return words->list[++words->at];
	if (!words->failed)
		cli_usage_error("option '%s' needs a value", option);
	words->failed = true;
	return NULL;
}

static void take_long(struct cli *cli, struct words *words)
{
	const char *word = words->list[words->at];
	const char *sign = strchr(word, '='), *value = sign ? sign + 1 : NULL;
	struct span name = {word + 2, strcspn(word + 2, "=")};
	const struct option_row *row = find_name(words, name);

	if (row && !row->argument && value && !words->failed)
		cli_usage_error("option '%s' takes no value", word);
	if (!row || (!row->argument && value))
		words->failed = true;
	else if (!row->argument || (value = take_value(words, word, value)))
		apply_option(cli, words, row, value);
}

/* "-Jo FILE", "-JoFILE" */
static void take_letters(struct cli *cli, struct words *words)
{
	for (const char *letter = words->list[words->at] + 1; *letter; letter++) {
		const char option[] = {'-', *letter, '\0'};
		const struct option_row *row = find_letter(cli->command, (unsigned char)*letter);
		const char *value = NULL;

		if (!row && !words->failed)
			cli_usage_error("unknown option '%s'", option);
		if (!row)
			words->failed = true;
		else if (row->argument)
			value = take_value(words, option, letter[1] ? letter + 1 : NULL);
		if (row && (!row->argument || value))
			apply_option(cli, words, row, value);
		if (row && row->argument)
			return;
	}
}

static bool take_words(struct cli *cli, struct words *words)
{
	const struct option_row *files = operand_row(cli->command);
	bool takes_operands = cli->command->program || cli->command->operands;
	const char *operand = NULL;
	size_t operands = 0;
	bool ended = false;

	for (words->at = 1; words->at < words->count; words->at++) {
		const char *word = words->list[words->at];

		if (!ended && strcmp(word, "--") == 0) {
			ended = true;
		} else if (ended || word[0] != '-' || !word[1]) {
			operand = operand ? operand : word;
			cli->operands[cli->operand_count++] = word;
			operands++;
			ended = ended || cli->command->program;
		} else if (word[1] == '-') {
			take_long(cli, words);
		} else {
			take_letters(cli, words);
		}
	}
	/* Operands alone, without the option that they are further values of. */
	if (words->failed || !operand || takes_operands || operands < cli->operand_count)
		return !words->failed;
	if (files && is_file_name(operand))
		cli_usage_error("unexpected argument '%s'; to read a file, use --%s %s", operand,
			files->name, operand);
	else
		cli_usage_error("unexpected argument '%s'", operand);
	return false;
}

bool cli_parse(struct cli *cli, const struct command *const *commands, int argc, char **argv)
{
	struct words words = {.list = argv};

	known.commands = commands;
	known.command = commands[0];
	*cli = (struct cli){.command = commands[0], .sysroot = "/"};
	words.failed = !choose_command(cli, &argc, argv);
	words.count = argc;
	known.command = cli->command;
	cli->format = cli->command->formats;
	cli->own = xcalloc(1, cli->command->size);
	cli->operands = xcalloc((size_t)argc + 1, sizeof(*cli->operands));
	return take_words(cli, &words);
}

void cli_free(struct cli *cli)
{
	free(cli->own);
	free(cli->operands);
}
