/* SPDX-License-Identifier: MIT */
/*
 * Causes in a hypervisor's clock that the calls fall back on: Xen's, kvm-clock, or Hyper-V's page,
 * which the vDSO reads as long as the hypervisor marks it stable and the kernel can do so.
 */
#include "rules.h"

#include "base/memory.h"

/* ---- Xen ---- */

static const struct advice_row newer_kernel_for_xen = {"newer-kernel-for-xen", RANK_UPDATE,
	.text = "Use Linux 4.15 or newer, whose vDSO can read Xen's clock where Xen itself runs on "
		"a reliable TSC (clocksource=tsc on Xen's command line)."};

static const struct advice_row move_to_nitro = {"move-to-nitro", RANK_UPDATE, .actor = ACTOR_HOST,
	.irreversible = true,
	.text = "Move to an instance type of the Nitro generation, where the kernel's own choice "
		"(tsc or kvm-clock) is served by the vDSO.",
	.where = HERE, .risk = MOVE_RISK};

static const struct advice_row ask_xen_host = {"ask-xen-host", RANK_ASK,
	.text = "Ask the operator of this Xen host.",
	.ask = "Can Xen be booted with clocksource=tsc (on XCP-ng and XenServer: "
	       "/opt/xensource/libexec/xen-cmdline --set-xen clocksource=tsc)? Only then, and on a "
	       "reliable TSC, does it mark the TSC stable, so that this guest's vDSO can read the "
	       "xen clocksource. clocksource=tsc in the guest requires an invariant TSC: "
	       "nomigrate=1 and tsc_mode=\"native\" in xl.cfg (xe vm-param-set uuid=UUID "
	       "platform:nomigrate=true platform:tsc_mode=2).",
	.source = "Xen Project, xen-command-line(7) and xen-tscmode(7), "
		  "https://xenbits.xen.org/docs/unstable/misc/xen-command-line.html"};

static const struct advice_row boot_xen_with_tsc = {"boot-xen-with-tsc", RANK_UPDATE,
	.actor = ACTOR_HOST,
	.text = "Boot Xen itself with clocksource=tsc, if the TSC of this machine is reliable: only "
		"then does Xen mark its clock stable, for this dom0 and for all guests, so that "
		"their vDSO can read it. On XCP-ng and XenServer the first step does it; "
		"elsewhere add it to Xen's own command line (GRUB_CMDLINE_XEN on Debian).",
	.where = HERE,
	.steps = {{.text = "on XCP-ng and XenServer",
			  .command = "sudo /opt/xensource/libexec/xen-cmdline --set-xen "
				     "clocksource=tsc"},
		{.command = "sudo reboot"}, {.command = "vdsocheck"}},
	.risk = "It restarts all guests. Time goes wrong in all of them if the TSC is not reliable.",
	.source = "Xen Project, xen-command-line(7), "
		  "https://xenbits.xen.org/docs/unstable/misc/xen-command-line.html"};

static const struct advice_row ask_xen_host_for_page = {"ask-xen-host-for-page", RANK_ASK,
	.text = "Ask the operator of this Xen host.",
	.ask = "Xen refuses VCPUOP_register_vcpu_time_memory_area to this guest, without which its "
	       "vDSO cannot read the xen clocksource. Can Xen be updated?"};

