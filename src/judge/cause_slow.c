/* SPDX-License-Identifier: MIT */
/*
 * Causes in the clocksource in use, which makes the calls slow: it has no vDSO support, the
 * hypervisor does not mark it stable, or reading its counter costs as much as a system call.
 */
#include "rules.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

/* Its name has no vDSO support in any kernel, or its mode is none and no row below says why. */
static bool is_plain(const struct view *view)
{
	const struct evidence *evidence = view->evidence;

	if (view->holds & PLAIN)
		return true;
	/* These have causes of their own where their mode is none; tsc always has a mode. */
	if (view->holds & (ON_KVM_CLOCK | ON_XEN | ON_HYPERV_PAGE | GVISOR) ||
		clocksource_is(evidence, "arch_sys_counter") || clocksource_is(evidence, "tsc"))
		return false;
	return view->holds & FALLS_BACK && view->holds & MODE_NONE && !counts_are_mixed(evidence) &&
	       fact_is_known(&evidence->clocksource.current_fact);
}

static void write_plain(const struct view *view, char text[CAUSE_TEXT_SIZE])
{
	snprintf(text, CAUSE_TEXT_SIZE,
		"The vDSO does not support %s; only the kernel can read it.",
		view->evidence->clocksource.current);
}

static void write_boot_choice(const struct view *view, char text[CAUSE_TEXT_SIZE])
{
	snprintf(text, CAUSE_TEXT_SIZE, "The clocksource %s is set on the kernel command line.",
		view->evidence->clocksource.current);
}

static bool is_unseen(const struct view *view)
{
	return !fact_is_known(&view->evidence->clocksource.current_fact);
}

static void support_unseen(const struct view *view, struct cause *cause)
{
	support_mode(view, cause);
	support_add(cause, "%s", view->evidence->clocksource.current_fact.reason);
}

/* Where another one was selected. The TSC is not among them: it takes more than being offered. */
static const char *target_own_counter(const struct view *view)
{
	const char *name;

	for (size_t i = 0; (name = clocksource_known_name(i)); i++) {
		if (clocksource_is_own_counter(name) && strcmp(name, "tsc") != 0 &&
			clocksource_is_another(view->evidence, name) &&
			advisable_clocksource(view->evidence, name, NULL))
			return name;
	}
	return NULL;
}

/* 2229f70b5bbb, in 4.15: the vDSO reads Xen's clock. */
static bool is_xen_too_old(const struct view *view)
{
	return kernel_is_before(view->evidence, 4, 15);
}

/* "(err N)" instead of "(tsc unstable)": the hypercall is not there (arch/x86/xen/time.c). */
static bool is_xen_without_page(const struct view *view)
{
	return log_find(view->evidence, "PVCLOCK not supported (err");
}

static bool is_xen_unstable(const struct view *view)
{
	return (view->holds & MODE_READ || !is_xen_too_old(view)) && !is_xen_without_page(view);
}

static bool is_page_unstable(const struct view *view)
{
	return view->holds & PAGE_UNSTABLE;
}

static bool is_xen_proven_unstable(const struct view *view)
{
	return is_page_unstable(view) ||
	       log_find(view->evidence, "PVCLOCK not supported (tsc unstable)");
}

static void support_xen(const struct view *view, struct cause *cause)
{
	support_mode(view, cause);
	support_add_log(cause, log_find(view->evidence, "PVCLOCK not supported"));
}

/*
 * kvm-clock gets its mode once, at boot, and only where feature bit and page agree (kvmclock.c):
 * without one KVM never marked it stable, with one the page's bit has been cleared since.
 */
static bool is_kvm_clock_not_lost(const struct view *view)
{
	return !(view->holds & PAGE_UNSTABLE && view->holds & MODE_READ);
}

static bool is_kvm_clock_switched_off(const struct view *view)
{
	return boot_has(view->evidence, "no-kvmclock-vsyscall");
}

static bool is_32_bit(const struct view *view)
{
	return kvm_clock_is_32_bit(view->evidence);
}

static bool is_feature_missing(const struct view *view)
{
	return fact_is_flag(&view->evidence->host.kvm_clock_stable, false);
}

