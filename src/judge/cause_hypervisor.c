/* SPDX-License-Identifier: MIT */
/*
 * Causes in a hypervisor's clock that the calls fall back on: Xen's, kvm-clock, or Hyper-V's page,
 * which the vDSO reads as long as the hypervisor marks it stable and the kernel can do so.
 */
#include "rules.h"

/* ---- Xen ---- */

/* 2229f70b5bbb, in 4.15: the vDSO reads Xen's clock. A mode in the page overrules the release. */
static bool xen_kernel_too_old(const struct view *v)
{
	return v->falls_back && v->on_xen && !v->mode_set && kernel_is_before(v->evidence, 4, 15);
}

/* "(err N)" instead of "(tsc unstable)": the hypercall is not there (arch/x86/xen/time.c). */
static bool xen_without_time_page(const struct view *v)
{
	return v->falls_back && v->on_xen && log_find(v->evidence, "PVCLOCK not supported (err");
}

static bool xen_clock_unstable(const struct view *v)
{
	return v->falls_back && v->on_xen && !v->page_stable && !xen_kernel_too_old(v) &&
	       !xen_without_time_page(v);
}

static bool is_xen_known_unstable(const struct view *v)
{
	return v->page_unstable || log_find(v->evidence, "PVCLOCK not supported (tsc unstable)");
}

static bool is_ec2_xen(const struct view *v)
{
	return v->ec2_xen;
}

static const struct advice_row newer_kernel_for_xen = {.id = "newer-kernel-for-xen",
	.rank = RANK_UPDATE,
	.unless = is_ec2_xen,
	.text = "Use Linux 4.15 or newer, whose vDSO can read Xen's clock where Xen itself runs on "
		"a reliable TSC (clocksource=tsc on Xen's command line)."};

static const struct advice_row move_to_nitro = {.id = "move-to-nitro",
	.rank = RANK_UPDATE,
	.anywhere = true,
	.applies = is_ec2_xen,
	.text = "Move to an instance type of the Nitro generation, where the kernel's own choice "
		"(tsc or kvm-clock) is served by the vDSO.",
	.risk = MOVE_RISK};

static const struct advice_row ask_xen_host = {.id = "ask-xen-host",
	.rank = RANK_ASK,
	.unless = is_ec2_xen,
	.text = "Ask the operator of this Xen host.",
	.ask = "Can Xen be booted with clocksource=tsc (on XCP-ng and XenServer: "
	       "/opt/xensource/libexec/xen-cmdline --set-xen clocksource=tsc)? Only then, and on a "
	       "reliable TSC, does it mark the TSC stable, so that this guest's vDSO can read the "
	       "xen clocksource. clocksource=tsc in the guest requires an invariant TSC: "
	       "nomigrate=1 and tsc_mode=\"native\" in xl.cfg (xe vm-param-set uuid=UUID "
	       "platform:nomigrate=true platform:tsc_mode=2).",
	.source = "Xen Project, xen-command-line(7) and xen-tscmode(7), "
		  "https://xenbits.xen.org/docs/unstable/misc/xen-command-line.html"};

static const struct advice_row ask_xen_host_for_page = {.id = "ask-xen-host-for-page",
	.rank = RANK_ASK,
	.unless = is_ec2_xen,
	.text = "Ask the operator of this Xen host.",
	.ask = "Xen refuses VCPUOP_register_vcpu_time_memory_area to this guest, without which its "
	       "vDSO cannot read the xen clocksource. Can Xen be updated?"};

/* ---- kvm-clock, and the page that it shares with Xen's clock ---- */

static bool kvm_clock_switched_off(const struct view *v)
{
	return v->falls_back && v->on_kvm_clock && boot_has(v->evidence, "no-kvmclock-vsyscall");
}

static bool kvm_clock_32_bit(const struct view *v)
{
	return v->falls_back && v->on_kvm_clock && v->kvm_clock_32_bit;
}

