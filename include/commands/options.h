/* SPDX-License-Identifier: MIT */
/* The command line: the same option means the same in every command. */
#ifndef VDSOCHECK_COMMANDS_OPTIONS_H
#define VDSOCHECK_COMMANDS_OPTIONS_H

#include <stdbool.h>

#include "base/terminal.h"
#include "render/document.h"

/* Bad usage, output that could not be written, and what settles nothing. */
#define EXIT_TROUBLE 2

struct options {
	bool help;
	bool version;
	bool quiet;
	const struct document_format *format;
	const char *output;  /* NULL: standard output */
	const char *sysroot; /* "/" is this host */
	enum color_choice color;
};

/*
 * Reads the words after the command's name; argv[0] is skipped. False on bad usage, after
 * one line on standard error that names the wrong word.
 */
bool options_parse(int argc, char **argv, struct options *options);

/* One line on standard error: "vdsocheck: ...". */
void options_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