static const struct cause_row xen_kernel_too_old = {"xen-kernel-too-old", GROUP_XEN,
	"This kernel is older than 4.15, the first whose vDSO can read Xen's clock.",
	.signs =
		"The calls fall back without a vclock mode, the clocksource is xen, and the kernel "
		"is older than 4.15.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_kernel};

static const struct cause_row xen_without_time_page = {"xen-without-time-page", GROUP_XEN,
	"Xen did not register the page through which the vDSO would read its clock, so the xen "
	"clocksource has no vDSO support.",
	.signs = "The calls fall back, the clocksource is xen, and the kernel log has \"PVCLOCK "
		 "not supported (err\" or \"Cannot restore secondary vcpu_time_info\".",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_mode};

static const struct cause_row xen_clock_unstable = {"xen-clock-unstable", GROUP_XEN,
	"Xen does not guarantee a stable TSC to this guest, so the xen clocksource has no vDSO "
	"support.",
	.signs = "The calls fall back, the clocksource is xen, and the pvclock page does not have "
		 "the TSC_STABLE bit, or nothing else explains it; the kernel log may have "
		 "\"PVCLOCK not supported (tsc unstable)\".",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_mode, .more = "xen-tscmode(7)"};

void cause_xen(const struct view *v, struct cause_list *list)
{
	const struct evidence *evidence = v->evidence;
	bool on_xen = v->falls_back && v->on_xen;
	/* The vDSO can read it since 2229f70b5bbb, in 4.15, and wherever the page has a mode. */
	bool is_kernel_too_old = on_xen && !v->mode_set && kernel_is_before(evidence, "4.15");
	/* "(err N)", not "(tsc unstable)": Xen lacks the hypercall then (xen/time.c). */
	bool has_no_page = on_xen && v->xen_refused && strstr(v->xen_refused->text, "(err");
	bool is_known_unstable =
		v->page_unstable || log_find(evidence, "PVCLOCK not supported (tsc unstable)");
	const struct cause_case cases[] = {
		{&xen_kernel_too_old, .applies = is_kernel_too_old,
			.advice = {{&newer_kernel_for_xen, !v->ec2_xen},
				{&move_to_nitro, v->ec2_xen}}},
		{&xen_without_time_page, .applies = has_no_page, .line = v->xen_refused,
			.advice = {{&ask_xen_host_for_page, !v->ec2_xen},
				{&move_to_nitro, v->ec2_xen}}},
		{&xen_clock_unstable,
			.applies = on_xen && !v->page_stable && !is_kernel_too_old && !has_no_page,
			.proven = is_known_unstable, .line = v->xen_refused,
			.advice = {{&ask_xen_host, !v->ec2_xen && !v->on_dom0},
				{&move_to_nitro, v->ec2_xen}, {&boot_xen_with_tsc, v->on_dom0}}},
	};

	cause_add(list, v, cases, ARRAY_SIZE(cases));
}

/* ---- kvm-clock, and the page that it shares with Xen's clock ---- */

static void cite_kvm_feature(const struct view *v, struct cause *cause)
{
	const struct flag_fact *stable = &v->evidence->host.kvm_clock_stable;

	cite_mode(v, cause);
	if (fact_is_known(&stable->fact))
		cite(cause, "CPUID: KVM_FEATURE_CLOCKSOURCE_STABLE_BIT %s",
			stable->value ? "set" : "not set");
}

static const struct advice_row use_64_bit_kernel = {"use-64-bit-kernel", RANK_UPDATE,
	.text = "Boot a 64-bit kernel, whose vDSO can read kvm-clock; 32-bit programs run on it."};

/* kvmclock_init() reads the page's bit and the feature bit once. */
static const struct advice_row reboot_guest = {"reboot-guest", RANK_UPDATE, .actor = ACTOR_GUEST,
	.text = "Reboot this guest if its KVM host's clocksource is tsc now: kvm-clock gets its "
		"vDSO support at boot or not at all.",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

#define NO_SETTING_ENABLES                                                                         \
	"No setting of this guest gives kvm-clock vDSO support. Ask your provider or platform team."

static const struct advice_row ask_kvm_host = {"ask-kvm-host", RANK_ASK, .text = NO_SETTING_ENABLES,
	.ask = "kvm-clock has no vDSO support in this guest. Can the host offer "
	       "KVM_FEATURE_CLOCKSOURCE_STABLE_BIT (CPUID 0x40000001, EAX bit 24; in QEMU "
	       "kvmclock-stable-bit), and is its own clocksource tsc, or Hyper-V's page? The guest "
	       "needs both when it boots."};

static const struct advice_row ask_kvm_host_for_tsc = {"ask-kvm-host-for-tsc", RANK_ASK,
	.text = NO_SETTING_ENABLES,
	.ask = "kvm-clock has no vDSO support in this guest: KVM offers "
	       "KVM_FEATURE_CLOCKSOURCE_STABLE_BIT, but did not mark the clock stable. Is the "
	       "host's own clocksource tsc, or Hyper-V's page, and was it when the guest booted? "
	       "Do the TSC offsets of the guest's CPUs match?"};

#define NO_SETTING_RESTORES                                                                        \
	"No guest setting can restore the flag. Ask your provider or platform team."

static const struct advice_row ask_kvm_host_what_happened = {"ask-kvm-host-what-happened", RANK_ASK,
	.text = NO_SETTING_RESTORES,
	.ask = "The pvclock page of this guest does not have PVCLOCK_TSC_STABLE_BIT set all the "
	       "time. Is the host's clocksource tsc, or Hyper-V's page, now? If so, can the guest "
	       "be paused and resumed, which makes KVM judge its TSC anew? Did the host ever leave "
	       "that clocksource (its kernel log shows it)? Was this guest restored or migrated, "
	       "so that the TSC offsets of its CPUs differ?"};

static const struct advice_row ask_xen_host_what_happened = {"ask-xen-host-what-happened", RANK_ASK,
	.text = NO_SETTING_RESTORES,
	.ask = "XEN_PVCLOCK_TSC_STABLE_BIT is not set all the time for this guest. Is Xen's own "
	       "clocksource tsc now, and was it all the time (its log shows it)? Was this guest "
	       "migrated or restored?"};

static const struct advice_row ask_about_restore = {"ask-about-restore", RANK_ASK,
	.text = "If this guest was restored from a snapshot, ask your provider or platform team.",
	.ask = "This guest's pvclock page lost PVCLOCK_TSC_STABLE_BIT. Was the guest restored from "
	       "a snapshot with unequal TSC offsets of its CPUs? Cloud Hypervisor has made them "
	       "equal since 53.0, and Firecracker does with pull request 6200; a guest with one "
	       "CPU is not affected. Otherwise, did the host's clocksource ever leave tsc, or "
	       "Hyper-V's page?",
	.source = "Cloud Hypervisor pull request 8437, Firecracker pull request 6200, "
		  "https://github.com/cloud-hypervisor/cloud-hypervisor/pull/8437"};

static const struct way resumes[] = {
	{"cloud-hypervisor", NULL,
		{.text = "on its host",
			.command = "ch-remote --api-socket SOCKET pause && ch-remote --api-socket "
				   "SOCKET resume"}},
	{0},
};

/*
 * QEMU sets the guest's clock when it resumes it (kvmclock_vm_state_change() of
 * hw/i386/kvm/clock.c), Cloud Hypervisor too (pull request 7932); for KVM_SET_CLOCK KVM judges the
 * TSC anew (pvclock_update_vm_gtod_copy() of arch/x86/kvm/x86.c). tests/lab has a row of it.
 */
static const struct advice_row resume_guest = {"resume-guest", RANK_UPDATE, .actor = ACTOR_HOST,
	.text = "Pause and resume this guest when its host is on tsc again: KVM then marks the TSC "
		"stable, if the TSC offsets of the guest's CPUs match.",
	.where = HERE,
	.steps = {{.text = "on its host (Proxmox VE: qm suspend ID && qm resume ID)",
			  .command = "virsh suspend DOMAIN && virsh resume DOMAIN",
			  .ways = resumes},
		{.command = "vdsocheck"}}};

/* A reset writes the TSCs of all CPUs at once, which has KVM judge them anew. */
static const struct advice_row restart_guest = {"restart-guest", RANK_UPDATE, .actor = ACTOR_HOST,
	.irreversible = true,
	.text = "Stop and start this guest (in QEMU a reboot is enough): KVM then marks the TSC "
		"stable again if the host's clocksource is tsc, or Hyper-V's page, by then.",
	.where = HERE,
	.steps = {{.text = "stop and start it from its host or the cloud's console",
			  .ways = advice_moves},
		{.command = "vdsocheck"}},
	.risk = MOVE_RISK};

static const struct cause_row kvm_clock_switched_off = {"kvm-clock-switched-off", GROUP_KVM,
	"The kernel command line (no-kvmclock-vsyscall) keeps the vDSO from reading kvm-clock.",
	.signs = "The calls fall back, the clocksource is kvm-clock, and the kernel command line "
		 "has no-kvmclock-vsyscall.",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_boot};

static const struct cause_row kvm_clock_32_bit = {"kvm-clock-32-bit", GROUP_KVM,
	"The vDSO of a 32-bit kernel cannot read kvm-clock; that of a 64-bit kernel can.",
	.signs = "The calls fall back, the clocksource is kvm-clock, and the kernel's architecture "
		 "is not x86_64.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_mode};

static const struct cause_row kvm_clock_never_stable = {"kvm-clock-never-stable", GROUP_KVM,
	"KVM did not mark the TSC stable when this guest booted, so kvm-clock has no vDSO support.",
	.signs = "The calls fall back, the clocksource is kvm-clock, and the vclock mode is none.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_kvm_feature};

static const struct cause_row kvm_clock_lost = {"kvm-clock-lost", GROUP_KVM,
	"KVM marked the TSC stable at boot and has cleared that flag since: the guest was restored "
	"or migrated, or its host left tsc for a while.",
	.signs = "The calls fall back, the clocksource is kvm-clock, and there is a vclock mode, "
		 "but the pvclock page lacks the TSC_STABLE bit.",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_kvm_feature};

static const struct cause_row kvm_clock_unstable = {"kvm-clock-unstable", GROUP_KVM,
	"KVM does not mark this guest's TSC stable, so the vDSO leaves kvm-clock to the kernel.",
	.signs = "The calls fall back, the clocksource is kvm-clock, and the vclock mode or the "
		 "pvclock page could not be read.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_kvm_feature};

static const struct cause_row pvclock_withdrawn = {"pvclock-withdrawn", GROUP_KVM,
	"The hypervisor marks this guest's TSC stable only part of the time (not during a "
	"migration, for instance). The rest of the time the calls are system calls.",
	.signs = "The calls fall back at times, although there is a vclock mode and the pvclock "
		 "page has the TSC_STABLE bit.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_kvm_feature};

void cause_pvclock(const struct view *v, struct cause_list *list)
{
	const struct evidence *evidence = v->evidence;
	const struct flag_fact *feature = &evidence->host.kvm_clock_stable;
	bool has_feature = fact_is_flag(feature, true),
	     lacks_feature = fact_is_flag(feature, false);
	bool on_kvm_clock = v->falls_back && v->on_kvm_clock;
	bool is_off = on_kvm_clock && boot_takes(evidence, BOOT_KVM_VDSO);
	bool is_unstable = on_kvm_clock && !v->page_stable && !is_off && !v->kvm_clock_32_bit;
	/*
	 * kvm-clock gets its mode once, at boot, and only where both the feature bit and the page's
	 * bit are set (kvmclock.c): without a mode KVM never marked it stable; with a mode KVM has
	 * cleared the page's bit since.
	 */
	bool was_never_stable = is_unstable && v->mode_none;
	bool is_lost = is_unstable && v->page_unstable && v->mode_set;
	/* Firecracker exits when its guest reboots, and sets no clock when it resumes one. */
	bool on_firecracker = platform_is(evidence, "firecracker");
	/* Only the host's owner can resume a guest; one without a platform may be a cloud's. */
	bool is_owned = v->may_be_restored && !on_firecracker;
	bool may_be_owned = is_owned || !fact_is_known(&evidence->host.platform.fact);
	const struct cause_case cases[] = {
		{&kvm_clock_switched_off, .applies = is_off, DROP_BOOT(v)},
		{&kvm_clock_32_bit, .applies = on_kvm_clock && v->kvm_clock_32_bit,
			.advice = {{&use_64_bit_kernel,
				!fact_is_flag(&evidence->host.long_mode, false)}}},
		{&kvm_clock_never_stable, .applies = was_never_stable, .proven = lacks_feature,
			.advice = {{&reboot_guest, !lacks_feature && !on_firecracker},
				{&ask_kvm_host, !has_feature},
				{&ask_kvm_host_for_tsc, has_feature}}},
		{&kvm_clock_lost, .applies = is_lost,
			.advice = {{&restart_guest, !is_owned}, {&resume_guest, may_be_owned},
				{&restart_guest, is_owned},
				{&ask_about_restore, v->may_be_restored},
				{&ask_kvm_host_what_happened, !v->may_be_restored}}},
		{&kvm_clock_unstable, .applies = is_unstable && !was_never_stable && !is_lost,
			.proven = v->page_unstable,
			.advice = {{&ask_kvm_host, !has_feature},
				{&ask_kvm_host_for_tsc, has_feature}}},
		{&pvclock_withdrawn, .applies = v->falls_back && v->page_stable,
			.advice = {{&ask_kvm_host_what_happened,
					   v->on_kvm_clock && !v->may_be_restored},
				{&ask_xen_host_what_happened, v->on_xen && !v->ec2_xen},
				{&move_to_nitro, v->ec2_xen}}},
	};

	cause_add(list, v, cases, ARRAY_SIZE(cases));
}

/* ---- Hyper-V ---- */

static const struct advice_row newer_kernel_for_hyperv_page = {"newer-kernel-for-hyperv-page",
	RANK_UPDATE,
	.text = "Use Linux 4.12 or newer, whose vDSO can read Hyper-V's reference TSC page "
		"(clocksource hyperv_clocksource_tsc_page)."};

static const struct advice_row newer_kernel_for_hyperv = {"newer-kernel-for-hyperv", RANK_UPDATE,
	.text = "Use another kernel, a newer one of the distribution or a mainline kernel, whose "
		"vDSO can read the page. If there is none, send this to the distribution.",
	.ask = "The clocksource hyperv_clocksource_tsc_page has no vDSO clock mode on this kernel: "
	       "every gettimeofday() and clock_gettime() is a system call. Does it have mainline "
	       "commit e4ab4658f1cf without its fix 3486d2c9be65?",
	.source = "Microsoft, azurelinux pull request 1238, 2021, "
		  "https://github.com/microsoft/azurelinux/pull/1238"};

static const struct advice_row ask_hyperv_host = {"ask-hyperv-host", RANK_ASK,
	.text = "No setting of this guest makes the page valid. Ask your provider or platform team.",
	.ask = "The Hyper-V reference TSC page of this guest is invalid (tsc_sequence 0), so every "
	       "clock read is a system call. Can the guest run on a host where the page is valid?"};

static const struct cause_row hyperv_kernel_too_old = {"hyperv-kernel-too-old", GROUP_HYPERV,
	"This kernel is older than 4.12, the first whose vDSO can read Hyper-V's reference TSC "
	"page.",
	.signs = "The calls fall back with such a kernel, and the clocksource is one of Hyper-V's, "
		 "or hyperv_clocksource_tsc_page is available.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_kernel, .more = HYPERV_CLOCKS};

static const struct cause_row hyperv_without_vdso = {"hyperv-without-vdso", GROUP_HYPERV,
	"This kernel does not let its vDSO read the Hyper-V reference TSC page.",
	.signs = "The calls fall back, the clocksource is hyperv_clocksource_tsc_page, and the "
		 "vclock mode is none.",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_kernel};

static const struct cause_row hyperv_backport = {"hyperv-backport", GROUP_HYPERV,
	"A defect of some distribution kernels of 2021, which backported Hyper-V changes to 5.4, "
	"5.10 or 5.11, removed the vDSO's support.",
	.signs = "The calls fall back, the clocksource is hyperv_clocksource_tsc_page, the kernel "
		 "is Linux 5.4 to 5.11, and the vclock mode is none.",
	.certainty = CERTAINTY_POSSIBLE, .evidence = cite_kernel,
	.more = "https://github.com/microsoft/azurelinux/pull/1238"};

/* A page with the sequence 0 must not be used (Hyper-V's specification, TLFS). */
static const struct cause_row hyperv_page_invalid = {"hyperv-page-invalid", GROUP_HYPERV,
	"The hypervisor has marked its reference TSC page invalid, so every call has to go through "
	"the kernel.",
	.signs = "The calls fall back, the clocksource is hyperv_clocksource_tsc_page, and there "
		 "is a vclock mode, but the page's tsc_sequence is 0.",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_mode, .more = HYPERV_CLOCKS};

void cause_hyperv(const struct view *v, struct cause_list *list)
{
	const struct evidence *evidence = v->evidence;
	const struct number_fact *sequence = &evidence->vclock.hyperv_sequence;
	bool on_page = v->falls_back && v->on_hyperv_page;
	/* Either the page is in use, or a switch to it would be the remedy. */
	bool is_page_unreadable =
		!v->reads_hyperv_page &&
		((on_page && !v->mode_set) ||
			(v->falls_back && v->unsupported &&
				clocksource_is_other(evidence, "hyperv_clocksource_tsc_page")));
	/* Hyper-V's first clocksource reads an MSR. */
	bool is_kernel_too_old = clocksource_is(evidence, "hyperv_clocksource")
	                                 ? v->falls_back && kernel_is_before(evidence, "4.12")
	                                 : is_page_unreadable;
	bool has_no_mode = on_page && v->mode_none;
	const struct cause_case cases[] = {
		{&hyperv_kernel_too_old, .applies = is_kernel_too_old,
			.advice = {{&newer_kernel_for_hyperv_page, true}}},
		{&hyperv_without_vdso, .applies = has_no_mode && !is_kernel_too_old,
			.advice = {{&newer_kernel_for_hyperv, true}}},
		{&hyperv_backport, .applies = has_no_mode && !kernel_is_before(evidence, "5.4") &&
	                                      kernel_is_before(evidence, "5.12")},
		{&hyperv_page_invalid,
			.applies = on_page && !v->mode_none && fact_is_known(&sequence->fact) &&
	                           sequence->value == 0,
			.advice = {{&advice_move, !v->has_switch}, {&ask_hyperv_host, true}}},
	};

	cause_add(list, v, cases, ARRAY_SIZE(cases));
}
