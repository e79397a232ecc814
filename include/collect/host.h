/* SPDX-License-Identifier: MIT */
/* What the host says about itself: kernel, CPU, surroundings, and this process's own state. */
#ifndef VDSOCHECK_COLLECT_HOST_H
#define VDSOCHECK_COLLECT_HOST_H

#include "base/root.h"
#include "evidence.h"

/* Fills all of host_evidence, each fact by the module that knows about it. */
void host_collect(const struct root *root, struct host_evidence *host);

#endif
