/* SPDX-License-Identifier: MIT */
/* One line on standard error that says how far a command is; only on a terminal. */
#ifndef VDSOCHECK_CLI_PROGRESS_H
#define VDSOCHECK_CLI_PROGRESS_H

#include <stdbool.h>

struct progress {
	bool shown; /* standard error is a terminal, and nobody asked for quiet */
	const char *doing;
	int percent; /* as last shown */
};

/* `doing` is kept, not copied. */
struct progress progress_start(const char *doing, bool quiet);

/* With the part done, 0 to 1; `progress` is a struct progress. */
void progress_show(void *progress, double done);

/* Takes the line away. */
void progress_end(struct progress *progress);

#endif
