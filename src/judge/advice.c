/* SPDX-License-Identifier: MIT */
#include "judge/advice.h"

#include <string.h>

#include "judge/advisable.h"
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

#define RULE_CAUSES 3

struct rule {
	const char *causes[RULE_CAUSES];          /* one of these was found; none: whatever was */
	bool (*applies)(const struct view *view); /* and this holds; NULL: always */
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

static bool may_use_tsc(const struct view *view)
{
	return falls_back(view) && sign_is_another(view->evidence, "tsc") &&
	       advisable_clocksource(view->evidence, "tsc", NULL);
}

static bool is_in_container(const struct view *view)
{
	return fact_is_known(&view->evidence->host.container.fact);
}

static bool should_switch_on_host(const struct view *view)
{
	return may_use_tsc(view) && is_in_container(view);
}

static bool should_switch(const struct view *view)
{
	return may_use_tsc(view) && !is_in_container(view);
}

static bool may_not_use_tsc(const struct view *view)
{
	return !may_use_tsc(view);
}

static bool is_guest(const struct view *view)
{
	return sign_is_guest(view->evidence);
}

static bool is_no_guest(const struct view *view)
{
	return !sign_is_guest(view->evidence);
}

static bool is_on_aws_xen(const struct view *view)
{
	return sign_platform_is(view->evidence, "aws-xen");
}

static bool is_lasting_guest(const struct view *view)
{
	return sign_is_guest(view->evidence) && !sign_may_be_restored(view->evidence) &&
	       !is_on_aws_xen(view);
}

static bool lacks_proof(const struct view *view)
{
	return view->verdict == VERDICT_UNKNOWN && !fact_is_known(&view->evidence->proof.fact);
}

static bool lacks_processes(const struct view *view)
{
	return lacks_proof(view) &&
	       strncmp(view->evidence->proof.fact.reason, "fork: ", strlen("fork: ")) == 0;
}

static bool lacks_permission(const struct view *view)
{
	return lacks_proof(view) && !lacks_processes(view);
}

static bool is_fallback(const struct view *view)
{
	return view->verdict == VERDICT_FALLBACK;
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
/* The counter that an architecture other than x86 has of its own. */
#define OWN_COUNTER(name)                                                                          \
	{                                                                                          \
		{"clocksource-without-vdso"}, NULL,                                                \
		{                                                                                  \
			.id = "switch-to-own-counter",                                             \
			.text = "Use the counter of this architecture, which kernels choose by "   \
				"themselves, as root and on the host itself, then run vdsocheck "  \
				"again.",                                                          \
			.command = "echo " name " \\\n        > " SYSFS,                           \
			.risk = "Somebody may have turned away from it for a reason.",             \
			.source = name                                                             \
		}                                                                                  \
	}
#define TSC_RISK                                                                                   \
	"If the CPUs' counters disagree, time may jump between them; a guest that is migrated "    \
	"to a host with another TSC rate may see its clock run wrong."

static const struct rule rules[] = {
	{{"boot-clocksource"}, NULL,
		{.id = "drop-boot-clocksource",
			.text = "Take clocksource= off the kernel command line, unless somebody put "
				"it there for a reason: the kernel then chooses for itself."}},
	{{NULL}, should_switch,
		{.id = "switch-to-tsc",
			.text = "Try the TSC now, as root, then run vdsocheck again.",
			.check = "vdsocheck warp",
			.command = USE_TSC,
			.keep = KEEP,
			.keep_command = KEEP_TSC,
			.risk = TSC_RISK,
			.source = "tsc"}},
	{{NULL}, should_switch_on_host,
		{.id = "switch-to-tsc-on-host",
			.text = "The clocksource is the host's, not this container's. There, as root, "
				"try the TSC, then run vdsocheck again.",
			.check = "vdsocheck warp",
			.command = USE_TSC,
			.keep = KEEP,
			.keep_command = KEEP_TSC,
			.risk = TSC_RISK,
			.source = "tsc"}},
	OWN_COUNTER("arch_sys_counter"),
	OWN_COUNTER("riscv_clocksource"),
	OWN_COUNTER("timebase"),
	OWN_COUNTER("tod"),
	OWN_COUNTER("Constant"),
	{{"boot-without-tsc"}, NULL,
		{.id = "drop-boot-notsc",
			.text = "Take notsc or tsc=unstable off the kernel command line and reboot, "
				"unless somebody put it there because the TSC did go wrong."}},
	{{"vdso-switched-off"}, NULL,
		{.id = "drop-boot-vdso",
			.text = "Take vdso=0 off the kernel command line and reboot."}},
	{{"kvm-clock-switched-off"}, NULL,
		{.id = "drop-boot-no-kvmclock-vsyscall",
			.text = "Take no-kvmclock-vsyscall off the kernel command line and reboot."}},
	{{"kernel-log-denied"}, NULL,
		{.id = "read-kernel-log",
			.text = "Run vdsocheck once more as root, and on the host itself: the kernel "
				"log may tell why this clocksource was chosen."}},
	{{"tsc-read-delay"}, NULL,
		{.id = "newer-kernel-or-nowatchdog",
			.text = "Use Linux 6.3 or newer, which skips the check when its reference is "
				"slow; or, if no CPU's TSC is known to go wrong here, boot with "
				"tsc=nowatchdog.",
			.risk = "Without the watchdog nobody notices a TSC that does go wrong."}},
	{{"tsc-distrusted", "tsc-early-unstable", "tsc-unsynchronised"}, is_no_guest,
		{.id = "update-firmware",
			.text = "Do not force the TSC: the kernel measured it to be wrong. Update the "
				"firmware, reboot, and check again after some days, since it can "
				"happen late."}},
	{{"tsc-distrusted", "tsc-early-unstable", "tsc-unsynchronised"}, is_guest,
		{.id = "ask-about-unstable-tsc",
			.text = "Do not force the TSC: the kernel measured it to be wrong. Reboot, or "
				"move this machine to another host, and send this to who runs it:",
			.ask = "The guest's kernel found its TSC unstable and fell back to a "
			       "clocksource that costs a system call for each reading of the time. "
			       "Is the TSC of the host synchronised and scaled for this guest?"}},
	{{"tsc-uncalibrated"}, NULL,
		{.id = "ask-for-tsc-rate",
			.text = "Ask who runs the hypervisor:",
			.ask = "Please tell this guest the rate of its TSC (CPUID leaf 0x15, or the "
			       "hypervisor's timing leaf 0x40000010): its kernel cannot calibrate it "
			       "and has to use a slow clocksource."}},
	{{"hyperv-kernel-too-old"}, NULL,
		{.id = "newer-kernel-for-hyperv-page",
			.text = "Use Linux 4.12 or newer, whose vDSO can read Hyper-V's page."}},
	{{"hyperv-without-vdso"}, NULL,
		{.id = "newer-kernel-for-hyperv",
			.text = "Install a kernel without the defect: no setting helps. If there is "
				"none, send this to the distribution or the provider:",
			.ask = "The clocksource hyperv_clocksource_tsc_page has no vDSO clock mode on "
			       "this kernel (see mainline commits e4ab4658f1cf and 3486d2c9be65): "
			       "every gettimeofday and clock_gettime is a system call."}},
	{{"hyperv-page-invalid", "tsc-on-hyperv"}, NULL,
		{.id = "ask-hyperv-host",
			.text = "No setting of the guest helps. Ask the provider:",
			.ask = "The Hyper-V reference TSC page of this guest is invalid "
			       "(tsc_sequence 0) or its host offers no invariant TSC: every reading "
			       "of the time is a system call. Can it be moved to a host that does?"}},
	{{"kvm-clock-32-bit"}, NULL,
		{.id = "use-64-bit-kernel",
			.text = "Boot a 64-bit kernel, whose vDSO can read kvm-clock; 32-bit programs "
				"run on it."}},
	{{"kvm-clock-unstable", "pvclock-withdrawn"}, may_not_use_tsc,
		{.id = "ask-kvm-host",
			.text = "No setting of the guest makes kvm-clock faster. Ask who runs the "
				"host:",
			.ask = "kvm-clock in this guest lacks PVCLOCK_TSC_STABLE_BIT: is the host's "
			       "own clocksource tsc? It has to be for the guest's vDSO to read the "
			       "clock."}},
	{{"xen-kernel-too-old"}, may_not_use_tsc,
		{.id = "newer-kernel-for-xen",
			.text = "Use Linux 4.16 or newer, whose vDSO can read Xen's clock where Xen "
				"promises a stable TSC."}},
	{{"tsc-not-invariant"}, is_on_aws_xen,
		{.id = "move-to-nitro",
			.text = "Move to an instance type of the Nitro generation. Amazon advises tsc on "
				"its Xen instances; but the CPU, as this one sees it, does not promise a "
				"steady TSC, so that is not advised here."}},
	{{"tsc-not-invariant"}, is_lasting_guest,
		{.id = "ask-for-invariant-tsc",
			.text = "Do not force the TSC: the CPU, as this guest sees it, does not promise "
				"a steady one. Ask who runs the hypervisor:",
			.ask = "Please offer this guest an invariant TSC (CPUID 0x80000007, EDX bit 8; "
			       "QEMU: +invtsc; Xen: a guest that is not migrated). Without it every "
			       "reading of the time is a system call."}},
	{{"tsc-not-offered"}, NULL,
		{.id = "newer-kernel-for-cpu",
			.text = "Try a newer kernel, which may know this CPU's TSC; the kernel log from "
				"the boot on says more, if it is still there."}},
	{{"arm-counter-erratum"}, NULL,
		{.id = "other-arm-cpu",
			.text = "No setting helps: the kernel has to work around this CPU's counter. "
				"Another CPU or machine type is the way out."}},
	{{"arm-compat-disabled"}, NULL,
		{.id = "use-64-bit-arm", .text = "Run the 64-bit build of the program."}},
	{{"wsl1"}, NULL, {.id = "use-wsl2", .text = "Convert this distribution to WSL 2."}},
	{{"gvisor-calibrating"}, NULL,
		{.id = "wait-for-gvisor",
			.text = "Look again when the sandbox is some seconds old:",
			.command = "sleep 5; vdsocheck"}},
	{{"clocksource-unseen"}, NULL,
		{.id = "look-where-sys-is",
			.text = "See which clocksource it is: run vdsocheck on the host, or where /sys "
				"is mounted and may be read."}},
	{{"clocksource-changing"}, NULL,
		{.id = "let-clocksource-settle",
			.text = "Run vdsocheck again when the clocksource is left alone. If it never is, "
				"look for what writes to current_clocksource, such as a tuning script, "
				"and in the kernel log."}},
	{{"libc-passes-vdso"}, is_fallback,
		{.id = "newer-libc",
			.text = "Rebuild or run the program with a C library that uses the vDSO (glibc "
				"2.31 or newer where static), and look for an LD_PRELOAD that wraps "
				"clock_gettime."}},
	{{"time-calls-blocked"}, NULL,
		{.id = "newer-container-runtime",
			.text = "Update the container runtime and libseccomp, or let its seccomp profile "
				"pass clock_gettime64 and its like."}},
	{{"counter-off"}, NULL,
		{.id = "leave-counter-on",
			.text = "Start the program without prctl(PR_SET_TSC, PR_TSC_SIGSEGV): look at "
				"what launches it."}},
	{{NULL}, lacks_processes,
		{.id = "allow-processes",
			.text = "Run vdsocheck where it may start processes of its own: a limit "
				"(ulimit -u, pids.max of the control group) or a filter keeps it from "
				"that here."}},
	{{NULL}, lacks_permission,
		{.id = "allow-proof",
			.text = "Run vdsocheck where it may set a seccomp filter or trace its own child: "
				"on the host, or without the filter that forbids both."}},
	{{"counter-trapped"}, NULL,
		{.id = "ask-about-trapped-counter",
			.text = "No setting of the guest helps. Ask who runs the hypervisor:",
			.ask = "Each read of the CPU's counter in this guest exits to the hypervisor: "
			       "can TSC offsetting and scaling be used instead of emulation, or the "
			       "guest be moved to a host with the TSC rate it was started with?"}},
};

static const struct rule last_resort = {{NULL}, is_fault,
	{.id = "send-report",
		.text = "No setting on this host is known to help and to be safe. Attach the output "
			"of this command to a ticket with who runs it:",
		.command = "vdsocheck --format report"}};

static bool rule_applies(const struct rule *rule, const struct view *view)
{
	bool found = rule->causes[0] == NULL;

	if (rule->advice.source && !sign_is_another(view->evidence, rule->advice.source))
		return false;
	for (size_t i = 0; i < RULE_CAUSES && rule->causes[i]; i++)
		found |= has_cause(view, rule->causes[i]);
	return found && (!rule->applies || rule->applies(view));
}

/* No machine has the counters of two architectures; evidence from a document may. */
static bool is_given(const struct advice *advice, size_t count, const char *id)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(advice[i].id, id) == 0)
			return true;
	}
	return false;
}

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
		if (rule_applies(&rules[i], &view) && !is_given(advice, count, rules[i].advice.id))
			advice[count++] = rules[i].advice;
	}
	if (count == 0 && rule_applies(&last_resort, &view))
		advice[count++] = last_resort.advice;
	return count;
}
