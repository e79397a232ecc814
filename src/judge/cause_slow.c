/* SPDX-License-Identifier: MIT */
/*
 * Causes in the clocksource in use, which makes the calls slow: it was chosen at boot, it has no
 * vDSO support, it changes, or reading its counter costs as much as a system call. Those in a
 * hypervisor's clock have a file of their own.
 */
#include "rules.h"

#include <string.h>

#include "base/memory.h"

/* Returns the line by which the kernel went back to a clocksource that it had left, or NULL. */
static const struct kernel_log_line *find_return(const struct evidence *evidence)
{
	for (const struct kernel_log_line *line = log_find_switch(evidence, NULL); line;
		line = log_find_switch(evidence, line)) {
		for (const struct kernel_log_line *next = log_find_switch(evidence, line); next;
			next = log_find_switch(evidence, next)) {
			if (strcmp(log_switched_to(line), log_switched_to(next)) == 0)
				return next;
		}
	}
	return NULL;
}

static void cite_changing(const struct view *v, struct cause *cause)
{
	if (*v->evidence->clocksource.changed_to)
		cite(cause, "clocksource: %s, and %s when all was measured",
			v->evidence->clocksource.current, v->evidence->clocksource.changed_to);
	cite_line(v, cause, find_return(v->evidence));
}

static const struct advice_row look_where_sys_is = {"look-where-sys-is", RANK_LOOK,
	.text = "Run vdsocheck on the host, or with /sys mounted, to see the clocksource."};

static const struct advice_row let_clocksource_settle = {"let-clocksource-settle", RANK_LOOK,
	.text = "Run vdsocheck again when the clocksource no longer changes. If it keeps changing, "
		"look for what writes to current_clocksource, such as a tuning script, and look in "
		"the kernel log."};

static const struct advice_row other_arm_cpu = {"other-arm-cpu", RANK_UPDATE, .actor = ACTOR_HOST,
	.text = "No setting helps, as the CPU has an erratum: use another CPU or machine type.",
	.where = HERE};

static const struct advice_row arm_cpu_or_firmware = {"arm-cpu-or-firmware", RANK_UPDATE,
	.actor = ACTOR_HOST,
	.text = "No setting helps. If the kernel log contains \"workaround for\", the CPU has an "
		"erratum: use another CPU or machine type. Otherwise look for newer firmware.",
	.where = HERE};

static const struct advice_row ask_vmware_about_counter = {"ask-vmware-about-counter", RANK_ASK,
	.text = "No setting of the guest helps. Ask your provider or platform team.",
	.ask = "Each read of the TSC in this guest exits to the hypervisor. Does the host's "
	       "vmkernel.log have \"TSC disabled as reference timer\"? If so, the TSCs of its CPUs "
	       "are not synchronized, and no setting of the guest helps. Otherwise, was the guest "
	       "moved (vMotion) or resumed on a host whose TSC has another rate? If so, power it "
	       "off and on there. If not, monitor_control.virtual_rdtsc = \"FALSE\" in its .vmx "
	       "file gives it the host's own TSC (the default is TRUE).",
	.risk = "With virtual_rdtsc FALSE the TSC is a different one after vMotion or a suspend, "
		"and the guest's kernel does not check it.",
	.source = "VMware, \"Timekeeping in VMware Virtual Machines\" (2011), \"Virtual TSC\", "
		  "https://www.vmware.com/files/pdf/Timekeeping-In-VirtualMachines.pdf; Broadcom "
		  "article 321363"};

static const struct advice_row ask_xen_about_counter = {"ask-xen-about-counter", RANK_ASK,
	.text = "No setting of the guest helps. Ask your provider or platform team.",
	.ask = "Xen emulates the TSC for this guest. Can it have tsc_mode=\"native\" (xl.cfg; on "
	       "XCP-ng and XenServer xe vm-param-set uuid=UUID platform:tsc_mode=2), or be started "
	       "on a host with the TSC rate that it was created with?",
	.source = "xen-tscmode(7)"};

static const struct advice_row ask_about_trapped_counter = {"ask-about-trapped-counter", RANK_ASK,
	.text = "No setting of the guest helps. Ask your provider or platform team.",
	.ask = "Each read of the CPU's counter in this guest exits to the hypervisor: can TSC "
	       "offsetting and scaling be used instead of emulation, or the guest be moved to a "
	       "host with the TSC rate it was started with?"};

const struct cause_row causes_current[] = {
	{"boot-clocksource", GROUP_ANY, CERTAINTY_PROVEN, IF(IS(boot_choice_slows)),
		"The clocksource {from} is set on the kernel command line.",
		.signs = "The calls fall back, and the kernel command line has clocksource= with "
			 "the clocksource in use, which no vDSO reads, or before which the kernel "
			 "lists another.",
		.evidence = cite_boot, .more = BOOT_PARAMETERS, DROP_BOOT},
	{"clocksource-unseen", GROUP_ANY, CERTAINTY_PROVEN,
		IF(IS(falls_back), IS(mode_none), NOT(clocksource_known)),
		"The current clocksource (not visible from here) has no vDSO support.",
		.signs = "The calls fall back, the vclock mode is none, and /sys does not show "
			 "the clocksource.",
		.evidence = cite_mode, .details = {"{unseen}"}, .more = "vdso(7)",
		.advice = {{&look_where_sys_is, ALWAYS}}},
	{0},
};

/* Linux has these too, rated as tsc is or above it (4.4 to 7.2). */
static const char *const rare_names[] = {"numachip2", "wdtest-jiffies", "wdtest-ktime"};

