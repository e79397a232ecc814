/* SPDX-License-Identifier: MIT */
/* The kernel: its release, its build, its architecture and how it was booted. */
#ifndef VDSOCHECK_COLLECT_KERNEL_H
#define VDSOCHECK_COLLECT_KERNEL_H

#include "base/root.h"
#include "evidence.h"

/*
 * Fills host->kernel, kernel_build, arch and boot: from /proc, and from uname(2) where the
 * root is live and has no /proc.
 */
void kernel_collect(const struct root *root, struct host_evidence *host);

/*
 * Picks the parameters of a kernel command line that bear on the clock, in their order,
 * parted by blanks; empty if there are none. `picked` has room for `size` bytes.
 */
void kernel_pick_parameters(struct span line, char *picked, size_t size);

#endif
