/* SPDX-License-Identifier: MIT */
/* An interrupt (Ctrl-C) or a SIGTERM ends a measurement, not the program: it still reports. */
#ifndef VDSOCHECK_CLI_INTERRUPT_H
#define VDSOCHECK_CLI_INTERRUPT_H

#include <stdbool.h>

/*
 * From now on either signal sets *stop, here and in children that are forked later, for which
 * it must lie in shared memory. Who sends another one two seconds later is tired of waiting:
 * that one ends the process, as it would have without us.
 */
void interrupt_watch(volatile bool *stop);

/* From now on neither does anything: the output is written, and *stop may go. */
void interrupt_ignore(void);

#endif
