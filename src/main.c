/* SPDX-License-Identifier: MIT */
/* vdsocheck. */
#include "commands.h"

int main(int argc, char **argv)
{
	return cli_run(command_list, argc, argv);
}
