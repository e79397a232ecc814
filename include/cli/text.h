/* SPDX-License-Identifier: MIT */
/* Puts text for a terminal together, wraps it between words and aligns it behind a label. */
#ifndef VDSOCHECK_CLI_TEXT_H
#define VDSOCHECK_CLI_TEXT_H

#include <stdio.h>

#include "base/answer.h"

/* The columns of a line: 80, or the terminal's, from 50 to 100; the driver sets them. */
#define WRAP_COLUMNS 80
int wrap_columns(void);
void wrap_set_columns(int number);

/* Escape sequences of the labels, and of the texts behind them; "": none, as it is at first. */
void wrap_set_styles(const char *label, const char *text);

/* Prints "  label   ", up to the column `indent`. */
void wrap_label(FILE *out, const char *label, int indent);

/*
 * Prints "  label   text", the text from column `indent` on, further lines under the first.
 * A word longer than a line stays whole, since it may be a path to copy. An empty label continues
 * the one above.
 */
void wrap_print(FILE *out, const char *label, int indent, const char *text);

/*
 * Prints text that begins at `column`, where the line already is, and goes on at `indent` on
 * further lines; ends the last one.
 */
void wrap_text(FILE *out, int column, int indent, const char *text);

/*
 * Prints a shell command that begins at `column`, folded with a backslash at blanks where it is
 * longer than the line, so that it can still be pasted; further lines begin at `indent`. Ends the
 * last one.
 */
void wrap_command(FILE *out, int column, int indent, const char *command);

#define STRBUF_SIZE 4096

/* Text that is put together before it is wrapped. It begins as {.used = 0}. */
struct strbuf {
	char text[STRBUF_SIZE];
	size_t used;
};

/* Adds to the text, printf-like; what does not fit is cut. */
void strbuf_add(struct strbuf *sb, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
