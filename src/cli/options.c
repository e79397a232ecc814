/* SPDX-License-Identifier: MIT */
/*
 * Parses the command line. Options may stand before or after the command, so the words are first
 * split into options with their values, operands and the command, then applied to the command.
 * getopt_long(3) does not report which word it refused and why, as the messages do. These and
 * --help come from the same rows.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

/* Error messages need these, and may come from anywhere below. */
static struct {
	const struct command *const *commands;
	const struct command *command;
} context;

bool is_common(const struct option_row *row)
{
	return row >= common && row < common + ARRAY_SIZE(common);
}

const struct option_row *row_at(const struct command *command, size_t *at)
{
	size_t own_count = 0;

	/* The first command is not NULL. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	while (command->options && command->options[own_count].name)
		own_count++;
	if (*at < own_count)
		return &command->options[(*at)++];
	if (common[*at - own_count].id == 'v' && command->never_verbose)
		++*at;
	if (!common[*at - own_count].name)
		return NULL;
	return &common[(*at)++ - own_count];
}

bool cli_usage_error(const char *format, ...)
{
	char line[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	return cli_error("%s; see 'vdsocheck %s --help'", line, context.command->name);
}

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

/* ---- splitting the words ---- */

/* An option with its value, or an operand. */
struct item {
	const char *word; /* "--name" or "--name=value", or the operand */
	char letter[3];   /* "-x"; empty: not an option of one letter */
	bool is_operand;
	const char *value; /* value of the option; NULL: none */
};

struct items {
	struct item *list;
	size_t count, room;
};

static void add_item(struct items *items, struct item item)
{
	items->list = array_grow(items->list, items->count, &items->room, sizeof(item));
	items->list[items->count++] = item;
}

static struct span item_name(const struct item *item)
{
	return (struct span){item->word + 2, strcspn(item->word + 2, "=")};
}

enum match { MATCH_NONE, MATCH_ABBREVIATION, MATCH_WHOLE };

static enum match match_row(const struct option_row *row, const struct item *item)
{
	struct span name = item_name(item);

	if (*item->letter ? row->id == (unsigned char)item->letter[1]
			  : text_equals(name, row->name))
		return MATCH_WHOLE;
	return !*item->letter && row->help && strncmp(row->name, name.at, name.length) == 0
	               ? MATCH_ABBREVIATION
	               : MATCH_NONE;
}

/* Returns the row of the letter or the name, or the only row that the name abbreviates, or NULL. */
static const struct option_row *find_row(const struct command *command, const struct item *item)
{
	const struct option_row *row, *found = NULL;
	unsigned count = 0;

	for (size_t at = 0; (row = row_at(command, &at));) {
		enum match match = match_row(row, item);

		if (match == MATCH_WHOLE)
			return row;
		if (match == MATCH_ABBREVIATION) {
			found = row;
			count++;
		}
	}
	return count == 1 ? found : NULL;
}

/*
 * Returns true if the option takes a value in this command or, if that is NULL or lacks the option,
 * in any: it has the same meaning in all. A whole name decides over its extensions.
 */
static bool takes_value(const struct command *command, const struct item *item)
{
	const struct option_row *row = command ? find_row(command, item) : NULL;
	bool takes = false;

	if (row)
		return row->argument != NULL;
	for (size_t i = 0; context.commands[i]; i++) {
		for (size_t at = 0; (row = row_at(context.commands[i], &at));) {
			enum match match = match_row(row, item);

			if (match == MATCH_WHOLE)
				return row->argument != NULL;
			takes |= match == MATCH_ABBREVIATION && row->argument;
		}
	}
	return takes;
}

/*
 * Returns true if the first operand is the command, "help" or "version", of which several may stand
 * in a row, as in git(1).
 */
static bool take_command(struct cli *cli, const char *word)
{
	if (strcmp(word, "help") == 0)
		return cli->help = true;
	if (strcmp(word, "version") == 0)
		return cli->version = true;
	for (size_t i = 0; context.commands[i]; i++) {
		if (strcmp(context.commands[i]->name, word) == 0) {
			cli->command = context.commands[i];
			return cli->named = true;
		}
	}
	return false;
}

/*
 * Splits the words, of this command if it is known. The list `argv` ends with NULL, which is the
 * value of a last option that lacks one.
 */
static void split_words(
	struct cli *cli, struct items *items, const struct command *command, int argc, char **argv)
{
	bool ended = false, has_operand = false;

	items->count = 0;
	cli->named = false;
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i], *sign = strchr(word, '=');
		struct item item = {.word = word};

		if (!ended && strcmp(word, "--") == 0) {
			ended = true;
		} else if (ended || word[0] != '-' || !word[1]) {
			if (!cli->named && !has_operand && take_command(cli, word))
				continue;
			item.is_operand = has_operand = true;
			add_item(items, item);
			ended = ended || cli->command->program;
		} else if (word[1] == '-') {
			if (sign)
				item.value = sign + 1;
			else if (takes_value(command, &item))
				item.value = argv[++i];
			add_item(items, item);
		} else {
			/* "-Jo FILE", "-JoFILE" */
			for (const char *letter = word + 1, *next; *letter; letter = next) {
				next = letter + 1;
				item.letter[0] = '-';
				item.letter[1] = *letter;
				if (takes_value(command, &item)) {
					item.value = *next ? next : argv[++i];
					next = "";
				}
				add_item(items, item);
			}
		}
	}
}

