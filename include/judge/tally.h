/* SPDX-License-Identifier: MIT */
/* The proof's counts of the deciding calls, added up. Pure. */
#ifndef VDSOCHECK_JUDGE_TALLY_H
#define VDSOCHECK_JUDGE_TALLY_H

#include "evidence.h"

struct tally {
	unsigned calls;    /* deciding calls that have this way */
	unsigned proven;   /* of which were made at all */
	unsigned always;   /* of which every attempt entered the kernel */
	unsigned entering; /* of which at least one attempt did */
	uint32_t attempts;
	uint32_t entered;
	int signal; /* one of them ended with this signal; 0: none did */
};

/* Over the deciding calls, each by the way it is judged by. */
struct tally tally_deciding(const struct evidence *evidence);

/* Some deciding call entered the kernel in a part of its attempts only. */
bool tally_is_mixed(const struct evidence *evidence);

/* Over the deciding calls, all by one way. */
struct tally tally_by(const struct evidence *evidence, enum call_path path);

/* clock_gettime of this clock; NULL if it is not in the evidence. */
const struct call_evidence *tally_find(const struct evidence *evidence, const char *clock);

#endif
