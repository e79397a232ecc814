/* SPDX-License-Identifier: MIT */
/* What check does, for commands that look at this host again and again. */
#ifndef VDSOCHECK_CHECK_H
#define VDSOCHECK_CHECK_H

#include "base/root.h"
#include "evidence.h"
#include "judge.h"

/* The time limit of a check: what is not measured by then is reported as such. */
#define CHECK_LIMIT_NS 5000000000

/*
 * Checks this host as `vdsocheck check` does for its screen, the kernel's log included, in a
 * child: nothing of it stays in the caller. Both are filled in anew; where the child failed, the
 * verdict is unknown and evidence->proof.fact has the reason.
 */
void check_look(const struct root *root, struct evidence *evidence, struct diagnosis *diagnosis);

#endif
