/* SPDX-License-Identifier: MIT */
/*
 * Causes in this process or the environment it runs in, whatever the clocksource: no vDSO, a
 * counter or system calls that are denied to it, an emulator, another kernel than Linux, a C
 * library. The notes at the end explain what is slow where the verdict is ok.
 */
#include "rules.h"

#include <string.h>

#include "base/child.h"
#include "base/text.h"

static bool counter_disabled(const struct view *v)
{
	return v->counter_off;
}

static void cite_counter_off(const struct view *v, struct cause *cause)
{
	cite(cause, "prctl(PR_GET_TSC): PR_TSC_SIGSEGV");
	if (v->decided.signal)
		cite(cause, "clock_gettime ends with %s", fault_signal_name(v->decided.signal));
}

static bool emulated(const struct view *v)
{
	return v->emulated;
}

static void cite_emulator(const struct view *v, struct cause *cause)
{
	const struct fact *vdso = &v->evidence->vdso.fact;

	cite(cause, "emulator: %s", v->evidence->host.emulator.value);
	cite(cause, "vDSO: %s", fact_is_known(vdso) ? "present" : vdso->reason);
}

static bool all_calls_enter_without_vdso(const struct view *v)
{
	return v->verdict == VERDICT_FALLBACK && v->no_vdso;
}

static bool vdso_switched_off(const struct view *v)
{
	return all_calls_enter_without_vdso(v) && v->boot_disables_vdso;
}

/* A 64-bit program may have a vDSO there. */
static bool no_vdso_for_32_bits(const struct view *v, const char *arch)
{
	const struct host_evidence *host = &v->evidence->host;

	return all_calls_enter_without_vdso(v) && !v->boot_disables_vdso && !v->emulated &&
	       fact_is_known(&host->pointer_bits.fact) && host->pointer_bits.value == 32 &&
	       fact_is_text(&host->arch, arch);
}

static bool no_compat_vdso(const struct view *v)
{
	return no_vdso_for_32_bits(v, "aarch64");
}

static bool vdso32_disabled(const struct view *v)
{
	return no_vdso_for_32_bits(v, "x86_64");
}

static bool no_vdso(const struct view *v)
{
	return all_calls_enter_without_vdso(v) && !v->boot_disables_vdso && !no_compat_vdso(v) &&
	       !vdso32_disabled(v);
}

static void cite_32_bits(const struct view *v, struct cause *cause)
{
	cite(cause, "architecture: %s, program: 32 bits", v->evidence->host.arch.value);
	cite_no_vdso(v, cause);
}

/* Its vDSO makes system calls for the kernel to catch (arch/x86/um/vdso/um_vdso.c, 3.2 to 7.2). */
static bool uml(const struct view *v)
{
	return v->verdict == VERDICT_FALLBACK && hypervisor_is(v->evidence, "uml");
}

static void cite_uml(const struct view *v, struct cause *cause)
{
	(void)v;
	cite(cause, "/proc/cpuinfo: vendor_id User Mode Linux");
}

static bool wsl1(const struct view *v)
{
	return v->verdict == VERDICT_FALLBACK && platform_is(v->evidence, "wsl1");
}

static void cite_release(const struct view *v, struct cause *cause)
{
	cite(cause, "kernel: %s", v->evidence->host.kernel.value);
}

/* The mode excludes 32-bit programs alone: 64-bit ones read it, too, and are served. */
static bool arm_compat_disabled(const struct view *v)
{
	return v->falls_back && strcmp(v->evidence->vclock.name, "archtimer-nocompat") == 0;
}

static bool gvisor_calibrating(const struct view *v)
{
	return v->falls_back && v->gvisor;
}

/* The vDSO's functions make no system call, but libc's do. */
static bool libc_bypasses_vdso(const struct view *v)
{
	return v->libc.entered > 0 && v->vdso.proven > 0 && v->vdso.entered == 0;
}

static void write_libc(const struct view *v, char text[CAUSE_TEXT_SIZE])
{
	bool own = fact_is_flag(&v->evidence->host.libc_static, true);

	text_copy(text, CAUSE_TEXT_SIZE,
		own ? "Only vdsocheck itself is affected: the C library that is linked into it "
		      "does not use the vDSO."
		    : "This C library does not use the vDSO, although the vDSO works.");
}

static void cite_libc(const struct view *v, struct cause *cause)
{
	const struct text_fact *libc = &v->evidence->host.libc;

	cite(cause, "%u of %u calls through %s entered the kernel, none of the vDSO's own",
		v->libc.entered, v->libc.attempts,
		fact_is_known(&libc->fact) ? libc->value : "libc");
}

static bool falls_back(const struct view *v)
{
	return v->verdict == VERDICT_FALLBACK;
}

