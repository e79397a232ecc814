/* SPDX-License-Identifier: MIT */
#include "judge/advice.h"

#include <string.h>

#include "judge/cause.h"
#include "judge/signs.h"
#include "judge/tally.h"

/* What a rule looks at: the evidence and the causes already found in it. */
struct view {
	const struct evidence *evidence;
	enum verdict verdict;
	size_t cause_count;
	struct cause causes[CAUSE_MAX];
};

struct rule {
	bool (*applies)(const struct view *view);
	struct advice advice;
};

static bool has_cause(const struct view *view, const char *id)
{
	for (size_t i = 0; i < view->cause_count; i++) {
		if (strcmp(view->causes[i].id, id) == 0)
			return true;
	}
	return false;
}

static bool falls_back(const struct view *view)
{
	return sign_vdso_falls_back(view->evidence, view->verdict);
}

/*
 * A guest that is restored from a snapshot, or a WSL that is put to sleep, wakes up to another
 * TSC than it knew, which only the hypervisor's own clock makes good.
 */
static bool may_use_tsc(const struct view *view)
{
	return falls_back(view) && sign_tsc_is_trusted(view->evidence) &&
	       !sign_may_be_restored(view->evidence) &&
	       !sign_platform_is(view->evidence, "wsl1") &&
	       !sign_platform_is(view->evidence, "wsl2") &&
	       !has_cause(view, "arm-counter-erratum");
}

static bool is_in_container(const struct view *view)
{
	return fact_is_known(&view->evidence->host.container.fact);
}

static bool should_drop_parameter(const struct view *view)
{
	return may_use_tsc(view) && has_cause(view, "boot-clocksource");
}

static bool should_switch_on_host(const struct view *view)
{
	return may_use_tsc(view) && is_in_container(view);
}

static bool should_switch(const struct view *view)
{
	return may_use_tsc(view) && !is_in_container(view);
}

static bool has_notsc(const struct view *view)
{
	return has_cause(view, "boot-without-tsc");
}

static bool has_vdso_off(const struct view *view)
{
	return has_cause(view, "vdso-switched-off");
}

static bool has_kvm_clock_off(const struct view *view)
{
	return has_cause(view, "kvm-clock-switched-off");
}

static bool is_read_delay(const struct view *view)
{
	return has_cause(view, "tsc-read-delay");
}

static bool tsc_was_dropped(const struct view *view)
{
	return has_cause(view, "tsc-distrusted") || has_cause(view, "tsc-early-unstable") ||
	       has_cause(view, "tsc-unsynchronised");
}

static bool was_dropped_in_guest(const struct view *view)
{
	return tsc_was_dropped(view) && sign_is_guest(view->evidence);
}

static bool was_dropped_on_metal(const struct view *view)
{
	return tsc_was_dropped(view) && !sign_is_guest(view->evidence);
}

static bool is_uncalibrated(const struct view *view)
{
	return has_cause(view, "tsc-uncalibrated");
}

static bool is_hyperv_defect(const struct view *view)
{
	return has_cause(view, "hyperv-without-vdso") || has_cause(view, "hyperv-kernel-too-old");
}

static bool is_hyperv_invalid(const struct view *view)
{
	return has_cause(view, "hyperv-page-invalid") || has_cause(view, "tsc-on-hyperv");
}

static bool is_kvm_unstable(const struct view *view)
{
	return has_cause(view, "kvm-clock-unstable") && !may_use_tsc(view);
}

static bool is_xen_old(const struct view *view)
{
	return has_cause(view, "xen-kernel-too-old") && !may_use_tsc(view);
}

static bool lacks_invariance(const struct view *view)
{
	return has_cause(view, "tsc-not-invariant") && sign_is_guest(view->evidence) &&
	       !sign_may_be_restored(view->evidence) && !is_kvm_unstable(view);
}

static bool is_not_offered(const struct view *view)
{
	return has_cause(view, "tsc-not-offered");
}

static bool is_arm_erratum(const struct view *view)
{
	return has_cause(view, "arm-counter-erratum");
}

static bool is_arm_compat(const struct view *view)
{
	return has_cause(view, "arm-compat-disabled");
}

static bool is_wsl1(const struct view *view)
{
	return has_cause(view, "wsl1");
}

