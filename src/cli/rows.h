/* SPDX-License-Identifier: MIT */
/* All options of a command: its own, then those that every command has. */
#ifndef VDSOCHECK_CLI_ROWS_H
#define VDSOCHECK_CLI_ROWS_H

#include "cli/command.h"

/* The row at *at, which is moved on; NULL at the end. Start with 0. */
const struct option_row *row_at(const struct command *command, size_t *at);

/* The option that operands are further values of; NULL: there is none. */
const struct option_row *operand_row(const struct command *command);

#endif