/* ---- applying them ---- */

/* Reports why find_row() finds no row. */
static bool refuse_option(const struct item *item)
{
	const struct option_row *row, *nearest = NULL;
	const struct command *owner = NULL;
	const struct span name = item_name(item);
	char candidates[LINE_SIZE] = "";
	unsigned least = UINT_MAX;

	if (*item->letter)
		return cli_usage_error("unknown option '%s'", item->letter);
	for (size_t at = 0; (row = row_at(context.command, &at));) {
		if (is_misspelling(name, row->name, &least))
			nearest = row;
		if (match_row(row, item) == MATCH_ABBREVIATION)
			text_append(candidates, sizeof(candidates), " --%s", row->name);
	}
	for (size_t i = 0; context.commands[i] && !owner; i++) {
		for (size_t at = 0; (row = row_at(context.commands[i], &at));) {
			if (row->help && !is_common(row) && match_row(row, item) == MATCH_WHOLE)
				owner = context.commands[i];
		}
	}
	if (*candidates)
		return cli_usage_error(
			"option '--%.*s' is ambiguous:%s", (int)name.length, name.at, candidates);
	if (owner)
		return cli_usage_error(
			"option '--%.*s' is one of 'vdsocheck %s', not of 'vdsocheck %s'",
			(int)name.length, name.at, owner->name, context.command->name);
	if (nearest)
		return cli_error("unknown option '--%.*s'; did you mean '--%s'?", (int)name.length,
			name.at, nearest->name);
	return cli_usage_error("unknown option '--%.*s'", (int)name.length, name.at);
}

static bool take_color(struct cli *cli, const char *word)
{
	if (strcmp(word, "auto") == 0)
		cli->color = COLOR_AUTO;
	else if (strcmp(word, "always") == 0)
		cli->color = COLOR_ALWAYS;
	else if (strcmp(word, "never") == 0)
		cli->color = COLOR_NEVER;
	else
		return cli_usage_error("--color: '%s' is not auto, always or never", word);
	return true;
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
	return cli_usage_error("--format: '%s' is not one of %s", name, names);
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
		if (operands && operands->id == id) {
			cli->operands[cli->operand_count++] = value;
			return true;
		}
		return cli->command->take(cli, id, value);
	}
}

static bool apply_option(struct cli *cli, const struct item *item)
{
	const char *shown = *item->letter ? item->letter : item->word;
	const struct option_row *row = find_row(cli->command, item);

	if (!row)
		return refuse_option(item);
	if (row->argument && !item->value)
		return cli_usage_error("option '%s' needs a value", shown);
	if (!row->argument && item->value)
		return cli_usage_error("option '%s' takes no value", shown);
	return take_option(cli, row->id, item->value ? item->value : "");
}

