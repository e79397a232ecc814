/* SPDX-License-Identifier: MIT */
/*
 * Causes in this process or the environment it runs in, whatever the clocksource: no vDSO, a
 * counter or system calls that are denied to it, an emulator, another kernel than Linux, a C
 * library. The notes at the end explain what is slow where the verdict is ok.
 */
#include "rules.h"

#include <string.h>

#include "base/fault.h"

static void support_counter_off(const struct view *view, struct cause *cause)
{
	int signal = view->decided.signal;

	support_add(cause, "prctl(PR_GET_TSC): PR_TSC_SIGSEGV");
	if (signal)
		support_add(cause, "clock_gettime ends with %s", fault_signal_name(signal));
}

static void support_emulated(const struct view *view, struct cause *cause)
{
	const struct evidence *evidence = view->evidence;

	support_add(cause, "emulator: %s", evidence->host.emulator.value);
	support_add(cause, "vDSO: %s",
		fact_is_known(&evidence->vdso.fact) ? "present" : evidence->vdso.fact.reason);
}

static bool is_wsl1(const struct view *view)
{
	return platform_is(view->evidence, "wsl1");
}

static void support_by_platform(const struct view *view, struct cause *cause)
{
	support_add(cause, "kernel: %s", view->evidence->host.kernel.value);
}

/* Its vDSO makes system calls for the kernel to catch (arch/x86/um/vdso/um_vdso.c, 3.2 to 7.2). */
static bool is_uml(const struct view *view)
{
	return fact_is_text(&view->evidence->host.hypervisor, "uml");
}

static void support_uml(const struct view *view, struct cause *cause)
{
	(void)view;
	support_add(cause, "/proc/cpuinfo: vendor_id User Mode Linux");
}

static void support_vdso32(const struct view *view, struct cause *cause)
{
	support_add(cause, "architecture: %s, program: 32 bits", view->evidence->host.arch.value);
	support_no_vdso(view, cause);
}

/* The mode excludes 32-bit programs alone: 64-bit ones read it, too, and are served. */
static bool is_arm_compat(const struct view *view)
{
	return strcmp(view->evidence->vclock.name, "archtimer-nocompat") == 0;
}

/* The vDSO's functions make no system call, but libc's do. */
static bool does_libc_enter(const struct view *view)
{
	return view->libc.entered > 0 && view->vdso.proven > 0 && view->vdso.entered == 0;
}

static bool is_own_libc(const struct view *view)
{
	return does_libc_enter(view) && fact_is_flag(&view->evidence->host.libc_static, true);
}

static bool is_libc(const struct view *view)
{
	return does_libc_enter(view) && !is_own_libc(view);
}

static void support_libc(const struct view *view, struct cause *cause)
{
	const struct text_fact *libc = &view->evidence->host.libc;

	support_add(cause, "%u of %u calls through %s entered the kernel, none of the vDSO's own",
		view->libc.entered, view->libc.attempts,
		fact_is_known(&libc->fact) ? libc->value : "libc");
}

static const struct advice_row leave_counter_on = {.id = "leave-counter-on",
	.effort = EFFORT_PROGRAM,
	.text = "Find out what sets prctl(PR_SET_TSC, PR_TSC_SIGSEGV) before it starts the "
		"program, and remove it."};

static const struct advice_row run_without_emulator = {.id = "run-without-emulator",
	.effort = EFFORT_LOOK,
	.text = "Run a vdsocheck built for this machine's own architecture, and not under valgrind "
		"or another emulator."};

static const struct advice_row use_wsl2 = {
	.id = "use-wsl2", .effort = EFFORT_UPDATE, .text = "Convert this distribution to WSL 2."};

static const struct advice_row leave_uml = {.id = "leave-uml",
	.effort = EFFORT_UPDATE,
	.anywhere = true,
	.text = "Run the program on the machine itself, or in a virtual machine: no setting "
		"helps here."};

/* VDSO_DEFAULT of vdso32-setup.c; both ways reach vdso32_enabled there (5.10 to 7.2 read). */
static const struct advice_row enable_vdso32 = {.id = "enable-vdso32",
	.effort = EFFORT_UNDO,
	.text = "Enable the 32-bit vDSO for programs that start from now on, or run the 64-bit "
		"build of the program.",
	.steps = {{.command = "sudo sysctl abi.vsyscall32=1",
			  .undo = "sudo sysctl abi.vsyscall32=0"},
		{.command = "vdsocheck"}},
	.boot = "vdso32=1",
	.risk = "glibc 2.3.2 and 2.3.3 crash with it."};

