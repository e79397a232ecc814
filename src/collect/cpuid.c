/* SPDX-License-Identifier: MIT */
#include "collect/cpuid.h"

#if defined(__x86_64__) || defined(__i386__)

#include <libcpuid/libcpuid.h>

#include "base/fault.h"
#include "base/text.h"

struct question {
	bool answered;
	struct cpu_raw_data_t raw;
	struct cpu_id_t id;
	hypervisor_vendor_t hypervisor;
};

static void ask(void *argument)
{
	struct question *question = argument;

	/* Both arguments of the last: 0.6 crashes without the second. */
	if (!cpuid_present() || cpuid_get_raw_data(&question->raw) < 0 ||
		cpu_identify(&question->raw, &question->id) < 0)
		return;
	question->hypervisor = cpuid_get_hypervisor(&question->raw, &question->id);
	question->answered = true;
}

static const char *word_for(hypervisor_vendor_t vendor)
{
	switch (vendor) {
	case HYPERVISOR_NONE:
		return NULL;
	case HYPERVISOR_BHYVE:
		return "bhyve";
	case HYPERVISOR_HYPERV:
		return "microsoft";
	case HYPERVISOR_KVM:
		return "kvm";
	case HYPERVISOR_PARALLELS:
		return "parallels";
	case HYPERVISOR_QEMU:
		return "qemu";
	case HYPERVISOR_VIRTUALBOX:
		return "oracle";
	case HYPERVISOR_VMWARE:
		return "vmware";
	case HYPERVISOR_XEN:
		return "xen";
	default:
		return "vm-other";
	}
}

static void take_answer(const struct question *question, struct cpuid_answer *answer)
{
	text_copy_span(
		answer->brand, sizeof(answer->brand), text_trim(text_span(question->id.brand_str)));
	answer->invariant_tsc = question->raw.ext_cpuid[7][3] & 1u << 8;
	answer->hypervisor = word_for(question->hypervisor);
	/* libcpuid asks only Intel's and AMD's CPUs; this bit is there on all. */
	if (question->hypervisor == HYPERVISOR_UNKNOWN && !(question->raw.basic_cpuid[1][2] >> 31))
		answer->hypervisor = NULL;
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
