/* SPDX-License-Identifier: MIT */
/* Which of the clocksources that were tried is the fastest safe one. Pure. */
#ifndef VDSOCHECK_COMPARE_RANKING_H
#define VDSOCHECK_COMPARE_RANKING_H

#include "run.h"

/* How a trial came out: why its clocksource is, or is not, to be chosen. */
enum choice_state {
	CHOICE_UNTRIED = 0, /* refused, hung, crashed: see the trial's facts */
	CHOICE_UNSURE,      /* something was not measured: no proof, no times, no look for warps */
	CHOICE_WARPS,       /* a clock ran backwards */
	CHOICE_SAFE,
};

#define CHOICE_NONE ((size_t)-1)

struct choice {
	size_t best;    /* place of the fastest safe one; CHOICE_NONE */
	size_t current; /* place of the one that was in use; CHOICE_NONE if it was not tried */
};

enum choice_state choice_judge(const struct trial *trial);

/* "untried", "unsure", "warps", "safe". */
const char *choice_state_name(enum choice_state state);

/* Why it is unsure, or untried; an empty text else. */
const char *choice_reason(const struct trial *trial);

/* The mean of what the deciding calls take, in ns; 0 if they were not timed. */
double choice_price_ns(const struct trial *trial);

/* Reads that were warps, over all clocks. */
uint64_t choice_warps(const struct trial *trial);

/*
 * The fastest safe one; the one in use where another is hardly faster. `current` is the name
 * of the one in use.
 */
void choice_find(const struct comparison *comparison, const char *current, struct choice *choice);

#endif