static const struct advice_row use_64_bit_arm = {.id = "use-64-bit-arm",
	.effort = EFFORT_UPDATE,
	.anywhere = true,
	.text = "Run the 64-bit build of the program."};

static const struct advice_row wait_for_gvisor = {.id = "wait-for-gvisor",
	.effort = EFFORT_LOOK,
	.text = "Run vdsocheck again after the sandbox has been running for a few seconds.",
	.steps = {{.command = "sleep 5; vdsocheck"}}};

static const struct advice_row newer_libc = {.id = "newer-libc",
	.effort = EFFORT_PROGRAM,
	.when = {.verdicts = BIT(VERDICT_FALLBACK)},
	.text = "Rebuild or run the program with a C library that uses the vDSO (glibc 2.31 or "
		"newer where static), and look for an LD_PRELOAD that wraps clock_gettime."};

const struct cause_row cause_process_rows[] = {
	{.id = "counter-disabled",
		.text = "The counter is disabled for this process and its children "
			"(prctl(PR_SET_TSC)): a call that reads it ends with SIGSEGV.",
		.more = "PR_SET_TSC(2const)",
		.when = {.needs = COUNTER_OFF},
		.certainty = CERTAINTY_PROVEN,
		.support = support_counter_off,
		.advice = {&leave_counter_on}},
	{.id = "emulated",
		.text = "vdsocheck runs under an emulator; run it natively to check the host.",
		.when = {.needs = EMULATED},
		.certainty = CERTAINTY_PROVEN,
		.support = support_emulated,
		.advice = {&run_without_emulator}},
	{.id = "vdso-switched-off",
		.text = "The vDSO is disabled on the kernel command line.",
		.more = "vdso(7)",
		.when = {.verdicts = BIT(VERDICT_FALLBACK), .needs = NO_VDSO | NO_VDSO_AT_BOOT},
		.certainty = CERTAINTY_PROVEN,
		.support = support_boot,
		.advice = {&advice_drop_boot}},
	{.id = "no-vdso",
		.text = "The kernel, or an emulator in its place (valgrind, qemu-user), gives "
			"programs no vDSO, so every clock call is a system call.",
		.more = "vdso(7)",
		.when = {.verdicts = BIT(VERDICT_FALLBACK),
			.needs = NO_VDSO,
			.unless = NO_VDSO_AT_BOOT | ARM_COMPAT | VDSO32_OFF},
		.certainty = CERTAINTY_PROVEN,
		.support = support_no_vdso,
		.advice = {&run_without_emulator, &advice_send_report}},
	{.id = "vdso32-disabled",
		.text = "This kernel gives 32-bit programs no vDSO: sysctl abi.vsyscall32 is 0, as "
			"in kernels that were built with CONFIG_COMPAT_VDSO.",
		.more = BOOT_PARAMETERS,
		.when = {.verdicts = BIT(VERDICT_FALLBACK), .needs = VDSO32_OFF},
		.certainty = CERTAINTY_LIKELY,
		.support = support_vdso32,
		.advice = {&enable_vdso32}},
	{.id = "uml",
		.text = "The vDSO of User-Mode Linux makes a system call for each clock call.",
		.when = {.verdicts = BIT(VERDICT_FALLBACK), .applies = is_uml},
		.certainty = CERTAINTY_PROVEN,
		.support = support_uml,
		.advice = {&leave_uml}},
	{.id = "wsl1",
		.text = "WSL 1 does not run a Linux kernel and has no vDSO clock; WSL 2 does.",
		.when = {.verdicts = BIT(VERDICT_FALLBACK), .applies = is_wsl1},
		.certainty = CERTAINTY_LIKELY,
		.support = support_by_platform,
		.advice = {&use_wsl2}},
	{.id = "arm-compat-disabled",
		.text = "The kernel does not let 32-bit programs read this CPU's counter, only "
			"64-bit ones.",
		.when = {.needs = FALLS_BACK, .applies = is_arm_compat},
		.certainty = CERTAINTY_PROVEN,
		.support = support_mode,
		.advice = {&use_64_bit_arm}},
	{.id = "gvisor-calibrating",
		.text = "In the first seconds of a sandbox, until gVisor has calibrated the "
			"CPU's counter, its vDSO passes the calls on to the sentry.",
		.when = {.needs = FALLS_BACK | GVISOR},
		.certainty = CERTAINTY_LIKELY,
		.support = support_mode,
		.advice = {&wait_for_gvisor}},
	{.id = "libc-bypasses-vdso",
		.text = "Only vdsocheck itself is affected: the C library that is linked into it "
			"does not use the vDSO.",
		.more = "vdso(7)",
		.when = {.applies = is_own_libc},
		.certainty = CERTAINTY_PROVEN,
		.support = support_libc,
		.advice = {&newer_libc}},
	{.id = "libc-bypasses-vdso",
		.text = "This C library does not use the vDSO, although the vDSO works.",
		.more = "vdso(7)",
		.when = {.applies = is_libc},
		.certainty = CERTAINTY_PROVEN,
		.support = support_libc,
		.advice = {&newer_libc}},
	{0},
};

