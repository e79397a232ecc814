/* SPDX-License-Identifier: MIT */
/* How every command ends: with its output written whole, or with a complaint. */
#ifndef VDSOCHECK_CLI_EMIT_H
#define VDSOCHECK_CLI_EMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"

/* The exit status of bad usage, of output that could not be written, of what is not known. */
/* Until compare has a row of its own. */
#undef EXIT_TROUBLE
#define EXIT_TROUBLE 2

/* Writes to the file or stream that the options name. False after one line of complaint. */
bool emit_bytes(const struct options *options, const char *bytes, size_t length);

/* Whether the output is to have colour: a file is no terminal, whatever standard output is. */
bool emit_wants_color(const struct options *options);

/*
 * If the options ask for help or the version, prints it to standard output, sets *status to
 * the exit status and returns true: the command has nothing more to do.
 */
bool emit_information(const struct options *options, const char *help, int *status);

#endif
