/* SPDX-License-Identifier: MIT */
/* Which of the clocksources that a host offers a command is to try. */
#ifndef VDSOCHECK_COMPARE_SELECTION_H
#define VDSOCHECK_COMPARE_SELECTION_H

#include <stdbool.h>

#include "evidence.h"

struct selection {
	size_t count;
	char names[CLOCKSOURCE_MAX][CLOCKSOURCE_NAME_SIZE];
};

/*
 * `only` is a list parted by commas, each name once in the order given; NULL takes all that
 * are offered. False, after a complaint, if it names none or one that is not offered.
 */
bool selection_make(
	struct selection *selection, const struct clocksource_evidence *offered, const char *only);

#endif
