/* SPDX-License-Identifier: MIT */
/*
 * Asks for the CPUID leaves that bear on the clock: six of the CPU, and the hypervisor's. Each
 * execution leaves a virtual machine for microseconds, so each is asked once. libcpuid executes
 * them by the leaf: its cpuid_get_raw_data() executes some hundred, and it names hypervisors from
 * 0.6 on, and only on CPUs of Intel and AMD.
 */
#include "parts.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* KVM and Xen may imitate Hyper-V at the first base; their own leaves are then above it. */
#define BASE_FIRST 0x40000000
#define BASE_LAST 0x40000200
#define BASE_STEP 0x100

static const char *word_for(const char signature[12])
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

	for (size_t i = 0; i < ARRAY_SIZE(signatures); i++) {
		if (memcmp(signature, signatures[i].signature, 12) == 0)
			return signatures[i].word;
	}
	return NULL;
}

void cpuid_take_hypervisor(struct cpuid_answer *answer, cpuid_leaf_reader *read)
{
	uint32_t registers[4];
	uint32_t found_base = 0;

	for (uint32_t base = BASE_FIRST; base <= BASE_LAST; base += BASE_STEP) {
		const char *word;
		char signature[12];

		read(base, registers);
		memcpy(signature, &registers[1], sizeof(signature));
		word = word_for(signature);
		if (word) {
			answer->hypervisor = word;
			found_base = base;
		}
	}
	if (!found_base) {
		answer->hypervisor = "vm-other";
		return;
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

#define HZ_PER_KHZ 1000
#define HZ_PER_MHZ 1000000

static void set_rate(struct number_fact *rate, uint64_t hz, const char *absent)
{
	if (hz && hz <= INT64_MAX)
		fact_set_number(rate, (int64_t)hz);
	else
		fact_set(&rate->fact, FACT_ABSENT, "%s", absent);
}

/*
 * VMware's leaf of the TSC's rate, which KVM's machine monitors give, too (arch/x86/kernel/cpu/
 * vmware.c; QEMU's vmware-cpuid-freq); Xen's is in leaf 3 (arch/x86/include/asm/xen/cpuid.h).
 */
static void take_hypervisor_rate(struct counter_claims *claims, cpuid_leaf_reader *read)
{
	uint64_t khz = 0;

	for (uint32_t base = BASE_FIRST; base <= BASE_LAST; base += BASE_STEP) {
		uint32_t head[4], registers[4];
		char signature[12];
		const char *word;

		read(base, head);
		memcpy(signature, &head[1], sizeof(signature));
		word = word_for(signature);
		if (word && strcmp(word, "xen") == 0) {
			read(base + 3, registers);
			khz = registers[2];
			fact_set_number(&claims->xen_moves, registers[3]);
		} else if (word && head[0] >= base + 0x10 &&
			   (strcmp(word, "kvm") == 0 || strcmp(word, "vmware") == 0)) {
			read(base + 0x10, registers);
			khz = registers[0];
			claims->hypervisor_first = base == BASE_FIRST && khz;
		}
	}
	set_rate(&claims->hypervisor_hz, khz * HZ_PER_KHZ, "the hypervisor has no such leaf");
}

void cpuid_take_claims(struct counter_claims *claims, cpuid_leaf_reader *read)
{
	uint32_t registers[4], highest;
	char signature[12];

	read(0, registers);
	highest = registers[0];
	if (highest >= 7) {
		read(7, registers);
		claims->tsc_adjust = registers[1] & 1u << 1;
	}
	memset(registers, 0, sizeof(registers));
	if (highest >= 0x15)
		read(0x15, registers);
	set_rate(&claims->crystal_hz,
		registers[0] ? (uint64_t)registers[2] * registers[1] / registers[0] : 0,
		"not given by this CPU");
	memset(registers, 0, sizeof(registers));
	if (highest >= 0x16)
		read(0x16, registers);
	set_rate(&claims->base_hz, (uint64_t)(registers[0] & 0xffff) * HZ_PER_MHZ,
		"not given by this CPU");
	if (highest >= 0x21) {
		read(0x21, registers);
		memcpy(signature, &registers[1], 4);
		memcpy(signature + 4, &registers[3], 4);
		memcpy(signature + 8, &registers[2], 4);
		claims->tdx = memcmp(signature, "IntelTDX    ", sizeof(signature)) == 0;
	}
	read(0x80000000, registers);
	if (registers[0] > 0x80000000) {
		read(0x80000001, registers);
		claims->rdtscp = registers[3] & 1u << 27;
	}
	fact_set(&claims->xen_moves.fact, FACT_ABSENT, "not a Xen guest");
	fact_set(&claims->hypervisor_hz.fact, FACT_ABSENT, "no hypervisor");
	read(1, registers);
	claims->guest = registers[2] >> 31;
	if (claims->guest)
		take_hypervisor_rate(claims, read);
	fact_set_known(&claims->fact);
}

#if defined(__x86_64__) || defined(__i386__)

#include <libcpuid/libcpuid.h>

#include "base/child.h"
#include "base/text.h"

/* EAX of this leaf is the number of the highest leaf above it. */
#define EXTENDED 0x80000000

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
	text_copy_span(
		answer->brand, sizeof(answer->brand), text_trim(text_span((const char *)brand)));
	if (highest >= EXTENDED + 7) {
		cpu_exec_cpuid(EXTENDED + 7, registers);
		answer->invariant_tsc = registers[3] & 1u << 8;
	}
	cpu_exec_cpuid(1, registers);
	if (registers[2] >> 31) /* the hypervisor bit */
		cpuid_take_hypervisor(answer, cpu_exec_cpuid);
	answer->answered = true;
}

bool cpuid_ask(struct cpuid_answer *answer)
{
	static struct cpuid_answer kept;
	static bool asked;

	if (!asked && fault_guard(cpuid_execute, &kept))
		kept.answered = false;
	asked = true;
	*answer = kept;
	return answer->answered;
}

static void claims_execute(void *argument)
{
	if (cpuid_present())
		cpuid_take_claims(argument, cpu_exec_cpuid);
}

bool cpuid_ask_claims(struct counter_claims *claims)
{
	return fault_guard(claims_execute, claims) == 0 && fact_is_known(&claims->fact);
}

#else

bool cpuid_ask(struct cpuid_answer *answer)
{
	(void)answer;
	return false;
}

bool cpuid_ask_claims(struct counter_claims *claims)
{
	(void)claims;
	return false;
}

#endif
