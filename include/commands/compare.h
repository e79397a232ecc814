/* SPDX-License-Identifier: MIT */
/* vdsocheck compare: tries every clocksource of this host and puts the first one back. */
#ifndef VDSOCHECK_COMMANDS_COMPARE_H
#define VDSOCHECK_COMMANDS_COMPARE_H

/* Takes argv from the command's place on; returns the exit status. */
int compare_run(int argc, char **argv);

#endif
