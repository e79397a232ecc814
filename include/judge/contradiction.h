/* SPDX-License-Identifier: MIT */
/* Where witnesses speak against each other: the report says so, whatever the verdict. Pure. */
#ifndef VDSOCHECK_JUDGE_CONTRADICTION_H
#define VDSOCHECK_JUDGE_CONTRADICTION_H

#include "evidence.h"

#define CONTRADICTION_MAX 6
#define CONTRADICTION_TEXT_SIZE 240

struct contradiction {
	const char *id; /* stable; static storage */
	char text[CONTRADICTION_TEXT_SIZE];
};

/* Writes those that are seen, at most CONTRADICTION_MAX, and returns how many. */
size_t contradiction_find(
	const struct evidence *evidence, struct contradiction found[CONTRADICTION_MAX]);

/* One of those that are seen, if any, may come from a clocksource that changed meanwhile. */
bool contradiction_may_be_a_change(const struct evidence *evidence);

/* The id of the rule at this place of the table; NULL beyond the last. */
const char *contradiction_rule_id(size_t place);

#endif