/*
 * kvm-clock gets its mode once, at boot, and only where feature bit and page agree (kvmclock.c):
 * without one KVM never marked it stable, with one the page's bit has been cleared since.
 */
static bool kvm_clock_never_stable(const struct view *v)
{
	return v->kvm_unstable && v->mode_none;
}

static bool kvm_clock_lost(const struct view *v)
{
	return v->kvm_unstable && v->page_unstable && v->mode_set;
}

static bool kvm_clock_unstable(const struct view *v)
{
	return v->kvm_unstable && !kvm_clock_never_stable(v) && !kvm_clock_lost(v);
}

static bool pvclock_withdrawn(const struct view *v)
{
	return v->falls_back && v->page_stable;
}

static bool is_feature_set(const struct view *v)
{
	return fact_is_flag(&v->evidence->host.kvm_clock_stable, true);
}

static bool is_feature_missing(const struct view *v)
{
	return fact_is_flag(&v->evidence->host.kvm_clock_stable, false);
}

static bool is_page_unstable(const struct view *v)
{
	return v->page_unstable;
}

static void cite_kvm_feature(const struct view *v, struct cause *cause)
{
	const struct flag_fact *stable = &v->evidence->host.kvm_clock_stable;

	cite_mode(v, cause);
	if (fact_is_known(&stable->fact))
		cite(cause, "CPUID: KVM_FEATURE_CLOCKSOURCE_STABLE_BIT %s",
			stable->value ? "set" : "not set");
}

/* Firecracker ends where its guest reboots. */
static bool can_gain_kvm_clock(const struct view *v)
{
	return !is_feature_missing(v) && !platform_is(v->evidence, "firecracker");
}

/* Only the host's owner can resume a guest; Firecracker sets no clock when it does. */
static bool can_be_resumed(const struct view *v)
{
	return !fact_is_known(&v->evidence->host.platform.fact) ||
	       (v->may_be_restored && !platform_is(v->evidence, "firecracker"));
}

static bool may_be_restored(const struct view *v)
{
	return v->may_be_restored;
}

static bool is_migrated_kvm_guest(const struct view *v)
{
	return v->on_kvm_clock && !v->may_be_restored;
}

static bool is_xen_guest_elsewhere(const struct view *v)
{
	return v->on_xen && !v->ec2_xen;
}

static const struct advice_row use_64_bit_kernel = {.id = "use-64-bit-kernel",
	.rank = RANK_UPDATE,
	.text = "Boot a 64-bit kernel, whose vDSO can read kvm-clock; 32-bit programs run on it."};

