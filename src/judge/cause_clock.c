/* SPDX-License-Identifier: MIT */
#include "judge/cause_clock.h"

#include <string.h>

#include "base/fault.h"
#include "judge/signs.h"
#include "judge/tally.h"

static void support_by_kernel(const struct evidence *evidence, struct cause *cause)
{
	cause_support_by_mode(evidence, cause);
	cause_add_evidence(cause, "kernel: %s", evidence->host.kernel.value);
}

static void support_by_platform(const struct evidence *evidence, struct cause *cause)
{
	cause_add_evidence(cause, "kernel: %s", evidence->host.kernel.value);
}

static void support_emulated(const struct evidence *evidence, struct cause *cause)
{
	cause_add_evidence(cause, "emulator: %s", evidence->host.emulator.value);
	cause_add_evidence(cause, "vDSO: %s",
		fact_is_known(&evidence->vdso.fact) ? "present" : evidence->vdso.fact.reason);
}

static void support_no_vdso(const struct evidence *evidence, struct cause *cause)
{
	cause_add_evidence(cause, "%s", evidence->vdso.fact.reason);
}

static void support_xen(const struct evidence *evidence, struct cause *cause)
{
	cause_support_by_mode(evidence, cause);
	cause_add_log_line(cause, sign_log_find(evidence, "PVCLOCK not supported"));
}

static void support_libc(const struct evidence *evidence, struct cause *cause)
{
	struct tally tally = tally_by(evidence, PATH_LIBC);

	cause_add_evidence(cause,
		"%u of %u calls through %s entered the kernel, none of the vDSO's own",
		tally.entered, tally.attempts,
		fact_is_known(&evidence->host.libc.fact) ? evidence->host.libc.value : "libc");
}

static void support_counter(const struct evidence *evidence, struct cause *cause)
{
	cause_add_evidence(cause, "%s: %.1f ns, the cheapest system call: %.1f ns",
		evidence->timing.counter, evidence->timing.counter_ns, evidence->timing.entry_ns);
}

static void support_counter_off(const struct evidence *evidence, struct cause *cause)
{
	int signal = tally_deciding(evidence).signal;

	cause_add_evidence(cause, "prctl(PR_GET_TSC): PR_TSC_SIGSEGV");
	if (signal)
		cause_add_evidence(cause, "clock_gettime ends with %s", fault_signal_name(signal));
}

static void support_other_clocks(const struct evidence *evidence, struct cause *cause)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];
		const struct path_evidence *path = &call->path[tally_path(call)];

		if (!call->decides && path->entered && path->entered == path->attempts &&
			!strstr(call->clock, "CPUTIME"))
			cause_add_evidence(cause, "%s%s%s always enters the kernel", call->call,
				*call->clock ? " " : "", call->clock);
	}
}

static void support_blocked(const struct evidence *evidence, struct cause *cause)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (call->raw_error)
			cause_add_evidence(cause, "%s %s by system call: %s", call->call,
				call->clock, strerror(call->raw_error));
	}
}

static bool is_counter_off(const struct evidence *evidence, enum verdict verdict)
{
	(void)verdict;
	return fact_is_known(&evidence->host.counter_off.fact) && evidence->host.counter_off.value;
}

static bool is_emulated(const struct evidence *evidence, enum verdict verdict)
{
	(void)verdict;
	return fact_is_known(&evidence->host.emulator.fact);
}

static bool has_no_vdso(const struct evidence *evidence, enum verdict verdict)
{
	return verdict == VERDICT_FALLBACK && evidence->vdso.fact.state == FACT_ABSENT;
}

static bool is_vdso_switched_off(const struct evidence *evidence, enum verdict verdict)
{
	return has_no_vdso(evidence, verdict) &&
	       (sign_boot_has(evidence, "vdso=0") || sign_boot_has(evidence, "vdso32=0"));
}

static bool is_vdso_missing(const struct evidence *evidence, enum verdict verdict)
{
	return has_no_vdso(evidence, verdict) && !is_vdso_switched_off(evidence, verdict);
}

static bool is_wsl1(const struct evidence *evidence, enum verdict verdict)
{
	return verdict == VERDICT_FALLBACK && sign_platform_is(evidence, "wsl1");
}

static bool is_clocksource_unseen(const struct evidence *evidence, enum verdict verdict)
{
	return sign_vdso_falls_back(evidence, verdict) && sign_mode_is_none(evidence) &&
	       !fact_is_known(&evidence->clocksource.current_fact);
}

static void support_unseen(const struct evidence *evidence, struct cause *cause)
{
	cause_support_by_mode(evidence, cause);
	cause_add_evidence(cause, "%s", evidence->clocksource.current_fact.reason);
}

