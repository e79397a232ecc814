/* SPDX-License-Identifier: MIT */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_capable(const char *term)
{
	return term && strcmp(term, "") != 0 && strcmp(term, "dumb") != 0;
}

bool terminal_wants_color(enum color_choice choice)
{
	const char *no_color = getenv("NO_COLOR");

	if (choice != COLOR_AUTO)
		return choice == COLOR_ALWAYS;
	if (no_color && *no_color)
		return false;
	return isatty(STDOUT_FILENO) && is_capable(getenv("TERM"));
}
