/* SPDX-License-Identifier: MIT */
/* Why the verdict is what it is. */
#ifndef VDSOCHECK_JUDGE_CAUSE_H
#define VDSOCHECK_JUDGE_CAUSE_H

#include <stddef.h>

#define CAUSE_MAX 6
#define CAUSE_EVIDENCE_MAX 4
#define CAUSE_EVIDENCE_SIZE 256

enum certainty {
	CERTAINTY_POSSIBLE, /* fits, as other things would */
	CERTAINTY_LIKELY,   /* fits, and little else would */
	CERTAINTY_PROVEN,   /* measured, or said by the kernel itself */
};

/* With the verdict ok a cause is a note, not a fault. All texts but the evidence are static. */
struct cause {
	const char *id;   /* stable */
	const char *text; /* one sentence */
	enum certainty certainty;
	const char *more; /* where to read on: a manual page or an address; NULL: nowhere */
	size_t evidence_count;
	char evidence[CAUSE_EVIDENCE_MAX][CAUSE_EVIDENCE_SIZE];
};

/* "possible", "likely", "proven"; of all, ended by NULL. */
extern const char *const cause_certainty_names[];
const char *cause_certainty_name(enum certainty certainty);

#endif
