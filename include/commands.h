/* SPDX-License-Identifier: MIT */
/* The commands, for main.c. */
#ifndef VDSOCHECK_COMMANDS_H
#define VDSOCHECK_COMMANDS_H

#include "cli/command.h"

extern const struct command check_command;
extern const struct command bench_command;
extern const struct command warp_command;
extern const struct command compare_command;
extern const struct command trace_command;
extern const struct command watch_command;
extern const struct command fleet_command;

#endif
