/* SPDX-License-Identifier: MIT */
/* The list of commands, from which the completions of shells are made, too. */
#include "commands.h"

#include <stddef.h>

const struct command *const command_list[] = {
	&check_command,
	&bench_command,
	&warp_command,
	&compare_command,
	&trace_command,
	NULL,
};
