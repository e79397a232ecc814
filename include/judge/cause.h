/* SPDX-License-Identifier: MIT */
/* Why the verdict is what it is: a table of rules over evidence and verdict. Pure. */
#ifndef VDSOCHECK_JUDGE_CAUSE_H
#define VDSOCHECK_JUDGE_CAUSE_H

#include "evidence.h"
#include "judge/verdict.h"

#define CAUSE_MAX 6
#define CAUSE_EVIDENCE_MAX 4
#define CAUSE_EVIDENCE_SIZE 256

enum certainty {
	CERTAINTY_POSSIBLE, /* fits, as other things would */
	CERTAINTY_LIKELY,   /* fits, and little else would */
	CERTAINTY_PROVEN,   /* measured, or said by the kernel itself */
};

/* All texts but the evidence have static storage. */
struct cause {
	const char *id;   /* stable */
	const char *text; /* one sentence */
	enum certainty certainty;
	const char *more; /* where to read on: a manual page or an address; NULL: nowhere */
	size_t evidence_count;
	char evidence[CAUSE_EVIDENCE_MAX][CAUSE_EVIDENCE_SIZE];
};

/*
 * Writes the causes that apply, at most CAUSE_MAX, and returns how many: first what makes the
 * calls slow, then what led to it. With the verdict ok they are notes, not faults.
 */
size_t cause_find(
	const struct evidence *evidence, enum verdict verdict, struct cause causes[CAUSE_MAX]);

/* "possible", "likely", "proven". */
const char *cause_certainty_name(enum certainty certainty);

#endif
