/* SPDX-License-Identifier: MIT */
/* What the warps that were seen, or not, mean. Pure. */
#ifndef VDSOCHECK_WARP_VERDICT_H
#define VDSOCHECK_WARP_VERDICT_H

#include "warp.h"

enum warp_verdict {
	WARP_VERDICT_UNKNOWN = 0, /* no clock, or not all CPUs, could be tested */
	WARP_VERDICT_OK,
	WARP_VERDICT_WARPS,
};

#define WARP_SENTENCE_SIZE 320

struct warp_ruling {
	enum warp_verdict verdict;
	const char *rule;                 /* id of the rule that decided; static storage */
	char summary[WARP_SENTENCE_SIZE]; /* one sentence */
	const char *advice;               /* static storage; NULL: nothing to do */
};

void warp_ruling_find(const struct warp_evidence *warp, struct warp_ruling *ruling);

/* "unknown", "ok", "warps". */
const char *warp_ruling_name(enum warp_verdict verdict);

/* 0 for ok, 1 for warps, 2 for unknown. */
int warp_ruling_exit_status(enum warp_verdict verdict);

#endif
