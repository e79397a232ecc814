/* SPDX-License-Identifier: MIT */
/* The CPU: its brand, and whether its counter can be trusted. */
#ifndef VDSOCHECK_COLLECT_CPU_H
#define VDSOCHECK_COLLECT_CPU_H

#include "base/root.h"
#include "evidence.h"

/*
 * Fills host->cpu and host->invariant_tsc: by CPUID (libcpuid) on a live x86 host, else from
 * /proc/cpuinfo and the device tree. Fills host->tsc_flags from /proc/cpuinfo, and what the
 * leaves of KVM and Xen say of their clocks (kvm_clock_*, xen_tsc_*) on a live host.
 */
void cpu_collect(const struct root *root, struct host_evidence *host);

#endif
