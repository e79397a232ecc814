/* SPDX-License-Identifier: MIT */
/*
 * Whether a clocksource may be recommended. A wrong answer costs a machine whose clock jumps,
 * so the rules name what is against it, the first that applies is the reason, and what is not
 * known here is not recommended.
 */
#include "rules.h"

#include <string.h>

#include "base/units.h"

static bool log_is_against_tsc(const struct evidence *evidence)
{
	return log_find_tsc_distrust(evidence) != NULL;
}

static bool is_wsl(const struct evidence *evidence)
{
	return platform_is(evidence, "wsl1") || platform_is(evidence, "wsl2");
}

/* Amazon recommends tsc over kvm-clock on Nitro (manage-ec2-linux-clock-source, 2025). */
static bool is_on_kvm_clock(const struct evidence *evidence)
{
	return clocksource_is(evidence, "kvm-clock") && !platform_is(evidence, "aws-nitro");
}

/*
 * Amazon recommends tsc on its Xen instances, whose guests do not see the invariant bit; their
 * Xen predates the leaf that the next two rules read.
 */
static bool is_on_aws_xen(const struct evidence *evidence)
{
	return platform_is(evidence, "aws-xen");
}

/* XEN_CPUID_TSC_MODE_ALWAYS_EMULATE (xen/interface: cpuid.h). */
#define XEN_ALWAYS_EMULATES 1

static bool is_emulated_by_xen(const struct evidence *evidence)
{
	const struct host_evidence *host = &evidence->host;

	return !is_on_aws_xen(evidence) &&
	       (fact_is_flag(&host->xen_tsc_emulated, true) ||
		       (fact_is_known(&host->xen_tsc_mode.fact) &&
			       host->xen_tsc_mode.value == XEN_ALWAYS_EMULATES));
}

static bool is_unreliable_to_xen(const struct evidence *evidence)
{
	return !is_on_aws_xen(evidence) && fact_is_flag(&evidence->host.xen_tsc_reliable, false);
}

static bool is_not_known_invariant(const struct evidence *evidence)
{
	return !is_on_aws_xen(evidence) && !tsc_is_invariant(evidence);
}

static const struct {
	bool (*applies)(const struct evidence *evidence);
	const char *why_not;
} tsc_rules[] = {
	{boot_disables_tsc, "the TSC is disabled on the kernel command line"},
	{counter_gains_nothing,
		"reading the TSC costs as much as a system call here, measured on a copy of the "
		"vDSO"},
	{log_is_against_tsc, "the kernel log says that the TSC is unstable"},
	{tsc_is_rated_unstable, "the kernel marked the TSC unstable"},
	/*
         * Machine monitors restore the TSC's value, kvm-clock alone is set to the time: nibrun pull
         * request 410 measured 64 s on Firecracker 1.16, and forkd 289 says the same.
         */
	{host_may_be_restored, "after a restore, time would go on from the snapshot's"},
	{is_wsl, "WSL suspends this machine, after which the TSC is wrong"},
	{is_on_kvm_clock,
		"kvm-clock compensates for a different TSC after a migration or a restore, and "
		"tsc does not"},
	{is_emulated_by_xen, "Xen emulates the TSC for this guest"},
	{is_unreliable_to_xen, "Xen considers the TSC of its host unreliable"},
	{is_not_known_invariant, "the CPU does not advertise an invariant TSC here"},
};

#define OTHER_HYPERVISOR "it is the clock of a different hypervisor"

static const char *reason_against_kvm_clock(const struct evidence *evidence)
{
	const struct text_fact *hypervisor = &evidence->host.hypervisor;

	/* KVM goes by many names (amazon, google, qemu, apple); these have clocks of their own. */
	if (!host_is_guest(evidence) || fact_is_text(hypervisor, "xen") ||
		fact_is_text(hypervisor, "microsoft") || fact_is_text(hypervisor, "vmware"))
		return OTHER_HYPERVISOR;
	if (kvm_clock_is_32_bit(evidence))
		return "the vDSO of a 32-bit kernel does not support it";
	if (fact_is_flag(&evidence->host.kvm_clock_stable, false))
		return "KVM does not mark the TSC stable, so the vDSO does not support it";
	return NULL;
}

static const char *reason_against_xen(const struct evidence *evidence)
{
	if (!fact_is_text(&evidence->host.hypervisor, "xen"))
		return OTHER_HYPERVISOR;
	if (kernel_is_before(evidence, 4, 15))
		return "the vDSO supports it from Linux 4.15 on";
	if (fact_is_flag(&evidence->host.xen_tsc_reliable, false) ||
		log_find(evidence, "PVCLOCK not supported"))
		return "Xen does not mark the TSC stable, so the vDSO does not support it";
	return NULL;
}

static const char *reason_against_hyperv(const struct evidence *evidence)
{
	if (!fact_is_text(&evidence->host.hypervisor, "microsoft"))
		return OTHER_HYPERVISOR;
	return kernel_reads_hyperv_page(evidence) ? NULL
	                                          : "the vDSO supports it from Linux 4.12 on";
}

static const struct {
	const char *name;
	const char *(*reason)(const struct evidence *evidence);
} paravirtual[] = {
	{"kvm-clock", reason_against_kvm_clock},
	{"xen", reason_against_xen},
	{"hyperv_clocksource_tsc_page", reason_against_hyperv},
};

static const char *find_reason(const struct evidence *evidence, const char *name)
{
	if (!clocksource_is_offered(evidence, name))
		return "the kernel does not offer it";
	if (vclock_name_has_no_mode(name))
		return "the vDSO does not support it";
	for (size_t i = 0; i < ARRAY_SIZE(tsc_rules) && strcmp(name, "tsc") == 0; i++) {
		if (tsc_rules[i].applies(evidence))
			return tsc_rules[i].why_not;
	}
	/* Nothing else is against the TSC; kernels of other architectures choose their counters. */
	if (clocksource_is_own_counter(name))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(paravirtual); i++) {
		if (strcmp(paravirtual[i].name, name) == 0)
			return paravirtual[i].reason(evidence);
	}
	return "vdsocheck does not know this clocksource";
}

bool advisable_clocksource(const struct evidence *evidence, const char *name, const char **why_not)
{
	const char *reason = find_reason(evidence, name);

	if (why_not)
		*why_not = reason;
	return !reason;
}

size_t clocksources_find_others(
	const struct evidence *evidence, struct other_clocksource others[CLOCKSOURCE_MAX])
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;
	const struct copy_evidence *copy = &evidence->copy;
	size_t count = 0;

	for (size_t i = 0; i < clocksource->available_count; i++) {
		const char *name = clocksource->available[i];
		struct other_clocksource *other = &others[count];

		if (!clocksource_is_another(evidence, name))
			continue;
		*other = (struct other_clocksource){.name = name};
		advisable_clocksource(evidence, name, &other->why_not);
		if (!clocksource_is_own_counter(name)) {
			fact_set(&other->call_fact, FACT_ABSENT,
				"cannot be measured while another clocksource is in use");
		} else {
			other->call_fact = copy->what_if_fact;
			other->call_ns = copy->what_if_ns;
			if (!other->why_not && counter_is_trapped(evidence))
				other->why_not = "reading the CPU's counter is as slow with it";
		}
		other->advisable = !other->why_not;
		count++;
	}
	return count;
}