/* Returns the word that may follow "help" beside commands, by its place; NULL: no more. */
static const char *topic_at(size_t place)
{
	return context.commands[0]->topic ? context.commands[0]->topic(place) : NULL;
}

static const char *find_topic(const char *word)
{
	const char *topic;

	for (size_t i = 0; (topic = topic_at(i)) && strcmp(topic, word) != 0; i++)
		;
	return topic;
}

/* If the command was not named, the operand was meant as its name. */
static bool refuse_operand(const struct cli *cli, const char *word)
{
	static const char *const more_commands[] = {"help", "version"};
	const struct option_row *files = operand_row(cli->command);
	bool named = cli->named || cli->topic;
	const char *problem = named       ? "unexpected argument"
	                      : cli->help ? "no help for"
	                                  : "unknown command";
	struct span name = text_span(word);
	const char *nearest = NULL, *topic;
	unsigned least = UINT_MAX;

	for (size_t i = 0; context.commands[i] && !named; i++) {
		if (is_misspelling(name, context.commands[i]->name, &least))
			nearest = context.commands[i]->name;
	}
	for (size_t i = 0; i < ARRAY_SIZE(more_commands) && !named; i++) {
		if (is_misspelling(name, more_commands[i], &least))
			nearest = more_commands[i];
	}
	for (size_t i = 0; cli->help && !named && (topic = topic_at(i)); i++) {
		if (is_misspelling(name, topic, &least))
			nearest = topic;
	}
	if (nearest)
		return cli_error("%s '%s'; did you mean '%s'?", problem, word, nearest);
	if (files && (strchr(word, '/') || (text_take_suffix(&name, ".json") && name.length)))
		return cli_usage_error(
			"%s '%s'; to read a file, use --%s %s", problem, word, files->name, word);
	if (named)
		return cli_usage_error("unexpected argument '%s'", word);
	return cli_error("%s '%s'; see 'vdsocheck --help'", problem, word);
}

static bool apply_items(struct cli *cli, const struct items *items)
{
	const struct option_row *files = operand_row(cli->command);
	bool takes_operands = cli->command->program || cli->command->operands, failed;
	const struct format *format;
	const struct option_row *row;
	const char *operand = NULL;

	for (size_t i = 0; i < items->count; i++) {
		const struct item *item = &items->list[i];

		if (!item->is_operand)
			takes_operands |= files && find_row(cli->command, item) == files;
		else if (!operand && cli->help && !cli->named && !cli->topic &&
			 find_topic(item->word))
			cli->topic = item->word;
		else if (!operand)
			operand = item->word;
	}
	failed = operand && !takes_operands && !cli->named && !refuse_operand(cli, operand);
	for (size_t i = 0; i < items->count; i++) {
		const struct item *item = &items->list[i];

		if (item->is_operand)
			cli->operands[cli->operand_count++] = item->word;
		else if (!failed)
			failed = !apply_option(cli, item);
		/* After a mistake only those count that decide how it is reported. */
		else if ((row = find_row(cli->command, item)) && row->id == 'q')
			cli->quiet = true;
		else if (row && row->id == OPTION_FORMAT && item->value &&
			 (format = cli_find_format(cli->command, item->value)))
			cli->format = format;
	}
	return !failed && (!operand || takes_operands || refuse_operand(cli, operand));
}

bool cli_parse(struct cli *cli, const struct command *const *commands, int argc, char **argv)
{
	struct items items = {.list = NULL};
	bool parsed;

	context.commands = commands;
	context.command = commands[0];
	*cli = (struct cli){.command = commands[0], .sysroot = "/"};
	split_words(cli, &items, NULL, argc, argv);
	/* The command's own options decide what an abbreviation means. */
	split_words(cli, &items, cli->command, argc, argv);
	context.command = cli->command;
	cli->format = cli->command->formats;
	cli->duration_ns = cli->command->duration_ns;
	cli->data = xcalloc(1, cli->command->size);
	cli->operands = xcalloc(items.count + 1, sizeof(*cli->operands));
	parsed = apply_items(cli, &items);
	free(items.list);
	return parsed;
}

void cli_free(struct cli *cli)
{
	free(cli->data);
	free(cli->operands);
}