static bool is_blocked(const struct view *view)
{
	const struct evidence *evidence = view->evidence;

	for (size_t i = 0; i < evidence->call_count; i++) {
		if (evidence->calls[i].decides && evidence->calls[i].raw_error)
			return true;
	}
	return false;
}

static void support_blocked(const struct view *view, struct cause *cause)
{
	const struct evidence *evidence = view->evidence;

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (call->raw_error)
			support_add(cause, "%s %s by system call: %s", call->call, call->clock,
				strerror(call->raw_error));
	}
}

static bool enters_always(const struct view *view, const char *clock)
{
	const struct call_evidence *call = clock_gettime_of(view->evidence, clock);
	const struct path_evidence *path = call ? &call->path[PATH_VDSO] : NULL;

	return path && path->attempts && path->entered == path->attempts;
}

static bool is_old_vdso(const struct view *view)
{
	return enters_always(view, "CLOCK_MONOTONIC_RAW") ||
	       enters_always(view, "CLOCK_BOOTTIME") || enters_always(view, "CLOCK_TAI");
}

static bool is_gvisor_vdso(const struct view *view)
{
	return enters_always(view, "CLOCK_MONOTONIC_RAW") ||
	       enters_always(view, "CLOCK_MONOTONIC_COARSE");
}

static void support_other_clocks(const struct view *view, struct cause *cause)
{
	const struct evidence *evidence = view->evidence;

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];
		const struct path_evidence *path = &call->path[call_judged_path(call)];

		if (!call->decides && path->entered && path->entered == path->attempts &&
			!strstr(call->clock, "CPUTIME"))
			support_add(cause, "%s%s%s always enters the kernel", call->call,
				*call->clock ? " " : "", call->clock);
	}
}

static bool is_in_time_namespace(const struct view *view)
{
	return view->evidence->vclock.time_namespace;
}

static void support_time_namespace(const struct view *view, struct cause *cause)
{
	(void)view;
	support_add(cause, "the vDSO's data page is that of a time namespace");
}

static const struct advice_row newer_container_runtime = {.id = "newer-container-runtime",
	.effort = EFFORT_PROGRAM,
	.text = "Update the container runtime and libseccomp, or let its seccomp profile allow "
		"clock_gettime64 and similar calls."};

const struct cause_row cause_note_rows[] = {
	{.id = "time-calls-blocked",
		.text = "A seccomp filter, such as a container's profile, blocks the clock system "
			"calls.",
		.more = "seccomp(2)",
		.when = {.applies = is_blocked},
		.certainty = CERTAINTY_PROVEN,
		.support = support_blocked,
		.advice = {&newer_container_runtime}},
	{.id = "old-vdso-clocks",
		.text = "This kernel's vDSO does not serve all of CLOCK_MONOTONIC_RAW, "
			"CLOCK_BOOTTIME and CLOCK_TAI; that of newer kernels does.",
		.more = "vdso(7)",
		.when = {.verdicts = BIT(VERDICT_OK), .unless = GVISOR, .applies = is_old_vdso},
		.certainty = CERTAINTY_LIKELY,
		.support = support_other_clocks},
	{.id = "gvisor-few-clocks",
		.text = "gVisor's vDSO does not serve all the clocks that Linux's does; that of "
			"newer releases serves more.",
		.more = "https://github.com/google/gvisor/issues/7975",
		.when = {.verdicts = BIT(VERDICT_OK), .needs = GVISOR, .applies = is_gvisor_vdso},
		.certainty = CERTAINTY_LIKELY,
		.support = support_other_clocks},
	{.id = "time-namespace",
		.text = "This process is in a time namespace: each call takes a few nanoseconds "
			"more.",
		.more = "time_namespaces(7)",
		.when = {.verdicts = BIT(VERDICT_OK) | BIT(VERDICT_SLOW),
			.applies = is_in_time_namespace},
		.certainty = CERTAINTY_PROVEN,
		.support = support_time_namespace},
	{0},
};
