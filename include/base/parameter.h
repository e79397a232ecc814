/* SPDX-License-Identifier: MIT */
/*
 * Takes a kernel command line apart as the kernel does: next_arg() of lib/cmdline.c, parse_args()
 * of kernel/params.c, and obsolete_checksetup() and do_early_param() of init/main.c, the same in
 * 3.10 to 7.3.
 */
#ifndef VDSOCHECK_BASE_PARAMETER_H
#define VDSOCHECK_BASE_PARAMETER_H

#include "base/text.h"

/* A word of the line; the others are parts of it. */
struct parameter {
	struct span word;        /* as it is written, with its quotation marks */
	struct span name, value; /* without them; the value is empty where there is none */
	bool has_value;          /* there is a "=" */
};

/*
 * Takes the next one off the front of the line: blanks between quotation marks do not end it.
 * Returns false at the end, or at "--", behind which stand the arguments of init.
 */
bool parameter_next(struct span *line, struct parameter *parameter);

/* Returns true if it is one that concerns clocks, by the table of parameter.c. */
bool parameter_is_of_clocks(const struct parameter *parameter);

/* Returns true if the kernel takes it for the one of this name, which the table has. */
bool parameter_is(const struct parameter *parameter, const char *name);

#endif
