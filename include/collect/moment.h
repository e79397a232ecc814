/* SPDX-License-Identifier: MIT */
/* When this host is looked at. */
#ifndef VDSOCHECK_COLLECT_MOMENT_H
#define VDSOCHECK_COLLECT_MOMENT_H

#include "base/root.h"
#include "evidence.h"

/* The time and the uptime of this host now; of a captured tree neither is known. */
void moment_collect(const struct root *root, struct moment_evidence *moment);

#endif
