/* SPDX-License-Identifier: MIT */
/* vdsocheck: the list of commands. The first is the default. */
#include "commands.h"

static const struct command compare_command = {
	.name = "compare",
	.summary = "try each clocksource and restore the original one (root)",
	.legacy = compare_run,
};

int main(int argc, char **argv)
{
	static const struct command *const commands[] = {
		&check_command,
		&bench_command,
		&warp_command,
		&compare_command,
		NULL,
	};

	return cli_run(commands, argc, argv);
}
