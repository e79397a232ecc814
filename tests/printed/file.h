/* SPDX-License-Identifier: MIT */
/* Expected output: what was printed once, was looked at, and is to be printed again. */
#ifndef VDSOCHECK_TESTS_PRINTED_FILE_H
#define VDSOCHECK_TESTS_PRINTED_FILE_H

#include <stdbool.h>

/* True: write the sections anew instead of comparing with them. */
extern bool printed_is_writing;

/*
 * Compares what was printed with the section "== NAME.ENDING" of tests/printed/FORM.txt, where the
 * FORM is the NAME up to a hyphen; the first line that differs fails the test. In JSON the
 * program's version stands as VERSION.
 */
void printed_hold(const char *name, const char *ending, const char *printed);

/* No line is longer than a terminal, none ends with a blank; a screen has no more lines either. */
void printed_assert_fits_terminal(const char *text, bool screen);

#endif
