/* SPDX-License-Identifier: MIT */
/*
 * Causes in a hypervisor's clock that the calls fall back on: Xen's, kvm-clock, or Hyper-V's page,
 * which the vDSO reads as long as the hypervisor marks it stable and the kernel can do so.
 */
#include "rules.h"

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

/* "(err N)", not "(tsc unstable)": Xen lacks the hypercall then (xen/time.c). */
static bool has_no_xen_page(const struct view *v)
{
	return v->xen_refused && strstr(v->xen_refused->text, "(err");
}

#define ON_XEN IS(falls_back), IS(on_xen)

/* The vDSO can read it since 2229f70b5bbb, in 4.15, and wherever the page has a mode. */
#define TOO_OLD_FOR_XEN NOT(mode_set), HAS(kernel_is_before, "4.15")

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
	.steps = {{.text = "stop and start it from its host or the cloud's console", .moves = true},
		{.command = "vdsocheck"}},
	.risk = MOVE_RISK};

/*
 * kvm-clock gets its mode once, at boot, and only where both the feature bit and the page's bit are
 * set (kvmclock.c): without a mode KVM never marked it stable; with a mode KVM has cleared the
 * page's bit since.
 */
#define UNSTABLE_KVM_CLOCK                                                                         \
	IS(falls_back), IS(on_kvm_clock), NOT(page_stable), NOT(boot_disables_kvm_vdso),           \
		NOT(kvm_clock_32_bit)

#define LOST_KVM_CLOCK IS(page_unstable), IS(mode_set)
#define OFFERS_STABLE_BIT FACT_IS(host.kvm_clock_stable, true)
#define LACKS_STABLE_BIT FACT_IS(host.kvm_clock_stable, false)

/*
 * Only the host's owner can resume a guest; one without a platform may be a cloud's. Firecracker
 * exits when its guest reboots, and sets no clock when it resumes one.
 */
#define OWNED IS(may_be_restored), HAS_NOT(platform_is, "firecracker")

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

/* Hyper-V's first clocksource reads an MSR. Else the page is in use, or would be the remedy. */
static bool is_too_old_for_hyperv(const struct view *v)
{
	const struct evidence *evidence = v->evidence;

	if (clocksource_is(evidence, "hyperv_clocksource"))
		return kernel_is_before(evidence, "4.12");
	return !v->reads_hyperv_page &&
	       ((v->on_hyperv_page && !v->mode_set) ||
		       (v->unsupported &&
			       clocksource_is_other(evidence, "hyperv_clocksource_tsc_page")));
}

/* ---- the causes ---- */

