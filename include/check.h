/* SPDX-License-Identifier: MIT */
/* Checks this host, for commands that repeat it. */
#ifndef VDSOCHECK_CHECK_H
#define VDSOCHECK_CHECK_H

#include "base/root.h"
#include "cli/command.h"
#include "evidence.h"
#include "judge.h"

/*
 * The time limit of the measurements: those not done by then are reported. The whole
 * check, with a last child that has to be killed (0.3 s) and the output, ends within 5 s.
 */
#define CHECK_LIMIT_NS 4600000000

/*
 * Checks this host as `vdsocheck check` does for its screen, the kernel's log included, in a
 * child: nothing of it stays in the caller. Both are overwritten; where the child failed, the
 * verdict is unknown and evidence->proof.fact has the reason.
 */
void check_in_child(
	const struct root *root, struct evidence *evidence, struct diagnosis *diagnosis);

#endif