/* The page says so at the moment; the calls that entered the kernel saw something else. */
static bool is_stable_now(const struct evidence *evidence)
{
	const struct flag_fact *stable = &evidence->vclock.pvclock_stable;

	return fact_is_known(&stable->fact) && stable->value &&
	       evidence->vclock.how == VCLOCK_READ && !sign_mode_is_none(evidence);
}

static bool is_pvclock_withdrawn(const struct evidence *evidence, enum verdict verdict)
{
	return sign_vdso_falls_back(evidence, verdict) && is_stable_now(evidence);
}

static bool is_xen(const struct evidence *evidence, enum verdict verdict)
{
	return sign_vdso_falls_back(evidence, verdict) && sign_current_is(evidence, "xen");
}

/* 2229f70b5bbb, in 4.16: the vDSO reads Xen's clock. */
static bool is_xen_too_old(const struct evidence *evidence, enum verdict verdict)
{
	return is_xen(evidence, verdict) && sign_kernel_before(evidence, 4, 16);
}

static bool is_xen_unstable(const struct evidence *evidence, enum verdict verdict)
{
	return is_xen(evidence, verdict) && !sign_kernel_before(evidence, 4, 16) &&
	       !is_stable_now(evidence);
}

static bool is_kvm_clock(const struct evidence *evidence, enum verdict verdict)
{
	return sign_vdso_falls_back(evidence, verdict) && sign_current_is(evidence, "kvm-clock");
}

static bool is_kvm_clock_switched_off(const struct evidence *evidence, enum verdict verdict)
{
	return is_kvm_clock(evidence, verdict) && sign_boot_has(evidence, "no-kvmclock-vsyscall");
}

/* arch/x86/kernel/kvmclock.c gives the mode under CONFIG_X86_64 only, 3.10 to 7.3. */
static bool is_kvm_clock_32_bit(const struct evidence *evidence, enum verdict verdict)
{
	return is_kvm_clock(evidence, verdict) && fact_is_known(&evidence->host.arch.fact) &&
	       strcmp(evidence->host.arch.value, "x86_64") != 0;
}

static bool is_kvm_clock_unstable(const struct evidence *evidence, enum verdict verdict)
{
	return is_kvm_clock(evidence, verdict) && !is_kvm_clock_switched_off(evidence, verdict) &&
	       !is_kvm_clock_32_bit(evidence, verdict) && !is_stable_now(evidence);
}

static bool is_hyperv(const struct evidence *evidence, enum verdict verdict)
{
	return sign_vdso_falls_back(evidence, verdict) &&
	       sign_current_is(evidence, "hyperv_clocksource_tsc_page");
}

/* RHEL 7's 3.10 got the clock mode by backport. */
static bool is_red_hat(const struct evidence *evidence)
{
	return strstr(evidence->host.kernel.value, ".el7") != NULL;
}

/* The vDSO reads Hyper-V's page since 4.12. */
static bool is_hyperv_too_old(const struct evidence *evidence, enum verdict verdict)
{
	return is_hyperv(evidence, verdict) && sign_kernel_before(evidence, 4, 12) &&
	       !is_red_hat(evidence);
}

static bool is_hyperv_without_mode(const struct evidence *evidence, enum verdict verdict)
{
	return is_hyperv(evidence, verdict) && sign_mode_is_none(evidence) &&
	       !is_hyperv_too_old(evidence, verdict);
}

static bool is_hyperv_withdrawn(const struct evidence *evidence, enum verdict verdict)
{
	const struct number_fact *sequence = &evidence->vclock.hyperv_sequence;

	return is_hyperv(evidence, verdict) && !sign_mode_is_none(evidence) &&
	       fact_is_known(&sequence->fact) && sequence->value == 0;
}

static bool is_arm_compat(const struct evidence *evidence, enum verdict verdict)
{
	return sign_vdso_falls_back(evidence, verdict) &&
	       strcmp(evidence->vclock.name, "archtimer-nocompat") == 0;
}

static bool is_arm_erratum(const struct evidence *evidence, enum verdict verdict)
{
	return sign_vdso_falls_back(evidence, verdict) &&
	       sign_current_is(evidence, "arch_sys_counter") && !is_arm_compat(evidence, verdict);
}

/* The line by which the kernel went back to a clocksource that it had left; NULL if none. */
static const struct kernel_log_line *find_return(const struct evidence *evidence)
{
	static const char text[] = "Switched to clocksource ";
	const struct kernel_log_line *line = sign_log_find(evidence, text);
	const struct kernel_log_line *again = NULL;

	while (line && !again) {
		again = sign_log_find_after(evidence, line, strstr(line->text, text));
		line = sign_log_find_after(evidence, line, text);
	}
	return again;
}