const struct cause_row causes_hypervisor[] = {
	{"xen-kernel-too-old", GROUP_XEN, CERTAINTY_LIKELY, IF(ON_XEN, TOO_OLD_FOR_XEN),
		"This kernel is older than 4.15, the first whose vDSO can read Xen's clock.",
		.signs = "The calls fall back without a vclock mode, the clocksource is xen, and "
			 "the kernel is older than 4.15.",
		.evidence = cite_mode, .details = {"kernel: {kernel}"},
		.advice = {{&newer_kernel_for_xen, IF(NOT(ec2_xen))},
			{&move_to_nitro, IF(IS(ec2_xen))}}},
	{"xen-without-time-page", GROUP_XEN, CERTAINTY_PROVEN, IF(ON_XEN, ASK(has_no_xen_page)),
		"Xen did not register the page through which the vDSO would read its clock, so "
		"the xen clocksource has no vDSO support.",
		.signs = "The calls fall back, the clocksource is xen, and the kernel log has "
			 "\"PVCLOCK not supported (err\" or \"Cannot restore secondary "
			 "vcpu_time_info\".",
		.line = MEMBER(xen_refused), .evidence = cite_mode,
		.advice = {{&ask_xen_host_for_page, IF(NOT(ec2_xen))},
			{&move_to_nitro, IF(IS(ec2_xen))}}},
	{"xen-clock-unstable", GROUP_XEN, CERTAINTY_LIKELY,
		IF(ON_XEN, NOT(page_stable), NOT_ALL(TOO_OLD_FOR_XEN), ASK_NOT(has_no_xen_page)),
		"Xen does not guarantee a stable TSC to this guest, so the xen clocksource has no "
		"vDSO support.",
		.signs = "The calls fall back, the clocksource is xen, and the pvclock page does "
			 "not have the TSC_STABLE bit, or nothing else explains it; the kernel "
			 "log may have \"PVCLOCK not supported (tsc unstable)\".",
		.proven = IF(ANY(
			IS(page_unstable), HAS(log_has, "PVCLOCK not supported (tsc unstable)"))),
		.line = MEMBER(xen_refused), .evidence = cite_mode, .more = "xen-tscmode(7)",
		.advice = {{&ask_xen_host, IF(NOT(ec2_xen), NOT(on_dom0))},
			{&move_to_nitro, IF(IS(ec2_xen))}, {&boot_xen_with_tsc, IF(IS(on_dom0))}}},
	{"kvm-clock-switched-off", GROUP_KVM, CERTAINTY_PROVEN,
		IF(IS(falls_back), IS(on_kvm_clock), IS(boot_disables_kvm_vdso)),
		"The kernel command line (no-kvmclock-vsyscall) keeps the vDSO from reading "
		"kvm-clock.",
		.signs = "The calls fall back, the clocksource is kvm-clock, and the kernel "
			 "command line has no-kvmclock-vsyscall.",
		.evidence = cite_boot, DROP_BOOT},
	{"kvm-clock-32-bit", GROUP_KVM, CERTAINTY_LIKELY,
		IF(IS(falls_back), IS(on_kvm_clock), IS(kvm_clock_32_bit)),
		"The vDSO of a 32-bit kernel cannot read kvm-clock; that of a 64-bit kernel can.",
		.signs = "The calls fall back, the clocksource is kvm-clock, and the kernel's "
			 "architecture is not x86_64.",
		.evidence = cite_mode, .advice = {{&use_64_bit_kernel, IF(NOT(cpu_32_bit))}}},
	{"kvm-clock-never-stable", GROUP_KVM, CERTAINTY_LIKELY,
		IF(UNSTABLE_KVM_CLOCK, IS(mode_none)),
		"KVM did not mark the TSC stable when this guest booted, so kvm-clock has no vDSO "
		"support.",
		.signs = "The calls fall back, the clocksource is kvm-clock, and the vclock mode "
			 "is none.",
		.proven = IF(LACKS_STABLE_BIT), .evidence = cite_kvm_feature,
		.advice = {{&reboot_guest, IF(NOT_ALL(LACKS_STABLE_BIT),
						   HAS_NOT(platform_is, "firecracker"))},
			{&ask_kvm_host, IF(NOT_ALL(OFFERS_STABLE_BIT))},
			{&ask_kvm_host_for_tsc, IF(OFFERS_STABLE_BIT)}}},
	{"kvm-clock-lost", GROUP_KVM, CERTAINTY_PROVEN, IF(UNSTABLE_KVM_CLOCK, LOST_KVM_CLOCK),
		"KVM marked the TSC stable at boot and has cleared that flag since: the guest was "
		"restored or migrated, or its host left tsc for a while.",
		.signs = "The calls fall back, the clocksource is kvm-clock, and there is a "
			 "vclock mode, but the pvclock page lacks the TSC_STABLE bit.",
		.evidence = cite_kvm_feature,
		.advice = {{&restart_guest, IF(NOT_ALL(OWNED))},
			{&resume_guest,
				IF(NOT_ALL(NOT_ALL(OWNED), STATE(host.platform, FACT_KNOWN)))},
			{&restart_guest, IF(OWNED)}, {&ask_about_restore, IF(IS(may_be_restored))},
			{&ask_kvm_host_what_happened, IF(NOT(may_be_restored))}}},
	{"kvm-clock-unstable", GROUP_KVM, CERTAINTY_LIKELY,
		IF(UNSTABLE_KVM_CLOCK, NOT(mode_none), NOT_ALL(LOST_KVM_CLOCK)),
		"KVM does not mark this guest's TSC stable, so the vDSO leaves kvm-clock to the "
		"kernel.",
		.signs = "The calls fall back, the clocksource is kvm-clock, and the vclock mode "
			 "or the pvclock page could not be read.",
		.proven = IF(IS(page_unstable)), .evidence = cite_kvm_feature,
		.advice = {{&ask_kvm_host, IF(NOT_ALL(OFFERS_STABLE_BIT))},
			{&ask_kvm_host_for_tsc, IF(OFFERS_STABLE_BIT)}}},
	{"pvclock-withdrawn", GROUP_KVM, CERTAINTY_LIKELY, IF(IS(falls_back), IS(page_stable)),
		"The hypervisor marks this guest's TSC stable only part of the time (not during a "
		"migration, for instance). The rest of the time the calls are system calls.",
		.signs = "The calls fall back at times, although there is a vclock mode and the "
			 "pvclock page has the TSC_STABLE bit.",
		.evidence = cite_kvm_feature,
		.advice = {{&ask_kvm_host_what_happened,
				   IF(IS(on_kvm_clock), NOT(may_be_restored))},
			{&ask_xen_host_what_happened, IF(IS(on_xen), NOT(ec2_xen))},
			{&move_to_nitro, IF(IS(ec2_xen))}}},
	{"hyperv-kernel-too-old", GROUP_HYPERV, CERTAINTY_LIKELY,
		IF(IS(falls_back), ASK(is_too_old_for_hyperv)),
		"This kernel is older than 4.12, the first whose vDSO can read Hyper-V's "
		"reference TSC page.",
		.signs = "The calls fall back with such a kernel, and the clocksource is one of "
			 "Hyper-V's, or hyperv_clocksource_tsc_page is available.",
		.evidence = cite_mode, .details = {"kernel: {kernel}"}, .more = HYPERV_CLOCKS,
		.advice = {{&newer_kernel_for_hyperv_page, ALWAYS}}},
	{"hyperv-without-vdso", GROUP_HYPERV, CERTAINTY_PROVEN,
		IF(IS(falls_back), IS(on_hyperv_page), IS(mode_none),
			ASK_NOT(is_too_old_for_hyperv)),
		"This kernel does not let its vDSO read the Hyper-V reference TSC page.",
		.signs = "The calls fall back, the clocksource is hyperv_clocksource_tsc_page, "
			 "and the vclock mode is none.",
		.evidence = cite_mode, .details = {"kernel: {kernel}"},
		.advice = {{&newer_kernel_for_hyperv, ALWAYS}}},
	{"hyperv-backport", GROUP_HYPERV, CERTAINTY_POSSIBLE,
		IF(IS(falls_back), IS(on_hyperv_page), IS(mode_none),
			HAS_NOT(kernel_is_before, "5.4"), HAS(kernel_is_before, "5.12")),
		"A defect of some distribution kernels of 2021, which backported Hyper-V changes "
		"to 5.4, 5.10 or 5.11, removed the vDSO's support.",
		.signs = "The calls fall back, the clocksource is hyperv_clocksource_tsc_page, "
			 "the kernel is Linux 5.4 to 5.11, and the vclock mode is none.",
		.evidence = cite_mode, .details = {"kernel: {kernel}"},
		.more = "https://github.com/microsoft/azurelinux/pull/1238"},
	/* A page with the sequence 0 must not be used (Hyper-V's specification, TLFS). */
	{"hyperv-page-invalid", GROUP_HYPERV, CERTAINTY_PROVEN,
		IF(IS(falls_back), IS(on_hyperv_page), NOT(mode_none),
			FACT_IS(vclock.hyperv_sequence, 0)),
		"The hypervisor has marked its reference TSC page invalid, so every call has to "
		"go through the kernel.",
		.signs = "The calls fall back, the clocksource is hyperv_clocksource_tsc_page, "
			 "and there is a vclock mode, but the page's tsc_sequence is 0.",
		.evidence = cite_mode, .more = HYPERV_CLOCKS,
		.advice = {{&advice_move, IF(NOT(has_switch))}, {&ask_hyperv_host, ALWAYS}}},
	{0},
};
