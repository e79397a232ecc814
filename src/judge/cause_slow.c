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

static const struct cause_row boot_clocksource = {"boot-clocksource", GROUP_ANY,
	"The clocksource {from} is set on the kernel command line.",
	.signs = "The calls fall back, and the kernel command line has clocksource= with the "
		 "clocksource in use, which no vDSO reads, or before which the kernel lists "
		 "another.",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_boot, .more = BOOT_PARAMETERS};

static const struct cause_row clocksource_unseen = {"clocksource-unseen", GROUP_ANY,
	"The current clocksource (not visible from here) has no vDSO support.",
	.signs = "The calls fall back, the vclock mode is none, and /sys does not show the "
		 "clocksource.",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_mode, .more = "vdso(7)"};

void cause_current(const struct view *v, struct cause_list *list)
{
	const struct fact *current = &v->evidence->clocksource.current_fact;
	const struct cause_case cases[] = {
		{&boot_clocksource, .applies = v->boot_choice_slows, DROP_BOOT(v)},
		{&clocksource_unseen,
			.applies = v->falls_back && v->mode_none && !fact_is_known(current),
			.detail = current->reason, .advice = {{&look_where_sys_is, true}}},
	};

	cause_add(list, v, cases, ARRAY_SIZE(cases));
}

/* Linux has these too, rated as tsc is or above it (4.4 to 7.2). */
static const char *const rare_names[] = {"numachip2", "wdtest-jiffies", "wdtest-ktime"};

static bool is_of_module(const struct view *v)
{
	const char *name = v->evidence->clocksource.current;
	bool is_known = vclock_name_has_mode(name) || clocksource_has_no_mode(v->evidence, name);

	for (size_t i = 0; i < ARRAY_SIZE(rare_names); i++)
		is_known |= strcmp(name, rare_names[i]) == 0;
	return v->unsupported_on_x86 && !is_known;
}

static const struct advice_row unload_module = {"unload-module", RANK_LOOK,
	.text = "Find the module that registered {from}, unload it, and keep it from being loaded.",
	.where = ON_HOST,
	.steps = {{.text = "the modules that are not part of Linux",
		.command = "grep -E '\\([A-Z]*O[A-Z]*\\)$' /proc/modules"}}};

static const struct cause_row arm_counter_erratum = {"arm-counter-erratum", GROUP_OTHER,
	"The kernel does not let the vDSO read this CPU's counter, for instance because of an "
	"erratum, or because user space may not read it.",
	.signs = "The calls fall back, and the clocksource is arch_sys_counter; the kernel log may "
		 "have \"workaround for\" an erratum other than 1418040, or \"Trapping CNTVCT "
		 "access\".",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_mode};

static const struct cause_row clocksource_changing = {"clocksource-changing", GROUP_ANY,
	"The clocksource changed while vdsocheck ran.",
	.signs = "The clocksource had another name at the end of the check, or calls fell back at "
		 "times and the kernel log shows a return to an earlier clocksource.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_changing};

static const struct cause_row clocksource_of_module = {"clocksource-of-module", GROUP_ANY,
	"No kernel has a clocksource named {from}: a module that is not part of Linux registered "
	"it.",
	.signs = "The calls fall back on x86, and no kernel has a clocksource of this name.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_mode};

static const struct cause_row counter_trapped = {"counter-trapped", GROUP_ANY,
	"The hypervisor or an emulator intercepts each read of the CPU's counter, which costs as "
	"much as a system call.",
	.signs = "The verdict is slow: a read of the counter takes as long as the cheapest system "
		 "call, or more than 150 ns.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_counter};

void cause_slow(const struct view *v, struct cause_list *list)
{
	const struct evidence *evidence = v->evidence;
	bool is_vmware = hypervisor_is(evidence, "vmware"), is_xen = hypervisor_is(evidence, "xen");
	bool has_changed = *evidence->clocksource.changed_to;

	const struct kernel_log_line *back = find_return(evidence);
	/* Every kernel gives arch_sys_counter a mode; archtimer-nocompat is a cause of its own. */
	bool is_arm_counter_denied = v->falls_back &&
	                             clocksource_is(evidence, "arch_sys_counter") &&
	                             strcmp(evidence->vclock.name, "archtimer-nocompat") != 0;
	const struct cause_case cases[] = {
		{&arm_counter_erratum, .applies = is_arm_counter_denied,
			.text = v->counter_erratum
	                                ? "This CPU's counter has an erratum, so the kernel does "
	                                  "not let the vDSO read it."
	                                : NULL,
			.proven = v->counter_erratum, .line = v->counter_erratum,
			.advice = {{&other_arm_cpu, v->counter_erratum},
				{&arm_cpu_or_firmware, !v->counter_erratum}}},
		{&clocksource_changing, .applies = has_changed || (v->decided.mixed && back),
			.proven = has_changed, .line = back,
			.advice = {{&let_clocksource_settle, true}}},
		{&clocksource_of_module, .applies = is_of_module(v),
			.advice = {{&unload_module, true}}},
		{&counter_trapped, .applies = v->verdict == VERDICT_SLOW && !v->firmware_counter,
			.proven = v->guest || v->emulated,
			.advice = {{&advice_move, !v->has_switch},
				{&ask_vmware_about_counter, is_vmware},
				{&ask_xen_about_counter, is_xen},
				{&ask_about_trapped_counter, !is_vmware && !is_xen}}},
	};

	cause_add(list, v, cases, ARRAY_SIZE(cases));
}

static const char *target_own_counter(const struct view *v)
{
	return v->own_counter;
}

const struct advice_row advice_switch_to_own_counter = {"switch-to-own-counter", RANK_SWITCH,
	.text = "Switch to {to}, the counter of this architecture, which kernels choose by default.",
	.target = target_own_counter, .steps = {{SWITCH_STEP("")}, {.command = "vdsocheck"}},
	.risk = "The counter may have been deselected on purpose."};

static const struct cause_row clocksource_without_vdso = {"clocksource-without-vdso", GROUP_ANY,
	"The vDSO does not support {from}; only the kernel can read it.",
	.signs = "The calls fall back, and the clocksource is one that no kernel gives a vclock "
		 "mode, such as hpet, acpi_pm or jiffies, or its vclock mode is none. The devices "
		 "hpet and acpi_pm are read by one CPU at a time: the more CPUs read the clock, "
		 "the longer each read takes.",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_mode, .follows = true, .more = "vdso(7)"};

/* It comes last: the causes of why the kernel selected this clocksource say more. */
void cause_without_vdso(const struct view *v, struct cause_list *list)
{
	const struct evidence *evidence = v->evidence;
	/* These have causes of their own where their mode is none; tsc always has a mode. */
	bool has_own_causes = v->on_kvm_clock || v->on_xen || v->on_hyperv_page || v->gvisor ||
	                      clocksource_is(evidence, "arch_sys_counter") ||
	                      clocksource_is(evidence, "tsc");
	/* No kernel supports this name, or the mode is none and no other row says why. */
	bool is_without = v->unsupported ||
	                  (v->falls_back && v->mode_none && !v->decided.mixed && !has_own_causes &&
				  fact_is_known(&evidence->clocksource.current_fact));

	const struct cause_case cases[] = {
		{&clocksource_without_vdso, .applies = is_without,
			.advice = {{&advice_switch_to_own_counter, true}}},
	};

	cause_add(list, v, cases, ARRAY_SIZE(cases));
}
