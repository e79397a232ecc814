/* SPDX-License-Identifier: MIT */
/*
 * What to do about it, on this very host. Nothing is advised where nothing is wrong, and no
 * clocksource that the kernel does not offer.
 */
#ifndef VDSOCHECK_JUDGE_ADVICE_H
#define VDSOCHECK_JUDGE_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "evidence.h"

#define ADVICE_MAX 4
#define ADVICE_STEP_MAX 5
#define ADVICE_KEEP_MAX 4
#define ADVICE_TEXT_SIZE 400
#define ADVICE_COMMAND_SIZE 320

struct advice_step {
	char text[ADVICE_TEXT_SIZE];       /* a remark on the command; without one, what to do */
	char command[ADVICE_COMMAND_SIZE]; /* one shell line; empty: there is none */
};

/* Texts that are pointers have static storage; NULL where there is nothing to say. */
struct advice {
	const char *id; /* stable */
	char text[ADVICE_TEXT_SIZE];
	size_t step_count;
	struct advice_step steps[ADVICE_STEP_MAX]; /* all of them, in this order */
	size_t keep_count;
	struct advice_step keep[ADVICE_KEEP_MAX]; /* ways to make it last: one is enough */
	char undo[ADVICE_COMMAND_SIZE];           /* takes the steps back; empty: needs none */
	const char *ask;                          /* a sentence to paste into a ticket */
	const char *risk;
	const char *source;  /* who says so: title, date and address */
	bool is_alternative; /* to the piece before it; otherwise it is needed beside it */
	char clocksource[CLOCKSOURCE_NAME_SIZE]; /* the one it leads to; empty: to none */
};

#endif