static const struct advice_row leave_counter_on = {.id = "leave-counter-on",
	.rank = RANK_PROGRAM,
	.text = "Find out what sets prctl(PR_SET_TSC, PR_TSC_SIGSEGV) before it starts the "
		"program, and remove it."};

static const struct advice_row run_without_emulator = {.id = "run-without-emulator",
	.rank = RANK_LOOK,
	.text = "Run a vdsocheck built for this machine's own architecture, and not under valgrind "
		"or another emulator."};

static const struct advice_row use_wsl2 = {
	.id = "use-wsl2", .rank = RANK_UPDATE, .text = "Convert this distribution to WSL 2."};

static const struct advice_row leave_uml = {.id = "leave-uml",
	.rank = RANK_UPDATE,
	.anywhere = true,
	.text = "Run the program on the machine itself, or in a virtual machine: no setting "
		"helps here."};

/* VDSO_DEFAULT of vdso32-setup.c; both ways reach vdso32_enabled there (5.10 to 7.2 read). */
static const struct advice_row enable_vdso32 = {.id = "enable-vdso32",
	.rank = RANK_UNDO,
	.text = "Enable the 32-bit vDSO for programs that start from now on, or run the 64-bit "
		"build of the program.",
	.steps = {{.command = "sudo sysctl abi.vsyscall32=1",
			  .undo = "sudo sysctl abi.vsyscall32=0"},
		{.command = "vdsocheck"}},
	.boot = "vdso32=1",
	.risk = "glibc 2.3.2 and 2.3.3 crash with it."};

static const struct advice_row use_64_bit_or_compat = {.id = "use-64-bit-or-compat-vdso",
	.rank = RANK_UPDATE,
	.anywhere = true,
	.text = "Use a 64-bit system, or the 64-bit build of this program. Or use a kernel that was "
		"built with CONFIG_COMPAT_VDSO, which needs a 32-bit compiler at build time.",
	.source = "raspberrypi/linux issue 6601, "
		  "https://github.com/raspberrypi/linux/issues/6601"};

static const struct advice_row use_64_bit_arm = {.id = "use-64-bit-arm",
	.rank = RANK_UPDATE,
	.anywhere = true,
	.text = "Run the 64-bit build of the program."};

static const struct advice_row wait_for_gvisor = {.id = "wait-for-gvisor",
	.rank = RANK_LOOK,
	.text = "Run vdsocheck again after the sandbox has been running for a few seconds.",
	.steps = {{.command = "sleep 5; vdsocheck"}}};

static const struct advice_row newer_libc = {.id = "newer-libc",
	.rank = RANK_PROGRAM,
	.applies = falls_back,
	.text = "Rebuild or run the program with a C library that uses the vDSO (glibc 2.31 or "
		"newer where static), and look for an LD_PRELOAD that wraps clock_gettime."};

const struct cause_row cause_process_rows[] = {
	{.id = "counter-disabled",
		.text = "The counter is disabled for this process and its children "
			"(prctl(PR_SET_TSC)): a call that reads it ends with SIGSEGV.",
		.more = "PR_SET_TSC(2const)",
		.applies = counter_disabled,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_counter_off,
		.advice = {&leave_counter_on}},
	{.id = "emulated",
		.text = "vdsocheck runs under an emulator; run it natively to check the host.",
		.applies = emulated,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_emulator,
		.advice = {&run_without_emulator}},
	{.id = "vdso-switched-off",
		.text = "The vDSO is disabled on the kernel command line.",
		.more = "vdso(7)",
		.applies = vdso_switched_off,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_boot,
		.advice = {&advice_drop_boot}},
	{.id = "no-vdso",
		.text = "The kernel, or an emulator in its place (valgrind, qemu-user), gives "
			"programs no vDSO, so every clock call is a system call.",
		.more = "vdso(7)",
		.applies = no_vdso,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_no_vdso,
		.advice = {&run_without_emulator, &advice_send_report}},
	{.id = "vdso32-disabled",
		.text = "This kernel gives 32-bit programs no vDSO: sysctl abi.vsyscall32 is 0, as "
			"in kernels that were built with CONFIG_COMPAT_VDSO.",
		.more = BOOT_PARAMETERS,
		.applies = vdso32_disabled,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_32_bits,
		.advice = {&enable_vdso32}},
	{.id = "no-compat-vdso",
		.text = "This 64-bit kernel gives 32-bit programs no vDSO: it was built without "
			"CONFIG_COMPAT_VDSO.",
		.applies = no_compat_vdso,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_32_bits,
		.advice = {&use_64_bit_or_compat}},
	{.id = "uml",
		.text = "The vDSO of User-Mode Linux makes a system call for each clock call.",
		.applies = uml,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_uml,
		.advice = {&leave_uml}},
	{.id = "wsl1",
		.text = "WSL 1 does not run a Linux kernel and has no vDSO clock; WSL 2 does.",
		.applies = wsl1,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_release,
		.advice = {&use_wsl2}},
	{.id = "arm-compat-disabled",
		.text = "The kernel does not let 32-bit programs read this CPU's counter, only "
			"64-bit ones.",
		.applies = arm_compat_disabled,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_mode,
		.advice = {&use_64_bit_arm}},
	{.id = "gvisor-calibrating",
		.text = "In the first seconds of a sandbox, until gVisor has calibrated the "
			"CPU's counter, its vDSO passes the calls on to the sentry.",
		.applies = gvisor_calibrating,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_mode,
		.advice = {&wait_for_gvisor}},
	{.id = "libc-bypasses-vdso",
		.write = write_libc,
		.more = "vdso(7)",
		.applies = libc_bypasses_vdso,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_libc,
		.advice = {&newer_libc}},
	{0},
};