/* Firecracker ends where its guest reboots. */
static bool can_gain_kvm_clock(const struct view *view)
{
	return !is_feature_missing(view) && !platform_is(view->evidence, "firecracker");
}

static bool is_feature_set(const struct view *view)
{
	return fact_is_flag(&view->evidence->host.kvm_clock_stable, true);
}

static bool is_feature_not_set(const struct view *view)
{
	return !is_feature_set(view);
}

/* Only the host's owner can resume a guest; Firecracker sets no clock when it does. */
static bool can_be_resumed(const struct view *view)
{
	return !fact_is_known(&view->evidence->host.platform.fact) ||
	       (host_may_be_restored(view->evidence) &&
		       !platform_is(view->evidence, "firecracker"));
}

static bool may_be_restored(const struct view *view)
{
	return host_may_be_restored(view->evidence);
}

static bool is_never_restored(const struct view *view)
{
	return !host_may_be_restored(view->evidence);
}

static void support_kvm_feature(const struct view *view, struct cause *cause)
{
	const struct flag_fact *stable = &view->evidence->host.kvm_clock_stable;

	support_mode(view, cause);
	if (fact_is_known(&stable->fact))
		support_add(cause, "CPUID: KVM_FEATURE_CLOCKSOURCE_STABLE_BIT %s",
			stable->value ? "set" : "not set");
}

/*
 * Before 4.12, where the vDSO learned to read the page. It is in use, or it would be the remedy; a
 * first clocksource of Hyper-V reads an MSR.
 */
static bool is_hyperv_too_old(const struct view *view)
{
	const struct evidence *evidence = view->evidence;

	if (view->holds & ON_HYPERV_PAGE)
		return !(view->holds & MODE_READ) && !kernel_reads_hyperv_page(evidence);
	if (clocksource_is(evidence, "hyperv_clocksource"))
		return kernel_is_before(evidence, 4, 12);
	return view->holds & PLAIN &&
	       clocksource_is_another(evidence, "hyperv_clocksource_tsc_page") &&
	       !kernel_reads_hyperv_page(evidence);
}

static bool is_hyperv_new_enough(const struct view *view)
{
	return !is_hyperv_too_old(view);
}

static bool may_have_hyperv_backport(const struct view *view)
{
	return !kernel_is_before(view->evidence, 5, 4) && kernel_is_before(view->evidence, 5, 12);
}

/* 0 is no sequence: such a page must not be used (Hyper-V's specification, TLFS). */
static bool is_hyperv_withdrawn(const struct view *view)
{
	const struct number_fact *sequence = &view->evidence->vclock.hyperv_sequence;

	return fact_is_known(&sequence->fact) && sequence->value == 0;
}

/* Each kernel gives it a mode, and this program is not excluded for being 32-bit. */
static bool is_arm_erratum(const struct view *view)
{
	return clocksource_is(view->evidence, "arch_sys_counter") &&
	       strcmp(view->evidence->vclock.name, "archtimer-nocompat") != 0;
}

