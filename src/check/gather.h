/* SPDX-License-Identifier: MIT */
/* Gathers the evidence of a check: what is read and measured for a report, or for a verdict. */
#ifndef VDSOCHECK_CHECK_GATHER_H
#define VDSOCHECK_CHECK_GATHER_H

#include "base/deadline.h"
#include "base/root.h"
#include "evidence.h"

/*
 * Fills the evidence. A live root is measured; before that the process opens the kernel log and
 * gives up its capabilities. With another root nothing is measured. Without `all` only what the
 * screen shows: the deciding calls, and no copy of a vDSO that serves them.
 */
void gather_evidence(const struct root *root, struct evidence *evidence, bool all,
	const struct deadline *deadline);

/*
 * Only what a verdict can rest on: the proof, and times where they can change it. Enough
 * for an exit status, not for a report.
 */
void gather_verdict(
	const struct root *root, struct evidence *evidence, const struct deadline *deadline);

#endif
