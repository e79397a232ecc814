/* SPDX-License-Identifier: MIT */
/* Why the verdict is what it is: a table of rules over evidence and verdict. Pure. */
#ifndef VDSOCHECK_JUDGE_CAUSE_H
#define VDSOCHECK_JUDGE_CAUSE_H

#include "evidence.h"
#include "judge/verdict.h"

#define CAUSE_MAX 6
#define CAUSE_TEXT_SIZE 240
#define CAUSE_EVIDENCE_MAX 3

struct cause {
	const char *id; /* stable; static storage */
	char text[CAUSE_TEXT_SIZE];
	size_t evidence_count;
	char evidence[CAUSE_EVIDENCE_MAX][FACT_REASON_SIZE];
};

/* Writes the causes that apply, at most CAUSE_MAX, and returns how many. */
size_t cause_find(const struct evidence *evidence, enum verdict verdict,
	struct cause causes[CAUSE_MAX]);

#endif
