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

/* All texts have static storage; NULL where there is nothing to say. */
struct advice {
	const char *id;           /* stable */
	const char *text;         /* what to do, in a sentence or two */
	const char *check;        /* a command to run before it, which changes nothing */
	const char *command;      /* the command that tries it now, as root */
	const char *keep;         /* how to make it last, in words */
	const char *keep_command; /* one way to do so, as root */
	const char *ask;          /* a sentence to paste into a ticket */
	const char *risk;
	const char *source; /* the clocksource it leads to */
};

/* Writes the advice that fits, at most ADVICE_MAX pieces, and returns how many. */
size_t advice_find(
	const struct evidence *evidence, enum verdict verdict, struct advice advice[ADVICE_MAX]);

#endif
