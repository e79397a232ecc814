/* SPDX-License-Identifier: MIT */
/* Whether what we print is read on a terminal, and whether it wants colour. */
#ifndef VDSOCHECK_CLI_TERMINAL_H
#define VDSOCHECK_CLI_TERMINAL_H

#include <stdbool.h>

#include "cli/command.h"

#endif