static bool is_clocksource_changing(const struct evidence *evidence, enum verdict verdict)
{
	(void)verdict;
	return *evidence->clocksource.changed_to ||
	       (tally_is_mixed(evidence) && find_return(evidence));
}

static void support_changing(const struct evidence *evidence, struct cause *cause)
{
	if (*evidence->clocksource.changed_to)
		cause_add_evidence(cause, "clocksource: %s, and %s when all was measured",
			evidence->clocksource.current, evidence->clocksource.changed_to);
	cause_add_log_line(cause, find_return(evidence));
}

static bool is_libc(const struct evidence *evidence, enum verdict verdict)
{
	(void)verdict;
	return tally_by(evidence, PATH_LIBC).entered > 0 &&
	       tally_by(evidence, PATH_VDSO).proven > 0 &&
	       tally_by(evidence, PATH_VDSO).entered == 0;
}

static bool is_counter_trapped(const struct evidence *evidence, enum verdict verdict)
{
	(void)evidence;
	return verdict == VERDICT_SLOW;
}

static bool is_blocked(const struct evidence *evidence, enum verdict verdict)
{
	(void)verdict;
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (evidence->calls[i].decides && evidence->calls[i].raw_error)
			return true;
	}
	return false;
}

static bool enters_always(const struct evidence *evidence, const char *clock)
{
	const struct call_evidence *call = tally_find(evidence, clock);
	const struct path_evidence *path = call ? &call->path[PATH_VDSO] : NULL;

	return path && path->attempts && path->entered == path->attempts;
}

static bool is_old_vdso(const struct evidence *evidence, enum verdict verdict)
{
	return verdict == VERDICT_OK && !sign_platform_is(evidence, "gvisor") &&
	       (enters_always(evidence, "CLOCK_MONOTONIC_RAW") ||
		       enters_always(evidence, "CLOCK_BOOTTIME") ||
		       enters_always(evidence, "CLOCK_TAI"));
}

static bool is_gvisor_vdso(const struct evidence *evidence, enum verdict verdict)
{
	return verdict == VERDICT_OK && sign_platform_is(evidence, "gvisor") &&
	       (enters_always(evidence, "CLOCK_MONOTONIC_RAW") ||
		       enters_always(evidence, "CLOCK_MONOTONIC_COARSE"));
}

/* vdso/vdso_time.cc of gVisor: its page has a word "ready", set by the sentry. */
static bool is_gvisor_calibrating(const struct evidence *evidence, enum verdict verdict)
{
	return sign_vdso_falls_back(evidence, verdict) && sign_platform_is(evidence, "gvisor");
}

static bool is_in_time_namespace(const struct evidence *evidence, enum verdict verdict)
{
	return (verdict == VERDICT_OK || verdict == VERDICT_SLOW) &&
	       evidence->vclock.time_namespace;
}

#define HYPERV_CLOCKS "https://docs.kernel.org/virt/hyperv/clocks.html"

