/* SPDX-License-Identifier: MIT */
#include "collect/cpuid.h"

#if defined(__x86_64__) || defined(__i386__)

#include <libcpuid/libcpuid.h>
#include <string.h>

#include "base/fault.h"
#include "base/text.h"

#define HYPERVISOR_PRESENT (1u << 31) /* leaf 1, ECX */
#define HYPERVISOR_LEAF 0x40000000u
#define SIGNATURE_SIZE 12 /* bytes: EBX, ECX and EDX */

struct question {
	bool answered;
	struct cpu_raw_data_t raw;
	struct cpu_id_t id;
	char signature[SIGNATURE_SIZE];
};

static const struct {
	char signature[SIGNATURE_SIZE + 1];
	const char *word;
} hypervisors[] = {
	{"KVMKVMKVM\0\0\0", "kvm"},
	{"Linux KVM Hv", "kvm"},
	{"Microsoft Hv", "microsoft"},
	{"VMwareVMware", "vmware"},
	{"XenVMMXenVMM", "xen"},
	{"VBoxVBoxVBox", "oracle"},
	{"TCGTCGTCGTCG", "qemu"},
	{"bhyve bhyve ", "bhyve"},
	{" lrpepyh  vr", "parallels"},
	{"prl hyperv  ", "parallels"},
	{"ACRNACRNACRN", "acrn"},
	{"QNXQVMBSQG\0\0", "qnx"},
	{"SRESRESRESRE", "sre"},
	{"Apple VZ\0\0\0\0", "apple"},
};

static void ask(void *argument)
{
	struct question *question = argument;

	if (!cpuid_present() || cpuid_get_raw_data(&question->raw) < 0 ||
		cpu_identify(&question->raw, &question->id) < 0)
		return;
	if (question->raw.basic_cpuid[1][2] & HYPERVISOR_PRESENT) {
		uint32_t registers[4] = {HYPERVISOR_LEAF};

		cpu_exec_cpuid_ext(registers);
		memcpy(question->signature, &registers[1], SIGNATURE_SIZE);
	}
	question->answered = true;
}

/*
 * libcpuid names hypervisors from 0.6.0 on (Debian 11 and Ubuntu 22.04 have 0.5), and only on
 * CPUs of Intel and AMD.
 */
static const char *hypervisor_word(const struct question *question)
{
	if (!(question->raw.basic_cpuid[1][2] & HYPERVISOR_PRESENT))
		return NULL;
	for (size_t i = 0; i < sizeof(hypervisors) / sizeof(hypervisors[0]); i++) {
		if (memcmp(question->signature, hypervisors[i].signature, SIGNATURE_SIZE) == 0)
			return hypervisors[i].word;
	}
	return "vm-other";
}

static void take_answer(const struct question *question, struct cpuid_answer *answer)
{
	text_copy_span(
		answer->brand, sizeof(answer->brand), text_trim(text_span(question->id.brand_str)));
	answer->invariant_tsc = question->raw.ext_cpuid[7][3] & 1u << 8;
	answer->hypervisor = hypervisor_word(question);
}

/* Each CPUID leaves a virtual machine for microseconds, and there are a hundred: ask once. */
bool cpuid_ask(struct cpuid_answer *answer)
{
	static struct question question;
	static bool asked;

	if (!asked && fault_guard(ask, &question))
		question.answered = false;
	asked = true;
	if (question.answered)
		take_answer(&question, answer);
	return question.answered;
}

#else

bool cpuid_ask(struct cpuid_answer *answer)
{
	(void)answer;
	return false;
}

#endif
