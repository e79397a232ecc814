/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a clocksource may be recommended. A wrong answer costs a machine whose clock
 * jumps, so the rules name what is against it, the first that applies is the reason, and what is
 * not known here is not recommended.
 */
#include "rules.h"

#include <string.h>

#include "base/memory.h"

/* XEN_CPUID_TSC_MODE_ALWAYS_EMULATE (xen/interface: cpuid.h). */
#define XEN_ALWAYS_EMULATES 1

#define OTHER_HYPERVISOR "it is the clock of a different hypervisor"

static const struct {
	const char *name;
	const struct term *when;
	const char *reason;
} rules[] = {
	{"tsc", IF(IS(boot_disables_tsc)), "the TSC is disabled on the kernel command line"},
	{"tsc", IF(IS(counter_gains_nothing)),
		"reading the TSC costs as much as a system call here, measured on a copy of the "
		"vDSO"},
	{"tsc", IF(IS(tsc_distrust)), "the kernel log says that the TSC is unstable"},
	{"tsc", IF(IS(tsc_rated_unstable)), "the kernel marked the TSC unstable"},
	/*
         * Virtual machine monitors restore the TSC's value, and set kvm-clock alone to the time:
         * nibrun pull request 410 measured 64 s on Firecracker 1.16; forkd 289 reports the same.
         */
	{"tsc", IF(IS(may_be_restored)), "after a restore, time would go on from the snapshot's"},
	{"tsc", IF(ANY(HAS(platform_is, "wsl1"), HAS(platform_is, "wsl2"))),
		"WSL suspends this machine, after which the TSC is wrong"},
	/* Amazon recommends tsc on Nitro (manage-ec2-linux-clock-source, 2025). */
	{"tsc", IF(IS(on_kvm_clock), HAS_NOT(platform_is, "aws-nitro")),
		"kvm-clock compensates for a different TSC after a migration or a restore, and "
		"tsc does not"},
	/*
         * Amazon also recommends tsc on its Xen instances: their guests do not see the invariant
         * bit, and their Xen predates the CPUID leaf that the next two rules read.
         */
	{"tsc",
		IF(NOT(ec2_xen), ANY(FACT_IS(host.xen_tsc_emulated, true),
					 FACT_IS(host.xen_tsc_mode, XEN_ALWAYS_EMULATES))),
		"Xen emulates the TSC for this guest"},
	{"tsc", IF(NOT(ec2_xen), FACT_IS(host.xen_tsc_reliable, false)),
		"Xen considers the TSC of its host unreliable"},
	{"tsc", IF(NOT(ec2_xen), NOT(tsc_invariant)),
		"the CPU does not advertise an invariant TSC here"},
	/* KVM goes by many names (amazon, google, qemu, apple). */
	{"kvm-clock",
		IF(ANY(NOT(guest), HAS(hypervisor_is, "xen"), HAS(hypervisor_is, "microsoft"),
			HAS(hypervisor_is, "vmware"))),
		OTHER_HYPERVISOR},
	{"kvm-clock", IF(IS(kvm_clock_32_bit)), "the vDSO of a 32-bit kernel does not support it"},
	{"kvm-clock", IF(FACT_IS(host.kvm_clock_stable, false)),
		"KVM does not mark the TSC stable, so the vDSO does not support it"},
	{"xen", IF(HAS_NOT(hypervisor_is, "xen")), OTHER_HYPERVISOR},
	{"xen", IF(HAS(kernel_is_before, "4.15")), "the vDSO supports it from Linux 4.15 on"},
	{"xen",
		IF(ANY(FACT_IS(host.xen_tsc_reliable, false),
			HAS(log_has, "PVCLOCK not supported"))),
		"Xen does not mark the TSC stable, so the vDSO does not support it"},
	{"hyperv_clocksource_tsc_page", IF(HAS_NOT(hypervisor_is, "microsoft")), OTHER_HYPERVISOR},
	{"hyperv_clocksource_tsc_page", IF(NOT(reads_hyperv_page)),
		"the vDSO supports it from Linux 4.12 on"},
};

const char *reason_against(const struct view *v, const char *name)
{
	/* Kernels of other architectures choose their counters by themselves. */
	bool known = clocksource_is_own_counter(name);

	if (!clocksource_is_offered(v->evidence, name))
		return "the kernel does not offer it";
	if (v->vdso_replaced)
		return "this process does not use the kernel's vDSO";
	if (clocksource_has_no_mode(v->evidence, name))
		return "each read is a system call";
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (strcmp(rules[i].name, name) != 0)
			continue;
		if (holds(v, rules[i].when))
			return rules[i].reason;
		known = true;
	}
	return known ? NULL : "vdsocheck does not know this clocksource";
}

size_t other_clocksources_find(
	const struct view *v, struct other_clocksource others[CLOCKSOURCE_MAX])
{
	const struct clocksource_evidence *clocksource = &v->evidence->clocksource;
	const struct copy_evidence *copy = &v->evidence->copy;
	size_t count = 0;

	for (size_t i = 0; i < clocksource->available_count; i++) {
		const char *name = clocksource->available[i];
		struct other_clocksource *other = &others[count];

		if (!clocksource_is_other(v->evidence, name))
			continue;
		*other = (struct other_clocksource){
			.name = name, .why_not = reason_against(v, name)};
		if (!clocksource_is_own_counter(name)) {
			fact_set(&other->call_ns.fact, FACT_ABSENT,
				"cannot be measured while another clocksource is in use");
		} else {
			other->call_ns = copy->what_if_ns;
			if (!other->why_not && v->counter_trapped)
				other->why_not = "reading the CPU's counter is as slow with it";
		}
		other->advisable = !other->why_not;
		count++;
	}
	return count;
}
