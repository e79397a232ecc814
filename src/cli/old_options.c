/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OPTION_MAX 40
#define LINE_SIZE 4096

enum common_id { OLD_FORMAT = 256, OLD_COLOR, OLD_SYSROOT };

static const struct own_option common[] = {
	{'h', "help", false},
	{'V', "version", false},
	{'q', "quiet", false},
	{'J', "json", false},
	{OLD_FORMAT, "format", true},
	{'o', "output", true},
	{OLD_COLOR, "color", true},
	{OLD_SYSROOT, "sysroot", true},
};

#define COMMON_COUNT (sizeof(common) / sizeof(common[0]))

/* The two tables that getopt_long() wants. */
struct getopt_tables {
	char letters[2 * OPTION_MAX + 2];
	struct option names[OPTION_MAX + 1];
	size_t count;
};

/* NULL: the default one. */
static const char *command_in_use;

/* Words from the command line are foreign text: one line, and nothing that moves a cursor. */
static void make_harmless(char *line)
{
	for (char *at = line; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	}
}

void options_complain(const char *format, ...)
{
	char line[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	make_harmless(line);
	fprintf(stderr, "vdsocheck: %s\n", line);
}

void options_complain_usage(const char *format, ...)
{
	const char *command = command_in_use;
	char line[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	options_complain(
		"%s; see 'vdsocheck %s%s--help'", line, command ? command : "", command ? " " : "");
}

static void add_option(struct getopt_tables *tables, const struct own_option *option)
{
	size_t end = strlen(tables->letters);

	if (tables->count == OPTION_MAX)
		return;
	tables->names[tables->count++] = (struct option){.name = option->name,
		.has_arg = option->takes_value ? required_argument : no_argument,
		.val = option->id};
	if (option->id > 255)
		return;
	tables->letters[end++] = (char)option->id;
	if (option->takes_value)
		tables->letters[end++] = ':';
}

/* "+": stop at the first word; ":": tell a missing value from an unknown option. */
static void fill_tables(struct getopt_tables *tables, const struct own_options *own)
{
	*tables = (struct getopt_tables){.letters = "+:"};
	for (size_t i = 0; i < COMMON_COUNT; i++)
		add_option(tables, &common[i]);
	for (size_t i = 0; own && i < own->count; i++)
		add_option(tables, &own->rows[i]);
}

static bool take_color(const char *word, struct options *options)
{
	static const struct {
		const char *word;
		enum color_choice choice;
	} choices[] = {{"auto", COLOR_AUTO}, {"always", COLOR_ALWAYS}, {"never", COLOR_NEVER}};

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		if (strcmp(choices[i].word, word) == 0) {
			options->color = choices[i].choice;
			return true;
		}
	}
	options_complain_usage("--color: '%s' is not auto, always or never", word);
	return false;
}

/* getopt leaves the letter of a bad short option, and for a long one only its place. */
static bool complain_of_option(int found, char **argv)
{
	const char *word = argv[optind - 1];
	char letter[] = {'-', (char)optopt, '\0'};
	bool is_short = optopt > 0 && optopt < 256 && strncmp(word, "--", 2) != 0;
	const char *wrong = is_short ? letter : word;

	if (found == ':')
		options_complain_usage("option '%s' needs a value", wrong);
	else if (optopt > 0 && !is_short && strchr(word, '='))
		options_complain_usage("option '%s' takes no value", wrong);
	else
		options_complain_usage("unknown option '%s'", wrong);
	return false;
}

static bool take_common(int found, struct options *options)
{
	switch (found) {
	case 'h':
		options->help = true;
		return true;
	case 'V':
		options->version = true;
		return true;
	case 'q':
		options->quiet = true;
		return true;
	case 'J':
		options->format = "json";
		return true;
	case 'o':
		options->output = strcmp(optarg, "-") == 0 ? NULL : optarg;
		return true;
	case OLD_FORMAT:
		options->format = optarg;
		return true;
	case OLD_COLOR:
		return take_color(optarg, options);
	default:
		options->sysroot = optarg;
		return true;
	}
}

static bool is_own(int found, const struct own_options *own)
{
	for (size_t i = 0; own && i < own->count; i++) {
		if (own->rows[i].id == found)
			return true;
	}
	return false;
}

static bool take_words(int argc, char **argv, const struct own_options *own)
{
	for (; optind < argc; optind++) {
		if (!own || !own->take_word) {
			options_complain_usage("unexpected word '%s'", argv[optind]);
			return false;
		}
		if (!own->take_word(argv[optind], own->into))
			return false;
	}
	return true;
}

bool options_parse(int argc, char **argv, struct options *options, const struct own_options *own)
{
	struct getopt_tables tables;
	int found;

	*options = (struct options){.format = "text", .sysroot = "/", .color = COLOR_AUTO};
	fill_tables(&tables, own);
	command_in_use = own ? own->command : NULL;
	opterr = 0;
	while ((found = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
		bool taken;

		if (found == '?' || found == ':')
			taken = complain_of_option(found, argv);
		else if (is_own(found, own))
			taken = own->take(found, optarg, own->into);
		else
			taken = take_common(found, options);
		if (!taken)
			return false;
	}
	return take_words(argc, argv, own);
}
