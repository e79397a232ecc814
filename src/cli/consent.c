/* SPDX-License-Identifier: MIT */
#include "cli/consent.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/options.h"

bool consent_ask(void)
{
	char answer[64];

	if (!isatty(STDIN_FILENO)) {
		options_complain("nobody can be asked: give --yes if that is wanted");
		return false;
	}
	fputs("Go on? [y/N] ", stderr);
	fflush(stderr);
	if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
		return true;
	options_complain("nothing was changed");
	return false;
}