static bool is_of_module(const struct view *v)
{
	const char *name = v->evidence->clocksource.current;
	bool is_known = vclock_name_has_mode(name) || v->name_has_no_mode;

	for (size_t i = 0; i < ARRAY_SIZE(rare_names); i++)
		is_known |= strcmp(name, rare_names[i]) == 0;
	return !is_known;
}

static const struct advice_row unload_module = {"unload-module", RANK_LOOK,
	.text = "Find the module that registered {from}, unload it, and keep it from being loaded.",
	.where = ON_HOST,
	.steps = {{.text = "the modules that are not part of Linux",
		.command = "grep -E '\\([A-Z]*O[A-Z]*\\)$' /proc/modules"}}};

static bool has_changed(const struct view *v)
{
	return *v->evidence->clocksource.changed_to;
}

static bool is_changing(const struct view *v)
{
	return has_changed(v) || (v->decided.mixed && find_return(v->evidence));
}

const struct cause_row causes_slow[] = {
	{"arm-counter-erratum", GROUP_OTHER, CERTAINTY_LIKELY,
		IF(IS(falls_back), HAS(clocksource_is, "arch_sys_counter"),
			HAS_NOT(mode_is, "archtimer-nocompat")),
		"The kernel does not let the vDSO read this CPU's counter, for instance because "
		"of an erratum, or because user space may not read it.",
		.texts = {{"This CPU's counter has an erratum, so the kernel does not let the "
			   "vDSO read it.",
			IF(IS(counter_erratum))}},
		.signs = "The calls fall back, and the clocksource is arch_sys_counter; the "
			 "kernel log may have \"workaround for\" an erratum other than 1418040, "
			 "or \"Trapping CNTVCT access\".",
		.proven = IF(IS(counter_erratum)), .line = MEMBER(counter_erratum),
		.evidence = cite_mode,
		.advice = {{&other_arm_cpu, IF(IS(counter_erratum))},
			{&arm_cpu_or_firmware, IF(NOT(counter_erratum))}}},
	{"clocksource-changing", GROUP_ANY, CERTAINTY_LIKELY, IF(ASK(is_changing)),
		"The clocksource changed while vdsocheck ran.",
		.signs = "The clocksource had another name at the end of the check, or calls fell "
			 "back at times and the kernel log shows a return to an earlier "
			 "clocksource.",
		.proven = IF(ASK(has_changed)), .evidence = cite_changing,
		.advice = {{&let_clocksource_settle, ALWAYS}}},
	{"clocksource-of-module", GROUP_ANY, CERTAINTY_LIKELY,
		IF(IS(unsupported_on_x86), ASK(is_of_module)),
		"No kernel has a clocksource named {from}: a module that is not part of Linux "
		"registered it.",
		.signs = "The calls fall back on x86, and no kernel has a clocksource of this "
			 "name.",
		.evidence = cite_mode, .advice = {{&unload_module, ALWAYS}}},
	{"counter-trapped", GROUP_ANY, CERTAINTY_LIKELY,
		IF(EQ(verdict, VERDICT_SLOW), NOT(firmware_counter)),
		"The hypervisor or an emulator intercepts each read of the CPU's counter, which "
		"costs as much as a system call.",
		.signs = "The verdict is slow: a read of the counter takes as long as the "
			 "cheapest system call, or more than 150 ns.",
		.proven = IF(IS(guest)), .evidence = cite_counter,
		.advice = {{&advice_move, IF(NOT(has_switch))},
			{&ask_vmware_about_counter, IF(HAS(hypervisor_is, "vmware"))},
			{&ask_xen_about_counter, IF(HAS(hypervisor_is, "xen"))},
			{&ask_about_trapped_counter, IF(HAS_NOT(hypervisor_is, "vmware"),
							     HAS_NOT(hypervisor_is, "xen"))}}},
	{0},
};

const struct advice_row advice_switch_to_own_counter = {"switch-to-own-counter", RANK_SWITCH,
	.text = "Switch to {to}, the counter of this architecture, which kernels choose by default.",
	.target = MEMBER(own_counter), .steps = {{SWITCH_STEP("")}, {.command = "vdsocheck"}},
	.risk = "The counter may have been deselected on purpose."};

/*
 * It comes last: the causes of why the kernel selected this clocksource say more. No kernel
 * supports its name, or its mode is none, which has causes of its own on the clocksources that are
 * named.
 */
const struct cause_row causes_without_vdso[] = {
	{"clocksource-without-vdso", GROUP_ANY, CERTAINTY_PROVEN,
		IF(ANY(IS(unsupported),
			ALL(IS(falls_back), IS(mode_none), NOT(decided.mixed),
				IS(clocksource_known), NOT(gvisor), NOT(on_kvm_clock), NOT(on_xen),
				NOT(on_hyperv_page), HAS_NOT(clocksource_is, "arch_sys_counter"),
				HAS_NOT(clocksource_is, "tsc")))),
		"The vDSO does not support {from}; only the kernel can read it.",
		.signs = "The calls fall back, and the clocksource is one that no kernel gives a "
			 "vclock mode, such as hpet, acpi_pm or jiffies, or its vclock mode is "
			 "none. The devices hpet and acpi_pm are read by one CPU at a time: the "
			 "more CPUs read the clock, the longer each read takes.",
		.follows = true, .evidence = cite_mode, .more = "vdso(7)",
		.advice = {{&advice_switch_to_own_counter, ALWAYS}}},
	{0},
};
