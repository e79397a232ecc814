/* SPDX-License-Identifier: MIT */
/* What the formats of check are given. */
#ifndef VDSOCHECK_CHECK_MODEL_H
#define VDSOCHECK_CHECK_MODEL_H

#include "cli/command.h"
#include "evidence.h"
#include "judge.h"
#include "policy.h"

struct document {
	const struct evidence *evidence;
	const struct diagnosis *diagnosis;
	const struct policy *policy;
	const struct outcome *outcome;
	const char *file; /* one of several documents that were read; NULL: not such a one */
};

#endif
