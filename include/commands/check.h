/* SPDX-License-Identifier: MIT */
/* vdsocheck check, the default: is the clock of this host fast, why, what to do. */
#ifndef VDSOCHECK_COMMANDS_CHECK_H
#define VDSOCHECK_COMMANDS_CHECK_H

/* Takes argv from the command's place on; returns the exit status. */
int check_run(int argc, char **argv);

#endif