const struct cause_rule cause_clock_rules[] = {
	{"counter-off", CERTAINTY_PROVEN, is_counter_off, support_counter_off, "PR_SET_TSC(2const)",
		"The counter is switched off for this process and those it starts "
		"(prctl(PR_SET_TSC)): asking for the time crashes them."},
	{"time-calls-blocked", CERTAINTY_PROVEN, is_blocked, support_blocked, "seccomp(2)",
		"A filter around this process, such as a container's seccomp profile, refuses the "
		"system calls that ask for the time."},
	{"emulated", CERTAINTY_PROVEN, is_emulated, support_emulated, NULL,
		"An emulator runs this program's instructions and answers its system calls: run "
		"vdsocheck without it to see the host."},
	{"vdso-switched-off", CERTAINTY_PROVEN, is_vdso_switched_off, cause_support_by_boot,
		"vdso(7)", "The kernel was booted with the vDSO switched off."},
	{"no-vdso", CERTAINTY_PROVEN, is_vdso_missing, support_no_vdso, "vdso(7)",
		"The kernel, or an emulator in its place (valgrind, qemu-user), gives programs no "
		"vDSO: there is nothing in user space to ask."},
	{"wsl1", CERTAINTY_LIKELY, is_wsl1, support_by_platform, NULL,
		"WSL 1 is no Linux kernel and has no vDSO clock; WSL 2 has."},
	{"clocksource-without-vdso", CERTAINTY_PROVEN, cause_is_plain_clocksource,
		cause_support_by_mode, "vdso(7)",
		"No vDSO can read this clocksource: only the kernel reaches it."},
	{"clocksource-unseen", CERTAINTY_PROVEN, is_clocksource_unseen, support_unseen, "vdso(7)",
		"With the clocksource in use the kernel gives the vDSO nothing to read; its name "
		"cannot be seen from here."},
	{"xen-kernel-too-old", CERTAINTY_LIKELY, is_xen_too_old, support_by_kernel, NULL,
		"This kernel is older than 4.16, the first whose vDSO can read Xen's clock."},
	{"xen-clock-unstable", CERTAINTY_LIKELY, is_xen_unstable, support_xen, "xen-tscmode(7)",
		"Xen does not promise this guest a stable TSC, so the kernel gives the vDSO nothing "
		"to read."},
	{"kvm-clock-switched-off", CERTAINTY_PROVEN, is_kvm_clock_switched_off,
		cause_support_by_boot, NULL,
		"The kernel was booted with kvm-clock kept from the vDSO."},
	{"kvm-clock-32-bit", CERTAINTY_LIKELY, is_kvm_clock_32_bit, cause_support_by_mode, NULL,
		"A 32-bit kernel keeps kvm-clock from the vDSO; a 64-bit one does not."},
	{"kvm-clock-unstable", CERTAINTY_LIKELY, is_kvm_clock_unstable, cause_support_by_mode, NULL,
		"The hypervisor does not promise a stable TSC, so kvm-clock gives the vDSO nothing "
		"to read."},
	{"pvclock-withdrawn", CERTAINTY_LIKELY, is_pvclock_withdrawn, cause_support_by_mode, NULL,
		"The hypervisor takes back its promise of a stable TSC at times, as when it moves "
		"this guest: until it is renewed the calls enter the kernel."},
	{"hyperv-kernel-too-old", CERTAINTY_LIKELY, is_hyperv_too_old, support_by_kernel,
		HYPERV_CLOCKS,
		"This kernel is older than 4.12, the first whose vDSO can read Hyper-V's page."},
	{"hyperv-without-vdso", CERTAINTY_PROVEN, is_hyperv_without_mode, support_by_kernel,
		"https://github.com/microsoft/azurelinux/pull/1238",
		"The clocksource's name promises Hyper-V's page, but this kernel lets no vDSO read "
		"it: a defect that some kernels around 5.4.0-1078-azure and 5.13 have."},
	{"hyperv-page-invalid", CERTAINTY_PROVEN, is_hyperv_withdrawn, cause_support_by_mode,
		HYPERV_CLOCKS,
		"The hypervisor has marked its clock page as not valid, so each call has to ask it "
		"through the kernel."},
	{"arm-compat-disabled", CERTAINTY_PROVEN, is_arm_compat, cause_support_by_mode, NULL,
		"The kernel keeps this CPU's counter from 32-bit programs, not from 64-bit ones."},
	{"arm-counter-erratum", CERTAINTY_LIKELY, is_arm_erratum, cause_support_by_mode, NULL,
		"The kernel keeps this CPU's counter from the vDSO: it has an erratum that only "
		"the kernel works around."},
	{"gvisor-calibrating", CERTAINTY_LIKELY, is_gvisor_calibrating, cause_support_by_mode, NULL,
		"gVisor's vDSO passes calls on to the sentry until it has measured the CPU's "
		"counter, for the first seconds of each sandbox."},
	{"clocksource-changing", CERTAINTY_PROVEN, is_clocksource_changing, support_changing, NULL,
		"The clocksource was changed while vdsocheck ran: some of the calls were made with "
		"one, some with another."},
	{"libc-passes-vdso", CERTAINTY_PROVEN, is_libc, support_libc, "vdso(7)",
		"The C library in use does not ask the vDSO, though it would answer."},
	{"counter-trapped", CERTAINTY_PROVEN, is_counter_trapped, support_counter, NULL,
		"Reading the CPU's counter is caught by the hypervisor or an emulator, which costs "
		"as much as a system call."},
	{"old-vdso-clocks", CERTAINTY_LIKELY, is_old_vdso, support_other_clocks, "vdso(7)",
		"This kernel's vDSO does not serve every clock: the generic vDSO of 5.3 does."},
	{"gvisor-few-clocks", CERTAINTY_LIKELY, is_gvisor_vdso, support_other_clocks,
		"https://github.com/google/gvisor/issues/7975",
		"gVisor's vDSO serves only the clocks that decide; newer releases serve more."},
	{"time-namespace", CERTAINTY_PROVEN, is_in_time_namespace, cause_support_by_mode,
		"time_namespaces(7)",
		"This process is in a time namespace: each call takes a few nanoseconds more."},
};

const size_t cause_clock_rule_count = sizeof(cause_clock_rules) / sizeof(cause_clock_rules[0]);
