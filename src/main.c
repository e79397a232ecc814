/* SPDX-License-Identifier: MIT */
/* vdsocheck: the list of commands. The first is the default. */
#include "commands.h"

int main(int argc, char **argv)
{
	static const struct command *const commands[] = {
		&check_command,
		&bench_command,
		&warp_command,
		&compare_command,
		&trace_command,
		&watch_command,
		&fleet_command,
		NULL,
	};

	return cli_run(commands, argc, argv);
}
