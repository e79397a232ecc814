/* SPDX-License-Identifier: MIT */
/* vdsocheck bench: what calls for the time cost, by every way, and what that is made of. */
#ifndef VDSOCHECK_COMMANDS_BENCH_H
#define VDSOCHECK_COMMANDS_BENCH_H

/* Takes argv from the command's place on; returns the exit status. */
int bench_run(int argc, char **argv);

#endif
