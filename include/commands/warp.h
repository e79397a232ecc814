/* SPDX-License-Identifier: MIT */
/* vdsocheck warp: do clocks run backwards between the CPUs? */
#ifndef VDSOCHECK_COMMANDS_WARP_H
#define VDSOCHECK_COMMANDS_WARP_H

/* Takes argv from the command's place on; returns the exit status. */
int warp_run(int argc, char **argv);

#endif
