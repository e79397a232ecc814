/* SPDX-License-Identifier: MIT */
/* The commands, for main.c: each takes argv from its own name on and returns the exit status. */
#ifndef VDSOCHECK_COMMANDS_H
#define VDSOCHECK_COMMANDS_H

int check_run(int argc, char **argv);
int bench_run(int argc, char **argv);
int warp_run(int argc, char **argv);
int compare_run(int argc, char **argv);

#endif
