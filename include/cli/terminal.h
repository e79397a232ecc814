/* SPDX-License-Identifier: MIT */
/* Whether what we print is read on a terminal, and whether it wants colour. */
#ifndef VDSOCHECK_CLI_TERMINAL_H
#define VDSOCHECK_CLI_TERMINAL_H

#include <stdbool.h>

enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/*
 * With COLOR_AUTO: colour if standard output is a terminal that is not "dumb" and the
 * environment does not hold a non-empty NO_COLOR.
 */
bool terminal_wants_color(enum color_choice choice);

#endif
