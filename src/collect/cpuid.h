/* SPDX-License-Identifier: MIT */
/* What the CPUID instruction says of an x86 CPU and of the hypervisor above it, by libcpuid. */
#ifndef VDSOCHECK_COLLECT_CPUID_H
#define VDSOCHECK_COLLECT_CPUID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fact.h"

struct cpuid_answer {
	char brand[FACT_TEXT_SIZE];
	bool invariant_tsc;  /* leaf 0x80000007, EDX bit 8 */
	bool hypervisor_bit; /* leaf 1, ECX bit 31 */
	/*
	 * systemd-detect-virt's word for the hypervisor's leaves; NULL: none shows itself. Of
	 * several (KVM and Xen imitate Hyper-V) it is the one that Linux takes: the highest.
	 */
	const char *hypervisor;
	char version[48];      /* of the hypervisor, or the features it has instead; may be "" */
	uint32_t kvm_features; /* EAX of leaf base + 1, under "kvm" */
	uint32_t xen_tsc[2];   /* EAX and EBX of leaf base + 3, under "xen"; else 0 */
};

/*
 * Asks the CPU we run on. False if it is not x86, has no CPUID, or does not allow processes to
 * use it (ARCH_CPUID faulting).
 */
bool cpuid_ask(struct cpuid_answer *answer);

/* Executes CPUID for a leaf, ECX 0: EAX, EBX, ECX, EDX. */
typedef void cpuid_leaf_reader(uint32_t leaf, uint32_t registers[4]);

/* Fills what the hypervisor's leaves say; there is one, by the hypervisor bit. */
void cpuid_take_hypervisor(struct cpuid_answer *answer, cpuid_leaf_reader *read);

#endif