static bool time_calls_blocked(const struct view *v)
{
	const struct evidence *evidence = v->evidence;

	for (size_t i = 0; i < evidence->call_count; i++) {
		if (evidence->calls[i].decides && evidence->calls[i].raw_error)
			return true;
	}
	return false;
}

static void cite_blocked(const struct view *v, struct cause *cause)
{
	const struct evidence *evidence = v->evidence;

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (call->raw_error)
			cite(cause, "%s %s by system call: %s", call->call, call->clock,
				strerror(call->raw_error));
	}
}

static bool enters_always(const struct view *v, const char *clock)
{
	const struct call_evidence *call = clock_gettime_of(v->evidence, clock);
	const struct path_evidence *path = call ? &call->path[PATH_VDSO] : NULL;

	return path && path->attempts && path->entered == path->attempts;
}

static bool old_vdso_clocks(const struct view *v)
{
	return v->verdict == VERDICT_OK && !v->gvisor &&
	       (enters_always(v, "CLOCK_MONOTONIC_RAW") || enters_always(v, "CLOCK_BOOTTIME") ||
		       enters_always(v, "CLOCK_TAI"));
}

static bool gvisor_few_clocks(const struct view *v)
{
	return v->verdict == VERDICT_OK && v->gvisor &&
	       (enters_always(v, "CLOCK_MONOTONIC_RAW") ||
		       enters_always(v, "CLOCK_MONOTONIC_COARSE"));
}

static void cite_other_clocks(const struct view *v, struct cause *cause)
{
	const struct evidence *evidence = v->evidence;

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];
		const struct path_evidence *path = &call->path[call_judged_path(call)];

		if (!call->decides && path->entered && path->entered == path->attempts &&
			!strstr(call->clock, "CPUTIME"))
			cite(cause, "%s%s%s always enters the kernel", call->call,
				*call->clock ? " " : "", call->clock);
	}
}

static bool time_namespace(const struct view *v)
{
	return (v->verdict == VERDICT_OK || v->verdict == VERDICT_SLOW) &&
	       v->evidence->vclock.time_namespace;
}

static void cite_time_namespace(const struct view *v, struct cause *cause)
{
	(void)v;
	cite(cause, "the vDSO's data page is that of a time namespace");
}

static const struct advice_row newer_container_runtime = {.id = "newer-container-runtime",
	.rank = RANK_PROGRAM,
	.text = "Update the container runtime and libseccomp, or let its seccomp profile allow "
		"clock_gettime64 and similar calls."};

const struct cause_row cause_note_rows[] = {
	{.id = "time-calls-blocked",
		.text = "A seccomp filter, such as a container's profile, blocks the clock system "
			"calls.",
		.more = "seccomp(2)",
		.applies = time_calls_blocked,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_blocked,
		.advice = {&newer_container_runtime}},
	{.id = "old-vdso-clocks",
		.text = "This kernel's vDSO does not serve all of CLOCK_MONOTONIC_RAW, "
			"CLOCK_BOOTTIME and CLOCK_TAI; that of newer kernels does.",
		.more = "vdso(7)",
		.applies = old_vdso_clocks,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_other_clocks},
	{.id = "gvisor-few-clocks",
		.text = "gVisor's vDSO does not serve all the clocks that Linux's does; that of "
			"newer releases serves more.",
		.more = "https://github.com/google/gvisor/issues/7975",
		.applies = gvisor_few_clocks,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_other_clocks},
	{.id = "time-namespace",
		.text = "This process is in a time namespace: each call takes a few nanoseconds "
			"more.",
		.more = "time_namespaces(7)",
		.applies = time_namespace,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_time_namespace},
	{0},
};
