/* SPDX-License-Identifier: MIT */
/* Which clocksource may be recommended on this host: the one rule of check and of compare. Pure. */
#ifndef VDSOCHECK_JUDGE_ADVISABLE_H
#define VDSOCHECK_JUDGE_ADVISABLE_H

#include "evidence.h"

/*
 * True if switching this host to the clocksource `name` can be recommended: the kernel offers
 * it, its vDSO can read it, and nothing in the evidence is against it. Whether it is in use
 * already, and whether it would be faster, is for the caller to say. Needs clocksource, host
 * and, to be sure of the TSC, the kernel log.
 *
 * Otherwise *why_not is the reason, a clause that follows "because" ("the kernel marked the
 * TSC unstable"), in static storage. `why_not` may be NULL.
 */
bool advisable_clocksource(const struct evidence *evidence, const char *name, const char **why_not);

#endif
