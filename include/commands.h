/* SPDX-License-Identifier: MIT */
/* The commands. */
#ifndef VDSOCHECK_COMMANDS_H
#define VDSOCHECK_COMMANDS_H

#include "cli/command.h"

extern const struct command check_command;
extern const struct command bench_command;
extern const struct command warp_command;
extern const struct command compare_command;
extern const struct command trace_command;

/* All of them, ended by NULL; the first is the default. */
extern const struct command *const command_list[];

#endif