static bool is_libc(const struct view *view)
{
	return view->verdict == VERDICT_FALLBACK && has_cause(view, "libc-passes-vdso");
}

static bool is_blocked(const struct view *view)
{
	return view->verdict != VERDICT_OK && has_cause(view, "time-calls-blocked");
}

static bool is_counter_off(const struct view *view)
{
	return has_cause(view, "counter-off") && view->verdict != VERDICT_OK;
}

static bool is_trapped(const struct view *view)
{
	return has_cause(view, "counter-trapped");
}

/* Comes last, where nothing above fits: what is left is to show it to somebody. */
static bool is_fault(const struct view *view)
{
	return view->verdict == VERDICT_FALLBACK || view->verdict == VERDICT_SLOW;
}

#define SYSFS "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define USE_TSC "echo tsc > " SYSFS
#define KEEP "Add clocksource=tsc to the kernel command line; or, where systemd runs:"
#define KEEP_TSC                                                                                   \
	"echo w " SYSFS " \\\n"                                                                    \
	"        - - - - tsc > /etc/tmpfiles.d/clocksource.conf"
#define TSC_RISK                                                                                   \
	"If the CPUs' counters disagree, time may jump between them; a guest that is migrated "    \
	"to a host with another TSC rate may see its clock run wrong."

