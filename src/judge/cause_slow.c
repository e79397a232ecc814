/* SPDX-License-Identifier: MIT */
/*
 * Causes in the clocksource in use, which makes the calls slow: it was chosen at boot, it has no
 * vDSO support, it changes, or reading its counter costs as much as a system call. Those in a
 * hypervisor's clock have a file of their own.
 */
#include "rules.h"

#include <stdio.h>
#include <string.h>

static bool boot_clocksource(const struct view *v)
{
	return v->boot_choice_slows;
}

static void write_boot_choice(const struct view *v, char text[CAUSE_TEXT_SIZE])
{
	snprintf(text, CAUSE_TEXT_SIZE, "The clocksource %s is set on the kernel command line.",
		v->evidence->clocksource.current);
}

static bool clocksource_unseen(const struct view *v)
{
	return v->falls_back && v->mode_none &&
	       !fact_is_known(&v->evidence->clocksource.current_fact);
}

static void cite_unseen(const struct view *v, struct cause *cause)
{
	cite_mode(v, cause);
	cite(cause, "%s", v->evidence->clocksource.current_fact.reason);
}

/* Each kernel gives it a mode, and this program is not excluded for being 32-bit. */
static bool arm_counter_erratum(const struct view *v)
{
	return v->falls_back && clocksource_is(v->evidence, "arch_sys_counter") &&
	       strcmp(v->evidence->vclock.name, "archtimer-nocompat") != 0;
}

/* The line by which the kernel went back to a clocksource that it had left; NULL if none. */
static const struct kernel_log_line *find_return(const struct evidence *evidence)
{
	static const char text[] = "Switched to clocksource ";
	const struct kernel_log_line *line = log_find(evidence, text);
	const struct kernel_log_line *again = NULL;

	while (line && !again) {
		again = log_find_after(evidence, line, strstr(line->text, text));
		line = log_find_after(evidence, line, text);
	}
	return again;
}

static bool has_changed(const struct view *v)
{
	return *v->evidence->clocksource.changed_to;
}

static bool clocksource_changing(const struct view *v)
{
	return has_changed(v) || (v->mixed && find_return(v->evidence));
}

static void cite_changing(const struct view *v, struct cause *cause)
{
	if (has_changed(v))
		cite(cause, "clocksource: %s, and %s when all was measured",
			v->evidence->clocksource.current, v->evidence->clocksource.changed_to);
	cite_line(cause, find_return(v->evidence));
}

static bool counter_trapped(const struct view *v)
{
	return v->verdict == VERDICT_SLOW && !v->firmware_counter;
}

static bool is_vmware(const struct view *v)
{
	return hypervisor_is(v->evidence, "vmware");
}

static bool is_xen(const struct view *v)
{
	return hypervisor_is(v->evidence, "xen");
}

static bool is_vmware_or_xen(const struct view *v)
{
	return is_vmware(v) || is_xen(v);
}

static const struct advice_row look_where_sys_is = {.id = "look-where-sys-is",
	.rank = RANK_LOOK,
	.text = "Run vdsocheck on the host, or with /sys mounted, to see the clocksource."};

static const struct advice_row let_clocksource_settle = {.id = "let-clocksource-settle",
	.rank = RANK_LOOK,
	.text = "Run vdsocheck again when the clocksource no longer changes. If it keeps changing, "
		"look for what writes to current_clocksource, such as a tuning script, and in the "
		"kernel log."};

static const struct advice_row other_arm_cpu = {.id = "other-arm-cpu",
	.rank = RANK_UPDATE,
	.anywhere = true,
	.text = "No setting helps. If the kernel log contains \"workaround for\", the CPU has an "
		"erratum: use another CPU or machine type. Otherwise look for newer firmware."};

static const struct advice_row ask_vmware_about_counter = {.id = "ask-vmware-about-counter",
	.rank = RANK_ASK,
	.applies = is_vmware,
	.text = "No setting of the guest helps. Ask your provider or platform team.",
	.ask = "Each read of the TSC in this guest exits to the hypervisor. Was the guest moved "
	       "(vMotion) or resumed on a host whose TSC has another rate? If so, power it off and "
	       "on there. If not, monitor_control.virtual_rdtsc = \"FALSE\" in its .vmx file gives "
	       "it the host's own TSC (the default is TRUE).",
	.risk = "With virtual_rdtsc FALSE the TSC is another one after vMotion or a suspend, and "
		"the guest's kernel does not check it.",
	.source = "VMware, \"Timekeeping in VMware Virtual Machines\" (2011), \"Virtual TSC\", "
		  "https://www.vmware.com/files/pdf/Timekeeping-In-VirtualMachines.pdf"};

