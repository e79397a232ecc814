/* SPDX-License-Identifier: MIT */
/*
 * What to do about it, on this very host: a table of rules. Pure. Nothing is advised where
 * nothing is wrong, and no clocksource that the kernel does not offer.
 */
#ifndef VDSOCHECK_JUDGE_ADVICE_H
#define VDSOCHECK_JUDGE_ADVICE_H

#include "evidence.h"
#include "judge/verdict.h"

#define ADVICE_MAX 4
#define ADVICE_TEXT_SIZE 240

struct advice {
	const char *id;      /* stable; static storage */
	char text[ADVICE_TEXT_SIZE];
	const char *command; /* to be pasted, static storage; NULL: none */
	const char *risk;    /* NULL: none known */
	const char *source;  /* the clocksource it names; NULL: none */
};

/* Writes the advice that fits, at most ADVICE_MAX pieces, and returns how many. */
size_t advice_find(const struct evidence *evidence, enum verdict verdict,
	struct advice advice[ADVICE_MAX]);

#endif
