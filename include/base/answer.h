/* SPDX-License-Identifier: MIT */
/*
 * An answer of a command, such as a verdict. A table of them is the only statement of their words,
 * colors, exit statuses and meanings: screens, documents, schemas, metrics and --help take them
 * from it.
 */
#ifndef VDSOCHECK_BASE_ANSWER_H
#define VDSOCHECK_BASE_ANSWER_H

/* Escape sequences: bold or a color, mostly both, and the end of it. */
#define COLOR_BOLD "\033[1m"
#define COLOR_DIM "\033[2m"
#define COLOR_RED "\033[1;31m"
#define COLOR_GREEN "\033[1;32m"
#define COLOR_YELLOW "\033[33m" /* bold would be unreadable on a light background */
#define COLOR_MAGENTA "\033[1;35m"
#define COLOR_RESET "\033[0m"

/* The exit status is that of what was run, whatever the answer. */
#define STATUS_OF_RUN (-1)

/* A table of these ends with {0}. */
struct answer {
	const char *word;  /* as in documents; a heading has it in capitals */
	const char *color; /* NULL: the screen has the sentence alone */
	int status;
	const char *meaning; /* for --help and the schema */
};

#endif