/* kvmclock_init() looks at the page's bit once, and at the feature's. */
static const struct advice_row reboot_guest = {.id = "reboot-guest",
	.rank = RANK_UPDATE,
	.applies = can_gain_kvm_clock,
	.text = "Reboot this guest if its KVM host's clocksource is tsc now: kvm-clock gets its "
		"vDSO support at boot or not at all.",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

#define NO_SETTING_ENABLES                                                                         \
	"No setting of this guest gives kvm-clock vDSO support. Ask your provider or platform team."

static const struct advice_row ask_kvm_host = {.id = "ask-kvm-host",
	.rank = RANK_ASK,
	.unless = is_feature_set,
	.text = NO_SETTING_ENABLES,
	.ask = "kvm-clock has no vDSO support in this guest. Can the host offer "
	       "KVM_FEATURE_CLOCKSOURCE_STABLE_BIT (CPUID 0x40000001, EAX bit 24; in QEMU "
	       "kvmclock-stable-bit), and is its own clocksource tsc, or Hyper-V's page? The guest "
	       "needs both when it boots."};

static const struct advice_row ask_kvm_host_for_tsc = {.id = "ask-kvm-host-for-tsc",
	.rank = RANK_ASK,
	.applies = is_feature_set,
	.text = NO_SETTING_ENABLES,
	.ask = "kvm-clock has no vDSO support in this guest: KVM offers "
	       "KVM_FEATURE_CLOCKSOURCE_STABLE_BIT, but did not mark the clock stable. Is the "
	       "host's own clocksource tsc, or Hyper-V's page, and was it when the guest booted? "
	       "Do the TSC offsets of the guest's CPUs match?"};

#define NO_SETTING_RESTORES                                                                        \
	"No guest setting can restore the flag. Ask your provider or platform team."

static const struct advice_row ask_kvm_host_what_happened = {.id = "ask-kvm-host-what-happened",
	.rank = RANK_ASK,
	.applies = is_migrated_kvm_guest,
	.text = NO_SETTING_RESTORES,
	.ask = "The pvclock page of this guest does not have PVCLOCK_TSC_STABLE_BIT set all the "
	       "time. Is the host's clocksource tsc, or Hyper-V's page, now? If so, can the guest "
	       "be paused and resumed, which has KVM judge its TSC anew? Did the host ever leave "
	       "that clocksource (its kernel log shows it)? Was this guest restored or migrated, "
	       "so that the TSC offsets of its CPUs differ?"};

static const struct advice_row ask_xen_host_what_happened = {.id = "ask-xen-host-what-happened",
	.rank = RANK_ASK,
	.applies = is_xen_guest_elsewhere,
	.text = NO_SETTING_RESTORES,
	.ask = "XEN_PVCLOCK_TSC_STABLE_BIT is not set all the time for this guest. Is Xen's own "
	       "clocksource tsc now, and was it all the time (its log shows it)? Was this guest "
	       "migrated or restored?"};

static const struct advice_row ask_about_restore = {.id = "ask-about-restore",
	.rank = RANK_ASK,
	.applies = may_be_restored,
	.text = "If this guest was restored from a snapshot, ask your provider or platform team.",
	.ask = "This guest's pvclock page lost PVCLOCK_TSC_STABLE_BIT. Was the guest restored from "
	       "a snapshot with unequal TSC offsets of its CPUs? Cloud Hypervisor makes them "
	       "equal since 53.0, Firecracker where pull request 6200 is applied; or a guest can "
	       "have one CPU. Otherwise, did the host's clocksource ever leave tsc, or Hyper-V's "
	       "page?",
	.source = "Cloud Hypervisor pull request 8437, Firecracker pull request 6200, "
		  "https://github.com/cloud-hypervisor/cloud-hypervisor/pull/8437"};

static const struct way resumes[] = {
	{"cloud-hypervisor", NULL,
		{.text = "on its host",
			.command = "ch-remote --api-socket SOCKET pause && "
				   "ch-remote --api-socket SOCKET resume"}},
	{0},
};

/*
 * QEMU sets the guest's clock when it resumes it (kvmclock_vm_state_change() of
 * hw/i386/kvm/clock.c), Cloud Hypervisor too (pull request 7932); for KVM_SET_CLOCK KVM judges the
 * TSC anew (pvclock_update_vm_gtod_copy() of arch/x86/kvm/x86.c). tests/lab has a row of it.
 */
static const struct advice_row resume_guest = {.id = "resume-guest",
	.rank = RANK_UPDATE,
	.anywhere = true,
	.applies = can_be_resumed,
	.text = "Pause and resume this guest when its host is on tsc again: KVM then marks the TSC "
		"stable, if the TSC offsets of the guest's CPUs match.",
	.steps = {{.text = "on its host (Proxmox VE: qm suspend ID && qm resume ID)",
			  .command = "virsh suspend DOMAIN && virsh resume DOMAIN",
			  .ways = resumes},
		{.command = "vdsocheck"}}};

/* A reset writes the TSCs of all CPUs at once, which has KVM judge them anew. */
static const struct advice_row restart_guest = {.id = "restart-guest",
	.rank = RANK_UPDATE,
	.anywhere = true,
	.text = "Stop and start this guest (in QEMU a reboot is enough): KVM then marks the TSC "
		"stable again if the host's clocksource is tsc, or Hyper-V's page, by then.",
	.steps = {{.text = "stop and start it from its host or the cloud's console",
			  .ways = advice_moves},
		{.command = "vdsocheck"}},
	.risk = MOVE_RISK};

/* ---- Hyper-V ---- */

/*
 * Before 4.12, where the vDSO learned to read the page. It is in use, or it would be the remedy; a
 * first clocksource of Hyper-V reads an MSR.
 */
static bool hyperv_kernel_too_old(const struct view *v)
{
	const struct evidence *evidence = v->evidence;

	if (!v->falls_back)
		return false;
	if (v->on_hyperv_page)
		return !v->mode_set && !v->reads_hyperv_page;
	if (clocksource_is(evidence, "hyperv_clocksource"))
		return kernel_is_before(evidence, 4, 12);
	return v->unsupported && !v->reads_hyperv_page &&
	       clocksource_is_another(evidence, "hyperv_clocksource_tsc_page");
}

static bool hyperv_without_vdso(const struct view *v)
{
	return v->falls_back && v->on_hyperv_page && v->mode_none && !hyperv_kernel_too_old(v);
}

static bool hyperv_backport(const struct view *v)
{
	return v->falls_back && v->on_hyperv_page && v->mode_none &&
	       !kernel_is_before(v->evidence, 5, 4) && kernel_is_before(v->evidence, 5, 12);
}

/* 0 is no sequence: such a page must not be used (Hyper-V's specification, TLFS). */
static bool hyperv_page_invalid(const struct view *v)
{
	const struct number_fact *sequence = &v->evidence->vclock.hyperv_sequence;

	return v->falls_back && v->on_hyperv_page && !v->mode_none &&
	       fact_is_known(&sequence->fact) && sequence->value == 0;
}

static const struct advice_row newer_kernel_for_hyperv_page = {.id = "newer-kernel-for-hyperv-page",
	.rank = RANK_UPDATE,
	.text = "Use Linux 4.12 or newer, whose vDSO can read Hyper-V's reference TSC page "
		"(clocksource hyperv_clocksource_tsc_page)."};

static const struct advice_row newer_kernel_for_hyperv = {.id = "newer-kernel-for-hyperv",
	.rank = RANK_UPDATE,
	.text = "Use a newer kernel from the distribution, or mainline 4.12 or later, where the "
		"vDSO can read the page. If there is none, send this to the distribution.",
	.ask = "The clocksource hyperv_clocksource_tsc_page has no vDSO clock mode on this kernel: "
	       "every gettimeofday() and clock_gettime() is a system call. Does it have mainline "
	       "commit e4ab4658f1cf without its fix 3486d2c9be65?",
	.source = "Microsoft, azurelinux pull request 1238, 2021, "
		  "https://github.com/microsoft/azurelinux/pull/1238"};

static const struct advice_row ask_hyperv_host = {.id = "ask-hyperv-host",
	.rank = RANK_ASK,
	.text = "No setting of this guest makes the page valid. Ask your provider or "
		"platform team.",
	.ask = "The Hyper-V reference TSC page of this guest is invalid (tsc_sequence 0), so "
	       "every clock read is a system call. Can the guest run on a host where the page "
	       "is valid?"};

const struct cause_row cause_hypervisor_rows[] = {
	{.id = "xen-kernel-too-old",
		.text = "This kernel is older than 4.15, the first whose vDSO can read Xen's "
			"clock.",
		.applies = xen_kernel_too_old,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_kernel,
		.advice = {&newer_kernel_for_xen, &move_to_nitro}},
	{.id = "xen-without-time-page",
		.text = "Xen did not register the page through which the vDSO would read its "
			"clock, so the xen clocksource has no vDSO support.",
		.applies = xen_without_time_page,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_mode,
		.log = "PVCLOCK not supported",
		.advice = {&ask_xen_host_for_page, &move_to_nitro}},
	{.id = "xen-clock-unstable",
		.text = "Xen does not guarantee a stable TSC to this guest, so the xen "
			"clocksource has no vDSO support.",
		.more = "xen-tscmode(7)",
		.applies = xen_clock_unstable,
		.certainty = CERTAINTY_LIKELY,
		.proves = is_xen_known_unstable,
		.evidence = cite_mode,
		.log = "PVCLOCK not supported",
		.advice = {&ask_xen_host, &move_to_nitro}},
	{.id = "kvm-clock-switched-off",
		.text = "The kernel command line (no-kvmclock-vsyscall) keeps the vDSO from "
			"reading kvm-clock.",
		.applies = kvm_clock_switched_off,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_boot,
		.advice = {&advice_drop_tsc_boot, &advice_drop_boot}},
	{.id = "kvm-clock-32-bit",
		.text = "The vDSO of a 32-bit kernel cannot read kvm-clock; that of a 64-bit "
			"kernel can.",
		.applies = kvm_clock_32_bit,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_mode,
		.advice = {&use_64_bit_kernel}},
	{.id = "kvm-clock-never-stable",
		.text = "KVM did not mark the TSC stable when this guest booted, so kvm-clock has "
			"no vDSO support.",
		.applies = kvm_clock_never_stable,
		.certainty = CERTAINTY_LIKELY,
		.proves = is_feature_missing,
		.evidence = cite_kvm_feature,
		.advice = {&reboot_guest, &ask_kvm_host, &ask_kvm_host_for_tsc}},
	{.id = "kvm-clock-lost",
		.text = "KVM marked the TSC stable at boot and has cleared that flag since: the "
			"guest was restored or migrated, or its host left tsc for a while.",
		.applies = kvm_clock_lost,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_kvm_feature,
		.advice = {&resume_guest, &restart_guest, &ask_about_restore,
			&ask_kvm_host_what_happened}},
	{.id = "kvm-clock-unstable",
		.text = "KVM does not mark this guest's TSC stable, so the vDSO leaves kvm-clock "
			"to the kernel.",
		.applies = kvm_clock_unstable,
		.certainty = CERTAINTY_LIKELY,
		.proves = is_page_unstable,
		.evidence = cite_kvm_feature,
		.advice = {&ask_kvm_host, &ask_kvm_host_for_tsc}},
	{.id = "pvclock-withdrawn",
		.text = "The hypervisor marks this guest's TSC stable only part of the time (not "
			"during a migration, for instance). The rest of the time the calls are "
			"system calls.",
		.applies = pvclock_withdrawn,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_kvm_feature,
		.advice = {&ask_kvm_host_what_happened, &ask_xen_host_what_happened,
			&move_to_nitro}},
	{.id = "hyperv-kernel-too-old",
		.text = "This kernel is older than 4.12, the first whose vDSO can read Hyper-V's "
			"reference TSC page.",
		.more = HYPERV_CLOCKS,
		.applies = hyperv_kernel_too_old,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_kernel,
		.advice = {&newer_kernel_for_hyperv_page}},
	{.id = "hyperv-without-vdso",
		.text = "This kernel does not let its vDSO read the Hyper-V reference TSC page.",
		.applies = hyperv_without_vdso,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_kernel,
		.advice = {&newer_kernel_for_hyperv}},
	{.id = "hyperv-backport",
		.text = "A defect of some distribution kernels of 2021, which backported Hyper-V "
			"changes to 5.4, 5.10 or 5.11, removed the vDSO's support.",
		.more = "https://github.com/microsoft/azurelinux/pull/1238",
		.applies = hyperv_backport,
		.certainty = CERTAINTY_POSSIBLE,
		.evidence = cite_kernel},
	{.id = "hyperv-page-invalid",
		.text = "The hypervisor has marked its reference TSC page invalid, so every call "
			"has to go through the kernel.",
		.more = HYPERV_CLOCKS,
		.applies = hyperv_page_invalid,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_mode,
		.advice = {&advice_move, &ask_hyperv_host}},
	{0},
};
