/* SPDX-License-Identifier: MIT */
/*
 * The command line: options that all commands share and mean the same in each, and a table
 * of its own for the command that has more.
 */
#ifndef VDSOCHECK_CLI_OPTIONS_H
#define VDSOCHECK_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/terminal.h"

struct options {
	bool help;
	bool version;
	bool quiet;
	const char *format;  /* as it was given: which there are is the command's to know */
	const char *output;  /* NULL: standard output */
	const char *sysroot; /* "/" is this host */
	enum color_choice color;
};

/* An option of one command only. */
struct own_option {
	int id;           /* its letter, or a number from OWN_OPTION_FIRST on if it has none */
	const char *name; /* without the dashes */
	bool takes_value;
};

#define OWN_OPTION_FIRST 1000

/* `take` stores the value and returns false, after a complaint, if it makes no sense. */
struct own_options {
	const char *command; /* whose --help tells of them; NULL: the default command's */
	const struct own_option *rows;
	size_t count;
	bool (*take)(int id, const char *value, void *into);
	void *into;
	/* The words after the options, one by one; NULL: the command takes none. */
	bool (*take_word)(const char *word, void *into);
};

/*
 * Reads the words after the command's name; argv[0] is skipped. `own` may be NULL. False on
 * bad usage, after one line on standard error that names the wrong word.
 */
bool options_parse(int argc, char **argv, struct options *options, const struct own_options *own);

/* One line on standard error: "vdsocheck: ...". */
void options_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * The same about bad usage: ends with the --help to see, that of the command whose options
 * were parsed last.
 */
void options_complain_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
