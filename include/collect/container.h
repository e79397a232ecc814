/* SPDX-License-Identifier: MIT */
/* Which container this process runs in, by systemd-detect-virt's words. */
#ifndef VDSOCHECK_COLLECT_CONTAINER_H
#define VDSOCHECK_COLLECT_CONTAINER_H

#include "base/root.h"
#include "evidence.h"

/* Absent: nothing points to one. */
void container_collect(const struct root *root, struct text_fact *container);

#endif
