/* SPDX-License-Identifier: MIT */
/* What the CPUID instruction says of an x86 CPU, by libcpuid. */
#ifndef VDSOCHECK_COLLECT_CPUID_H
#define VDSOCHECK_COLLECT_CPUID_H

#include <stdbool.h>

#include "base/fact.h"

struct cpuid_answer {
	char brand[FACT_TEXT_SIZE];
	bool invariant_tsc; /* leaf 0x80000007, EDX bit 8 */
	/* systemd-detect-virt's word for leaf 0x40000000; NULL: no hypervisor shows itself */
	const char *hypervisor;
};

/*
 * Asks the CPU we run on. False if it is no x86, has no CPUID, or lets no process use it
 * (ARCH_CPUID faulting).
 */
bool cpuid_ask(struct cpuid_answer *answer);

#endif