static const struct advice_row ask_xen_about_counter = {.id = "ask-xen-about-counter",
	.rank = RANK_ASK,
	.applies = is_xen,
	.text = "No setting of the guest helps. Ask your provider or platform team.",
	.ask = "Xen emulates the TSC for this guest. Can it have tsc_mode=\"native\" (xl.cfg; on "
	       "XCP-ng and XenServer xe vm-param-set uuid=UUID platform:tsc_mode=2), or be started "
	       "on a host with the TSC rate that it was created with?",
	.source = "xen-tscmode(7)"};

static const struct advice_row ask_about_trapped_counter = {.id = "ask-about-trapped-counter",
	.rank = RANK_ASK,
	.unless = is_vmware_or_xen,
	.text = "No setting of the guest helps. Ask your provider or platform team.",
	.ask = "Each read of the CPU's counter in this guest exits to the hypervisor: can TSC "
	       "offsetting and scaling be used instead of emulation, or the guest be moved to a "
	       "host with the TSC rate it was started with?"};

const struct cause_row cause_seen_rows[] = {
	{.id = "boot-clocksource",
		.write = write_boot_choice,
		.more = BOOT_PARAMETERS,
		.applies = boot_clocksource,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_boot,
		.advice = {&advice_drop_tsc_boot, &advice_drop_boot}},
	{.id = "clocksource-unseen",
		.text = "The current clocksource (not visible from here) has no vDSO support.",
		.more = "vdso(7)",
		.applies = clocksource_unseen,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_unseen,
		.advice = {&look_where_sys_is}},
	{0},
};

const struct cause_row cause_slow_rows[] = {
	{.id = "arm-counter-erratum",
		.text = "The kernel does not let the vDSO read this CPU's counter, for instance "
			"because of an erratum, or because user space may not read it.",
		.applies = arm_counter_erratum,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_mode,
		.log = "workaround for",
		.advice = {&other_arm_cpu}},
	{.id = "clocksource-changing",
		.text = "The clocksource changed while vdsocheck ran, and with it how the calls "
			"are served.",
		.applies = clocksource_changing,
		.certainty = CERTAINTY_LIKELY,
		.proves = has_changed,
		.evidence = cite_changing,
		.advice = {&let_clocksource_settle}},
	{.id = "counter-trapped",
		.text = "The hypervisor or an emulator intercepts each read of the CPU's counter, "
			"which costs as much as a system call.",
		.applies = counter_trapped,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_counter,
		.advice = {&advice_move, &ask_vmware_about_counter, &ask_xen_about_counter,
			&ask_about_trapped_counter}},
	{0},
};

/* Its name has no vDSO support in any kernel, or its mode is none and no other row says why. */
static bool clocksource_without_vdso(const struct view *v)
{
	/* These have causes of their own where their mode is none; tsc always has a mode. */
	bool has_own_causes = v->on_kvm_clock || v->on_xen || v->on_hyperv_page || v->gvisor ||
	                      clocksource_is(v->evidence, "arch_sys_counter") ||
	                      clocksource_is(v->evidence, "tsc");

	return v->unsupported || (v->falls_back && v->mode_none && !v->mixed && !has_own_causes &&
					 fact_is_known(&v->evidence->clocksource.current_fact));
}

static void write_without_vdso(const struct view *v, char text[CAUSE_TEXT_SIZE])
{
	snprintf(text, CAUSE_TEXT_SIZE,
		"The vDSO does not support %s; only the kernel can read it.",
		v->evidence->clocksource.current);
}

/* The TSC is not among them: it takes more than being offered. */
static const char *target_own_counter(const struct view *v)
{
	const char *name;

	for (size_t i = 0; (name = clocksource_known_name(i)); i++) {
		if (clocksource_is_own_counter(name) && strcmp(name, "tsc") != 0 &&
			clocksource_is_another(v->evidence, name) &&
			advisable_clocksource(v->evidence, name, NULL))
			return name;
	}
	return NULL;
}

static const struct advice_row switch_to_own_counter = {.id = "switch-to-own-counter",
	.rank = RANK_SWITCH,
	.target = target_own_counter,
	.text = "Switch to {to}, the counter of this architecture, which kernels choose by "
		"default.",
	.steps = {SWITCH_STEP(""), {.command = "vdsocheck"}},
	.risk = "It may have been disabled on purpose."};

/* The last of the causes: those of why the kernel selected this clocksource come before it. */
const struct cause_row cause_plain_rows[] = {
	{.id = "clocksource-without-vdso",
		.write = write_without_vdso,
		.more = "vdso(7)",
		.applies = clocksource_without_vdso,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_mode,
		.advice = {&switch_to_own_counter}},
	{0},
};
