/* SPDX-License-Identifier: MIT */
#include "commands/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum long_only { OPTION_FORMAT = 256, OPTION_COLOR, OPTION_SYSROOT };

static const char short_options[] = "+:hVqJo:";

static const struct option long_options[] = {
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{"quiet", no_argument, NULL, 'q'},
	{"json", no_argument, NULL, 'J'},
	{"format", required_argument, NULL, OPTION_FORMAT},
	{"output", required_argument, NULL, 'o'},
	{"color", required_argument, NULL, OPTION_COLOR},
	{"sysroot", required_argument, NULL, OPTION_SYSROOT},
	{NULL, 0, NULL, 0},
};

void options_complain(const char *format, ...)
{
	va_list arguments;

	fputs("vdsocheck: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

#define SEE_HELP "; see 'vdsocheck --help'"

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
	options_complain("--color: '%s' is not auto, always or never" SEE_HELP, word);
	return false;
}

static bool take_format(const char *word, struct options *options)
{
	char names[128];

	options->format = document_find_format(word);
	if (options->format)
		return true;
	document_list_formats(names, sizeof(names), ", ");
	options_complain("--format: '%s' is not one of %s" SEE_HELP, word, names);
	return false;
}

/* getopt leaves the letter of a bad short option, and for a long one only its place. */
static bool complain_of_option(int found, char **argv)
{
	const char *word = argv[optind - 1];
	char letter[] = {'-', (char)optopt, '\0'};
	bool is_short = optopt > 0 && optopt < 256 && strncmp(word, "--", 2) != 0;

	if (found == ':')
		options_complain("option '%s' needs a value" SEE_HELP, is_short ? letter : word);
	else if (optopt > 0)
		options_complain(strchr(word, '=') ? "option '%s' takes no value" SEE_HELP
						   : "unknown option '%s'" SEE_HELP,
			is_short ? letter : word);
	else
		options_complain("unknown option '%s'" SEE_HELP, word);
	return false;
}

static bool take_option(int found, char **argv, struct options *options)
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
		options->format = document_find_format("json");
		return true;
	case 'o':
		options->output = optarg;
		return true;
	case OPTION_FORMAT:
		return take_format(optarg, options);
	case OPTION_COLOR:
		return take_color(optarg, options);
	case OPTION_SYSROOT:
		options->sysroot = optarg;
		return true;
	default:
		return complain_of_option(found, argv);
	}
}

bool options_parse(int argc, char **argv, struct options *options)
{
	int found;

	*options = (struct options){
		.format = document_find_format("text"), .sysroot = "/", .color = COLOR_AUTO};
	opterr = 0;
	while ((found = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		if (!take_option(found, argv, options))
			return false;
	}
	if (optind < argc) {
		options_complain("unexpected word '%s'" SEE_HELP, argv[optind]);
		return false;
	}
	return true;
}
