/* SPDX-License-Identifier: MIT */
/* The vDSO of this process: where the kernel put it and what it exports. */
#ifndef VDSOCHECK_MEASURE_VDSO_H
#define VDSOCHECK_MEASURE_VDSO_H

#include "base/root.h"
#include "evidence.h"

/*
 * Finds the image through the auxiliary vector (AT_SYSINFO_EHDR) and lists its exports. The
 * root gives /proc/self/maps, for the size; without it the ELF headers do. With a root that
 * is not live nothing is looked for: a captured tree has none.
 */
void vdso_collect(const struct root *root, struct vdso_evidence *vdso);

#endif
