/* SPDX-License-Identifier: MIT */
/* The cloud, product or sandbox around us: who can be asked to change something. No network. */
#ifndef VDSOCHECK_COLLECT_PLATFORM_H
#define VDSOCHECK_COLLECT_PLATFORM_H

#include "base/root.h"
#include "evidence.h"

/*
 * Fills host->platform from DMI, ACPI, kernel strings and marker files; host->hypervisor is
 * filled before. One of: aws-xen, aws-nitro, azure, google, oracle-cloud, alibaba, vmware,
 * firecracker, microvm (KVM without firmware tables: may be restored from a snapshot too),
 * qubes, wsl1, wsl2, gvisor, bare-metal. Absent: none of them. Fills host->restore_device.
 */
void platform_collect(const struct root *root, struct host_evidence *host);

#endif
