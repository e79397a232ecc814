/* SPDX-License-Identifier: MIT */
/* The golden files: what was printed once, was looked at, and is to be printed again. */
#ifndef VDSOCHECK_TESTS_GOLDEN_FILE_H
#define VDSOCHECK_TESTS_GOLDEN_FILE_H

#include <stdbool.h>

/* Write the files anew instead of comparing with them. */
extern bool golden_is_writing;

/*
 * Compares what was printed with tests/golden/NAME.ENDING; the first line that differs fails
 * the test. In JSON the program's version stands as VERSION.
 */
void golden_hold(const char *name, const char *ending, const char *printed);

/* No line is longer than a terminal, none ends with a blank. */
void golden_assert_fits_terminal(const char *text);

/* A whole file, to be freed; NULL if it cannot be opened. */
char *golden_read(const char *path);

#endif
