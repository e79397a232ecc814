/* SPDX-License-Identifier: MIT */
/* Which hypervisor this machine runs under, by systemd-detect-virt's words. */
#ifndef VDSOCHECK_COLLECT_HYPERVISOR_H
#define VDSOCHECK_COLLECT_HYPERVISOR_H

#include "base/root.h"
#include "evidence.h"

/*
 * Looks at the firmware's names (DMI), /sys/hypervisor, CPUID (live x86), the device tree and
 * s390's sysinfo. Absent: nothing points to one. Never asks what container we are in.
 */
void hypervisor_collect(const struct root *root, struct text_fact *hypervisor);

#endif
