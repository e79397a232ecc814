/* SPDX-License-Identifier: MIT */
/* Which host this is: read only when asked for, so that no report gives it away unasked. */
#ifndef VDSOCHECK_COLLECT_IDENTITY_H
#define VDSOCHECK_COLLECT_IDENTITY_H

#include "base/root.h"
#include "evidence.h"

/* Fills host->name. */
void identity_collect(const struct root *root, struct host_evidence *host);

#endif