static void support_arm(const struct view *view, struct cause *cause)
{
	support_mode(view, cause);
	support_add_log(cause, log_find(view->evidence, "workaround for"));
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

static bool has_changed(const struct view *view)
{
	return *view->evidence->clocksource.changed_to;
}

static bool is_clocksource_changing(const struct view *view)
{
	return has_changed(view) ||
	       (counts_are_mixed(view->evidence) && find_return(view->evidence));
}

static void support_changing(const struct view *view, struct cause *cause)
{
	if (has_changed(view))
		support_add(cause, "clocksource: %s, and %s when all was measured",
			view->evidence->clocksource.current,
			view->evidence->clocksource.changed_to);
	support_add_log(cause, find_return(view->evidence));
}

static const struct advice_row switch_to_own_counter = {.id = "switch-to-own-counter",
	.effort = EFFORT_SWITCH,
	.target = target_own_counter,
	.text = "Switch to {to}, the counter of this architecture, which kernels choose by "
		"default.",
	.steps = {SWITCH_STEP(""), {.command = "vdsocheck"}},
	.risk = "It may have been disabled on purpose."};

static const struct advice_row look_where_sys_is = {.id = "look-where-sys-is",
	.effort = EFFORT_LOOK,
	.text = "Run vdsocheck on the host, or with /sys mounted, to see the clocksource."};

static const struct advice_row let_clocksource_settle = {.id = "let-clocksource-settle",
	.effort = EFFORT_LOOK,
	.text = "Run vdsocheck again when the clocksource no longer changes. If it keeps changing, "
		"look for what writes to current_clocksource, such as a tuning script, and in the "
		"kernel log."};

static const struct advice_row newer_kernel_for_xen = {.id = "newer-kernel-for-xen",
	.effort = EFFORT_UPDATE,
	.when = {.unless = EC2_XEN},
	.text = "Use Linux 4.15 or newer, whose vDSO can read Xen's clock where Xen itself runs on "
		"a reliable TSC (clocksource=tsc on Xen's command line)."};

static const struct advice_row move_to_nitro = {.id = "move-to-nitro",
	.effort = EFFORT_UPDATE,
	.anywhere = true,
	.when = {.needs = EC2_XEN},
	.text = "Move to an instance type of the Nitro generation, where the kernel's own choice "
		"(tsc or kvm-clock) is served by the vDSO.",
	.risk = MOVE_RISK};

static const struct advice_row ask_xen_host = {.id = "ask-xen-host",
	.effort = EFFORT_ASK,
	.when = {.unless = EC2_XEN},
	.text = "Ask the operator of this Xen host.",
	.ask = "Can Xen be booted with clocksource=tsc (on XCP-ng and XenServer: "
	       "/opt/xensource/libexec/xen-cmdline --set-xen clocksource=tsc)? Only then, and on a "
	       "reliable TSC, does it mark the TSC stable, so that this guest's vDSO can read the "
	       "xen clocksource. clocksource=tsc in the guest requires an invariant TSC: "
	       "nomigrate=1 and tsc_mode=\"native\" in xl.cfg (xe vm-param-set uuid=UUID "
	       "platform:nomigrate=true platform:tsc_mode=2).",
	.source = "Xen Project, xen-command-line(7) and xen-tscmode(7), "
		  "https://xenbits.xen.org/docs/unstable/misc/xen-command-line.html"};

static const struct advice_row use_64_bit_kernel = {.id = "use-64-bit-kernel",
	.effort = EFFORT_UPDATE,
	.text = "Boot a 64-bit kernel, whose vDSO can read kvm-clock; 32-bit programs run on it."};

static const struct advice_row ask_xen_host_for_page = {.id = "ask-xen-host-for-page",
	.effort = EFFORT_ASK,
	.when = {.unless = EC2_XEN},
	.text = "Ask the operator of this Xen host.",
	.ask = "Xen refuses VCPUOP_register_vcpu_time_memory_area to this guest, without which its "
	       "vDSO cannot read the xen clocksource. Can Xen be updated?"};

/* kvmclock_init() looks at the page's bit once, and at the feature's (arch/x86/kernel/kvmclock.c).
 */
static const struct advice_row reboot_guest = {.id = "reboot-guest",
	.effort = EFFORT_UPDATE,
	.when = {.applies = can_gain_kvm_clock},
	.text = "Reboot this guest if its KVM host's clocksource is tsc now: kvm-clock gets its "
		"vDSO support at boot or not at all.",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

static const struct advice_row ask_kvm_host = {.id = "ask-kvm-host",
	.effort = EFFORT_ASK,
	.when = {.applies = is_feature_not_set},
	.text = "No setting of this guest gives kvm-clock vDSO support. Ask your provider "
		"or platform team.",
	.ask = "kvm-clock has no vDSO support in this guest. Can the host offer "
	       "KVM_FEATURE_CLOCKSOURCE_STABLE_BIT (CPUID 0x40000001, EAX bit 24; in QEMU "
	       "kvmclock-stable-bit), and is its own clocksource tsc, or Hyper-V's page? The guest "
	       "needs both when it boots."};

static const struct advice_row ask_kvm_host_for_tsc = {.id = "ask-kvm-host-for-tsc",
	.effort = EFFORT_ASK,
	.when = {.applies = is_feature_set},
	.text = "No setting of this guest gives kvm-clock vDSO support. Ask your provider "
		"or platform team.",
	.ask = "kvm-clock has no vDSO support in this guest: KVM offers "
	       "KVM_FEATURE_CLOCKSOURCE_STABLE_BIT, but did not mark the clock stable. Is the "
	       "host's own clocksource tsc, or Hyper-V's page, and was it when the guest booted? "
	       "Do the TSC offsets of the guest's CPUs match?"};

#define NO_SETTING_RESTORES                                                                        \
	"No guest setting can restore the flag. Ask your provider or platform team."

static const struct advice_row ask_kvm_host_what_happened = {.id = "ask-kvm-host-what-happened",
	.effort = EFFORT_ASK,
	.when = {.needs = ON_KVM_CLOCK, .applies = is_never_restored},
	.text = NO_SETTING_RESTORES,
	.ask = "The pvclock page of this guest does not have PVCLOCK_TSC_STABLE_BIT set all the "
	       "time. Is the host's clocksource tsc, or Hyper-V's page, now? If so, can the guest "
	       "be paused and resumed, which has KVM judge its TSC anew? Did the host ever leave "
	       "that clocksource (its kernel log shows it)? Was this guest restored or migrated, "
	       "so that the TSC offsets of its CPUs differ?"};

static const struct advice_row ask_xen_host_what_happened = {.id = "ask-xen-host-what-happened",
	.effort = EFFORT_ASK,
	.when = {.needs = ON_XEN, .unless = EC2_XEN},
	.text = NO_SETTING_RESTORES,
	.ask = "XEN_PVCLOCK_TSC_STABLE_BIT is not set all the time for this guest. Is Xen's own "
	       "clocksource tsc now, and was it all the time (its log shows it)? Was this guest "
	       "migrated or restored?"};

static const struct advice_row ask_about_restore = {.id = "ask-about-restore",
	.effort = EFFORT_ASK,
	.when = {.applies = may_be_restored},
	.text = "If this guest was restored from a snapshot, ask your provider or platform team.",
	.ask = "This guest's pvclock page lost PVCLOCK_TSC_STABLE_BIT. Was the guest restored from "
	       "a snapshot with unequal TSC offsets of its CPUs? Cloud Hypervisor makes them "
	       "equal since 53.0, Firecracker where pull request 6200 is applied; or a guest can "
	       "have one CPU. Otherwise, did the host's clocksource ever leave tsc, or Hyper-V's "
	       "page?",
	.source = "Cloud Hypervisor pull request 8437, Firecracker pull request 6200, "
		  "https://github.com/cloud-hypervisor/cloud-hypervisor/pull/8437"};

static const struct way resumes[] = {
	{"cloud-hypervisor", NULL, "on its host",
		"ch-remote --api-socket SOCKET pause && ch-remote --api-socket SOCKET resume",
		NULL},
	{0},
};

/*
 * QEMU sets the guest's clock when it resumes it (kvmclock_vm_state_change() of
 * hw/i386/kvm/clock.c), Cloud Hypervisor too (pull request 7932); for KVM_SET_CLOCK KVM judges the
 * TSC anew (pvclock_update_vm_gtod_copy() of arch/x86/kvm/x86.c). tests/lab has a row of it.
 */
static const struct advice_row resume_guest = {.id = "resume-guest",
	.effort = EFFORT_UPDATE,
	.anywhere = true,
	.when = {.applies = can_be_resumed},
	.text = "Pause and resume this guest when its host is on tsc again: KVM then marks the TSC "
		"stable, if the TSC offsets of the guest's CPUs match.",
	.steps = {{.text = "on its host (Proxmox VE: qm suspend ID && qm resume ID)",
			  .command = "virsh suspend DOMAIN && virsh resume DOMAIN",
			  .ways = resumes},
		{.command = "vdsocheck"}}};

/* A reset writes the TSCs of all CPUs at once, which has KVM judge them anew. */
static const struct advice_row restart_guest = {.id = "restart-guest",
	.effort = EFFORT_UPDATE,
	.anywhere = true,
	.text = "Stop and start this guest (in QEMU a reboot is enough): KVM then marks the TSC "
		"stable again if the host's clocksource is tsc, or Hyper-V's page, by then.",
	.steps = {{.text = "stop and start it from its host or the cloud's console",
			  .ways = advice_moves},
		{.command = "vdsocheck"}},
	.risk = MOVE_RISK};

static const struct advice_row newer_kernel_for_hyperv_page = {.id = "newer-kernel-for-hyperv-page",
	.effort = EFFORT_UPDATE,
	.text = "Use Linux 4.12 or newer, whose vDSO can read Hyper-V's reference TSC page "
		"(clocksource hyperv_clocksource_tsc_page)."};

static const struct advice_row newer_kernel_for_hyperv = {.id = "newer-kernel-for-hyperv",
	.effort = EFFORT_UPDATE,
	.text = "Use a newer kernel from the distribution, or mainline 4.12 or later, where the "
		"vDSO can read the page. If there is none, send this to the distribution.",
	.ask = "The clocksource hyperv_clocksource_tsc_page has no vDSO clock mode on this kernel: "
	       "every gettimeofday() and clock_gettime() is a system call. Does it have mainline "
	       "commit e4ab4658f1cf without its fix 3486d2c9be65?",
	.source = "Microsoft, azurelinux pull request 1238, 2021, "
		  "https://github.com/microsoft/azurelinux/pull/1238"};

static const struct advice_row ask_hyperv_host = {.id = "ask-hyperv-host",
	.effort = EFFORT_ASK,
	.text = "No setting of this guest makes the page valid. Ask your provider or "
		"platform team.",
	.ask = "The Hyper-V reference TSC page of this guest is invalid (tsc_sequence 0), so "
	       "every clock read is a system call. Can the guest run on a host where the page "
	       "is valid?"};

static const struct advice_row other_arm_cpu = {.id = "other-arm-cpu",
	.effort = EFFORT_UPDATE,
	.anywhere = true,
	.text = "No setting helps. If the kernel log contains \"workaround for\", the CPU has an "
		"erratum: use another CPU or machine type. Otherwise look for newer firmware."};

static const struct advice_row ask_vmware_about_counter = {.id = "ask-vmware-about-counter",
	.effort = EFFORT_ASK,
	.when = {.needs = UNDER_VMWARE},
	.text = "No setting of the guest helps. Ask your provider or platform team.",
	.ask = "Each read of the TSC in this guest exits to the hypervisor. Was the guest moved "
	       "(vMotion) or resumed on a host whose TSC has another rate? If so, power it off and "
	       "on there. If not, monitor_control.virtual_rdtsc = \"FALSE\" in its .vmx file gives "
	       "it the host's own TSC (the default is TRUE).",
	.risk = "With virtual_rdtsc FALSE the TSC is another one after vMotion or a suspend, and "
		"the guest's kernel does not check it.",
	.source = "VMware, \"Timekeeping in VMware Virtual Machines\", section \"Virtual TSC\""};

static const struct advice_row ask_xen_about_counter = {.id = "ask-xen-about-counter",
	.effort = EFFORT_ASK,
	.when = {.needs = UNDER_XEN},
	.text = "No setting of the guest helps. Ask your provider or platform team.",
	.ask = "Xen emulates the TSC for this guest. Can it have tsc_mode=\"native\" (xl.cfg; on "
	       "XCP-ng and XenServer xe vm-param-set uuid=UUID platform:tsc_mode=2), or be started "
	       "on a host with the TSC rate that it was created with?",
	.source = "xen-tscmode(7)"};

static const struct advice_row ask_about_trapped_counter = {.id = "ask-about-trapped-counter",
	.effort = EFFORT_ASK,
	.when = {.unless = UNDER_VMWARE | UNDER_XEN},
	.text = "No setting of the guest helps. Ask your provider or platform team.",
	.ask = "Each read of the CPU's counter in this guest exits to the hypervisor: can TSC "
	       "offsetting and scaling be used instead of emulation, or the guest be moved to a "
	       "host with the TSC rate it was started with?"};

const struct cause_row cause_slow_rows[] = {
	{.id = "boot-clocksource",
		.write = write_boot_choice,
		.more = BOOT_PARAMETERS,
		.when = {.applies = boot_choice_slows},
		.certainty = CERTAINTY_PROVEN,
		.support = support_boot,
		.advice = {&advice_drop_tsc_boot, &advice_drop_boot}},
	{.id = "clocksource-unseen",
		.text = "The current clocksource (not visible from here) has no vDSO support.",
		.more = "vdso(7)",
		.when = {.needs = FALLS_BACK | MODE_NONE, .applies = is_unseen},
		.certainty = CERTAINTY_PROVEN,
		.support = support_unseen,
		.advice = {&look_where_sys_is}},
	{.id = "xen-kernel-too-old",
		.text = "This kernel is older than 4.15, the first whose vDSO can read Xen's "
			"clock.",
		.when = {.needs = FALLS_BACK | ON_XEN,
			.unless = MODE_READ,
			.applies = is_xen_too_old},
		.certainty = CERTAINTY_LIKELY,
		.support = support_kernel,
		.advice = {&newer_kernel_for_xen, &move_to_nitro}},
	{.id = "xen-without-time-page",
		.text = "Xen did not register the page through which the vDSO would read its "
			"clock, so the xen clocksource has no vDSO support.",
		.when = {.needs = FALLS_BACK | ON_XEN, .applies = is_xen_without_page},
		.certainty = CERTAINTY_PROVEN,
		.support = support_xen,
		.advice = {&ask_xen_host_for_page, &move_to_nitro}},
	{.id = "xen-clock-unstable",
		.text = "Xen does not guarantee a stable TSC to this guest, so the xen "
			"clocksource has no vDSO support.",
		.more = "xen-tscmode(7)",
		.when = {.needs = FALLS_BACK | ON_XEN,
			.unless = STABLE_NOW,
			.applies = is_xen_unstable},
		.certainty = CERTAINTY_LIKELY,
		.proves = is_xen_proven_unstable,
		.support = support_xen,
		.advice = {&ask_xen_host, &move_to_nitro}},
	{.id = "kvm-clock-switched-off",
		.text = "The kernel command line (no-kvmclock-vsyscall) keeps the vDSO from "
			"reading kvm-clock.",
		.when = {.needs = FALLS_BACK | ON_KVM_CLOCK, .applies = is_kvm_clock_switched_off},
		.certainty = CERTAINTY_PROVEN,
		.support = support_boot,
		.advice = {&advice_drop_tsc_boot, &advice_drop_boot}},
	{.id = "kvm-clock-32-bit",
		.text = "The vDSO of a 32-bit kernel cannot read kvm-clock; that of a 64-bit "
			"kernel can.",
		.when = {.needs = FALLS_BACK | ON_KVM_CLOCK, .applies = is_32_bit},
		.certainty = CERTAINTY_LIKELY,
		.support = support_mode,
		.advice = {&use_64_bit_kernel}},
	{.id = "kvm-clock-never-stable",
		.text = "KVM did not mark the TSC stable when this guest booted, so kvm-clock has "
			"no vDSO support.",
		.when = {.needs = KVM_UNSTABLE | MODE_NONE},
		.certainty = CERTAINTY_LIKELY,
		.proves = is_feature_missing,
		.support = support_kvm_feature,
		.advice = {&reboot_guest, &ask_kvm_host, &ask_kvm_host_for_tsc}},
	{.id = "kvm-clock-lost",
		.text = "KVM marked the TSC stable at boot and has cleared that flag since: the "
			"guest was restored or migrated, or its host left tsc for a while.",
		.when = {.needs = KVM_UNSTABLE | PAGE_UNSTABLE | MODE_READ},
		.certainty = CERTAINTY_PROVEN,
		.support = support_kvm_feature,
		.advice = {&resume_guest, &restart_guest, &ask_about_restore,
			&ask_kvm_host_what_happened}},
	{.id = "kvm-clock-unstable",
		.text = "KVM does not mark this guest's TSC stable, so the vDSO leaves kvm-clock "
			"to the kernel.",
		.when = {.needs = KVM_UNSTABLE,
			.unless = MODE_NONE,
			.applies = is_kvm_clock_not_lost},
		.certainty = CERTAINTY_LIKELY,
		.proves = is_page_unstable,
		.support = support_kvm_feature,
		.advice = {&ask_kvm_host, &ask_kvm_host_for_tsc}},
	{.id = "pvclock-withdrawn",
		.text = "The hypervisor marks this guest's TSC stable only part of the time (not "
			"during a migration, for instance). The rest of the time the calls are "
			"system calls.",
		.when = {.needs = FALLS_BACK | STABLE_NOW},
		.certainty = CERTAINTY_LIKELY,
		.support = support_kvm_feature,
		.advice = {&ask_kvm_host_what_happened, &ask_xen_host_what_happened,
			&move_to_nitro}},
	{.id = "hyperv-kernel-too-old",
		.text = "This kernel is older than 4.12, the first whose vDSO can read Hyper-V's "
			"reference TSC page.",
		.more = HYPERV_CLOCKS,
		.when = {.needs = FALLS_BACK, .applies = is_hyperv_too_old},
		.certainty = CERTAINTY_LIKELY,
		.support = support_kernel,
		.advice = {&newer_kernel_for_hyperv_page}},
	{.id = "hyperv-without-vdso",
		.text = "This kernel does not let its vDSO read the Hyper-V reference TSC page.",
		.when = {.needs = FALLS_BACK | ON_HYPERV_PAGE | MODE_NONE,
			.applies = is_hyperv_new_enough},
		.certainty = CERTAINTY_PROVEN,
		.support = support_kernel,
		.advice = {&newer_kernel_for_hyperv}},
	{.id = "hyperv-backport",
		.text = "A defect of some distribution kernels of 2021, which backported Hyper-V "
			"changes to 5.4, 5.10 or 5.11, removed the vDSO's support.",
		.more = "https://github.com/microsoft/azurelinux/pull/1238",
		.when = {.needs = FALLS_BACK | ON_HYPERV_PAGE | MODE_NONE,
			.applies = may_have_hyperv_backport},
		.certainty = CERTAINTY_POSSIBLE,
		.support = support_kernel},
	{.id = "hyperv-page-invalid",
		.text = "The hypervisor has marked its reference TSC page invalid, so every call "
			"has to go through the kernel.",
		.more = HYPERV_CLOCKS,
		.when = {.needs = FALLS_BACK | ON_HYPERV_PAGE,
			.unless = MODE_NONE,
			.applies = is_hyperv_withdrawn},
		.certainty = CERTAINTY_PROVEN,
		.support = support_mode,
		.advice = {&advice_move, &ask_hyperv_host}},
	{.id = "arm-counter-erratum",
		.text = "The kernel does not let the vDSO read this CPU's counter, for instance "
			"because of an erratum, or because user space may not read it.",
		.when = {.needs = FALLS_BACK, .applies = is_arm_erratum},
		.certainty = CERTAINTY_LIKELY,
		.support = support_arm,
		.advice = {&other_arm_cpu}},
	{.id = "clocksource-changing",
		.text = "The clocksource changed while vdsocheck ran, and with it how the calls "
			"are served.",
		.when = {.applies = is_clocksource_changing},
		.certainty = CERTAINTY_LIKELY,
		.proves = has_changed,
		.support = support_changing,
		.advice = {&let_clocksource_settle}},
	{.id = "counter-trapped",
		.text = "The hypervisor or an emulator intercepts each read of the CPU's counter, "
			"which costs as much as a system call.",
		.when = {.verdicts = BIT(VERDICT_SLOW), .unless = FIRMWARE_COUNTER},
		.certainty = CERTAINTY_PROVEN,
		.support = support_counter,
		.advice = {&advice_move, &ask_vmware_about_counter, &ask_xen_about_counter,
			&ask_about_trapped_counter}},
	{0},
};

/* The last of the causes: those of why the kernel selected this clocksource come before it. */
const struct cause_row cause_plain_rows[] = {
	{.id = "clocksource-without-vdso",
		.write = write_plain,
		.more = "vdso(7)",
		.when = {.applies = is_plain},
		.certainty = CERTAINTY_PROVEN,
		.support = support_mode,
		.advice = {&switch_to_own_counter}},
	{0},
};