static const struct rule rules[] = {
	{should_drop_parameter,
		{.id = "drop-boot-clocksource",
			.text = "Take clocksource= off the kernel command line, unless somebody put "
				"it there for a reason: this kernel would choose the TSC."}},
	{should_switch,
		{.id = "switch-to-tsc",
			.text = "Try the TSC now, as root, then run vdsocheck again.",
			.check = "vdsocheck warp",
			.command = USE_TSC,
			.keep = KEEP,
			.keep_command = KEEP_TSC,
			.risk = TSC_RISK,
			.source = "tsc"}},
	{should_switch_on_host,
		{.id = "switch-to-tsc-on-host",
			.text = "The clocksource is the host's, not this container's. There, as root, "
				"try the TSC, then run vdsocheck again.",
			.check = "vdsocheck warp",
			.command = USE_TSC,
			.keep = KEEP,
			.keep_command = KEEP_TSC,
			.risk = TSC_RISK,
			.source = "tsc"}},
	{has_notsc,
		{.id = "drop-boot-notsc",
			.text = "Take notsc or tsc=unstable off the kernel command line and reboot, "
				"unless somebody put it there because the TSC did go wrong."}},
	{has_vdso_off,
		{.id = "drop-boot-vdso",
			.text = "Take vdso=0 off the kernel command line and reboot."}},
	{has_kvm_clock_off,
		{.id = "drop-boot-no-kvmclock-vsyscall",
			.text = "Take no-kvmclock-vsyscall off the kernel command line and reboot."}},
	{is_read_delay,
		{.id = "newer-kernel-or-nowatchdog",
			.text = "Use Linux 6.3 or newer, which skips the check when its reference is "
				"slow; or, if no CPU's TSC is known to go wrong here, boot with "
				"tsc=nowatchdog.",
			.risk = "Without the watchdog nobody notices a TSC that does go wrong."}},
	{was_dropped_on_metal,
		{.id = "update-firmware",
			.text = "Do not force the TSC: the kernel measured it to be wrong. Update the "
				"firmware, reboot, and check again after some days, since it can "
				"happen late."}},
	{was_dropped_in_guest,
		{.id = "ask-about-unstable-tsc",
			.text = "Do not force the TSC: the kernel measured it to be wrong. Reboot, or "
				"move this machine to another host, and send this to who runs it:",
			.ask = "The guest's kernel found its TSC unstable and fell back to a "
			       "clocksource that costs a system call for each reading of the time. "
			       "Is the TSC of the host synchronised and scaled for this guest?"}},
	{is_uncalibrated,
		{.id = "ask-for-tsc-rate",
			.text = "Ask who runs the hypervisor:",
			.ask = "Please tell this guest the rate of its TSC (CPUID leaf 0x15, or the "
			       "hypervisor's timing leaf 0x40000010): its kernel cannot calibrate it "
			       "and has to use a slow clocksource."}},
	{is_hyperv_defect,
		{.id = "newer-kernel-for-hyperv",
			.text = "Install a kernel without the defect: no setting helps. If there is "
				"none, send this to the distribution or the provider:",
			.ask = "The clocksource hyperv_clocksource_tsc_page has no vDSO clock mode on "
			       "this kernel (see mainline commits e4ab4658f1cf and 3486d2c9be65): "
			       "every gettimeofday and clock_gettime is a system call."}},
	{is_hyperv_invalid,
		{.id = "ask-hyperv-host",
			.text = "No setting of the guest helps. Ask the provider:",
			.ask = "The Hyper-V reference TSC page of this guest is invalid "
			       "(tsc_sequence 0) or its host offers no invariant TSC: every reading "
			       "of the time is a system call. Can it be moved to a host that does?"}},
	{is_kvm_unstable,
		{.id = "ask-kvm-host",
			.text = "No setting of the guest makes kvm-clock faster. Ask who runs the "
				"host:",
			.ask = "kvm-clock in this guest lacks PVCLOCK_TSC_STABLE_BIT: is the host's "
			       "own clocksource tsc? It has to be for the guest's vDSO to read the "
			       "clock."}},
	{is_xen_old,
		{.id = "newer-kernel-for-xen",
			.text = "Use Linux 4.16 or newer, whose vDSO can read Xen's clock where Xen "
				"promises a stable TSC."}},
	{lacks_invariance,
		{.id = "ask-for-invariant-tsc",
			.text = "Do not force the TSC: the CPU, as this guest sees it, does not promise "
				"a steady one. Ask who runs the hypervisor:",
			.ask = "Please offer this guest an invariant TSC (CPUID 0x80000007, EDX bit 8; "
			       "QEMU: +invtsc; Xen: a guest that is not migrated). Without it every "
			       "reading of the time is a system call."}},
	{is_not_offered,
		{.id = "newer-kernel-for-cpu",
			.text = "Try a newer kernel, which may know this CPU's TSC; the kernel log from "
				"the boot on says more, if it is still there."}},
	{is_arm_erratum,
		{.id = "other-arm-cpu",
			.text = "No setting helps: the kernel has to work around this CPU's counter. "
				"Another CPU or machine type is the way out."}},
	{is_arm_compat,
		{.id = "use-64-bit-arm", .text = "Run the 64-bit build of the program."}},
	{is_wsl1, {.id = "use-wsl2", .text = "Convert this distribution to WSL 2."}},
	{is_libc,
		{.id = "newer-libc",
			.text = "Rebuild or run the program with a C library that uses the vDSO (glibc "
				"2.31 or newer where static), and look for an LD_PRELOAD that wraps "
				"clock_gettime."}},
	{is_blocked,
		{.id = "newer-container-runtime",
			.text = "Update the container runtime and libseccomp, or let its seccomp profile "
				"pass clock_gettime64 and its like."}},
	{is_counter_off,
		{.id = "leave-counter-on",
			.text = "Start the program without prctl(PR_SET_TSC, PR_TSC_SIGSEGV): look at "
				"what launches it."}},
	{is_trapped,
		{.id = "ask-about-trapped-counter",
			.text = "No setting of the guest helps. Ask who runs the hypervisor:",
			.ask = "Each read of the CPU's counter in this guest exits to the hypervisor: "
			       "can TSC offsetting and scaling be used instead of emulation, or the "
			       "guest be moved to a host with the TSC rate it was started with?"}},
};

static const struct rule last_resort = {is_fault,
	{.id = "send-report",
		.text = "No setting on this host is known to help. Attach the output of this command "
			"to a ticket with who runs it:",
		.command = "vdsocheck --format report"}};

size_t advice_find(
	const struct evidence *evidence, enum verdict verdict, struct advice advice[ADVICE_MAX])
{
	struct view view = {.evidence = evidence, .verdict = verdict};
	size_t count = 0;

	/* Nothing is wrong, or names are all we have: no advice on a guess. */
	if (verdict == VERDICT_OK || !evidence->live)
		return 0;
	view.cause_count = cause_find(evidence, verdict, view.causes);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && count < ADVICE_MAX; i++) {
		if (rules[i].applies(&view))
			advice[count++] = rules[i].advice;
	}
	if (count == 0 && last_resort.applies(&view))
		advice[count++] = last_resort.advice;
	return count;
}
