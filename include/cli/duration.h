/* SPDX-License-Identifier: MIT */
/* The option -d, --duration SECONDS of the commands that take their time. */
#ifndef VDSOCHECK_CLI_DURATION_H
#define VDSOCHECK_CLI_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* A row of own_options. */
#define DURATION_OPTION                                                                            \
	{                                                                                          \
		'd', "duration", true                                                              \
	}

/*
 * Seconds, whole or with a fraction ("2", "0.5"), from 0.01 to 86400, as nanoseconds. False
 * after one line of complaint.
 */
bool duration_take(const char *word, int64_t *ns);

#endif
