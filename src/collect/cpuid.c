/* SPDX-License-Identifier: MIT */
/*
 * Asks for the CPUID leaves that bear on the clock. Each execution leaves a virtual machine for
 * microseconds, so `check` asks once for six leaves of the CPU and those of the hypervisor.
 * libcpuid executes them by the leaf: its cpuid_get_raw_data() executes some hundred, and it names
 * hypervisors from 0.6 on, and only on CPUs of Intel and AMD.
 */
#include "parts.h"

#include <stdio.h>
#include <string.h>

#include "base/child.h"
#include "base/memory.h"

#if defined(__x86_64__) || defined(__i386__)
#include <libcpuid/libcpuid.h>
#else
/* Other CPUs lack the instruction. */
#define cpuid_present() 0

static void cpu_exec_cpuid(uint32_t leaf, uint32_t registers[4])
{
	(void)leaf;
	memset(registers, 0, 4 * sizeof(*registers));
}
#endif

/* KVM and Xen may imitate Hyper-V at the first base; their own leaves are then above it. */
#define BASE_FIRST 0x40000000
#define BASE_LAST 0x40000200
#define BASE_STEP 0x100

/* EAX of this leaf is the number of the highest leaf above it. */
#define EXTENDED 0x80000000

/* Returns the word of the hypervisor whose leaves begin at this base; NULL: none. */
static const char *read_base(uint32_t base, cpuid_leaf_reader *read, uint32_t first[4])
{
	static const struct {
		char signature[13];
		const char *word;
	} signatures[] = {
		{"KVMKVMKVM\0\0\0", "kvm"},
		{"Linux KVM Hv", "kvm"},
		{"Microsoft Hv", "microsoft"},
		{"XenVMMXenVMM", "xen"},
		{"VMwareVMware", "vmware"},
		{"VBoxVBoxVBox", "oracle"},
		{"TCGTCGTCGTCG", "qemu"},
		{"bhyve bhyve ", "bhyve"},
		{" lrpepyh  vr", "parallels"},
		{"prl hyperv  ", "parallels"},
		{"QNXQVMBSQG\0\0", "qnx"},
		{"ACRNACRNACRN", "acrn"},
		{"SRESRESRESRE", "sre"},
		{"Apple VZ\0\0\0\0", "apple"},
	};

	read(base, first);
	for (size_t i = 0; i < ARRAY_SIZE(signatures); i++) {
		if (memcmp(&first[1], signatures[i].signature, 12) == 0)
			return signatures[i].word;
	}
	return NULL;
}

void cpuid_read_hypervisor(struct cpuid_answer *answer, cpuid_leaf_reader *read)
{
	uint32_t registers[4], found_base = 0;

	answer->hypervisor = "vm-other";
	for (uint32_t base = BASE_FIRST; base <= BASE_LAST; base += BASE_STEP) {
		const char *word = read_base(base, read, registers);

		if (word) {
			answer->hypervisor = word;
			found_base = base;
		}
	}
	if (strcmp(answer->hypervisor, "kvm") == 0) {
		read(found_base + 1, registers);
		answer->kvm_features = registers[0];
		snprintf(answer->version, sizeof(answer->version), "features 0x%08x", registers[0]);
	} else if (strcmp(answer->hypervisor, "microsoft") == 0) {
		read(found_base + 2, registers);
		snprintf(answer->version, sizeof(answer->version), "%u.%u.%u", registers[1] >> 16,
			registers[1] & 0xffff, registers[0]);
	} else if (strcmp(answer->hypervisor, "xen") == 0) {
		read(found_base + 1, registers);
		snprintf(answer->version, sizeof(answer->version), "%u.%u", registers[0] >> 16,
			registers[0] & 0xffff);
		read(found_base + 3, registers);
		memcpy(answer->xen_tsc, registers, sizeof(answer->xen_tsc));
	}
}

static void cpuid_execute(void *argument)
{
	struct cpuid_answer *answer = argument;
	uint32_t registers[4], highest;
	uint32_t brand[3 * 4 + 1] = {0}; /* of three leaves, and its end */

	if (!cpuid_present())
		return;
	cpu_exec_cpuid(EXTENDED, registers);
	highest = registers[0];
	for (uint32_t i = 0; i < 3 && highest >= EXTENDED + 4; i++)
		cpu_exec_cpuid(EXTENDED + 2 + i, &brand[4 * i]);
	text_clean_span(
		answer->brand, sizeof(answer->brand), text_trim(text_span((const char *)brand)));
	if (highest >= EXTENDED + 7) {
		cpu_exec_cpuid(EXTENDED + 7, registers);
		answer->invariant_tsc = registers[3] & 1u << 8;
	}
	cpu_exec_cpuid(1, registers);
	if (registers[2] >> 31) /* the hypervisor bit */
		cpuid_read_hypervisor(answer, cpu_exec_cpuid);
	answer->answered = true;
}

bool cpuid_ask(struct cpuid_answer *answer)
{
	static struct cpuid_answer kept;
	static bool asked;

	if (!asked)
		fault_guard(cpuid_execute, &kept);
	asked = true;
	*answer = kept;
	return answer->answered;
}
