/* SPDX-License-Identifier: MIT */
/* Asks before a command changes something. */
#ifndef VDSOCHECK_CLI_CONSENT_H
#define VDSOCHECK_CLI_CONSENT_H

#include <stdbool.h>

/*
 * Asks on the terminal. True for an answer that begins with "y". False, after a complaint
 * that names --yes, if standard input is no terminal: nobody is asked.
 */
bool consent_ask(void);

#endif
