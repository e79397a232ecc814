/* SPDX-License-Identifier: MIT */
/*
 * Causes in this process or the environment it runs in, whatever the clocksource: no vDSO, a
 * counter or system calls that are denied to it, an emulator, another kernel than Linux, a C
 * library. The notes at the end explain what is slow where the verdict is ok.
 */
#include "rules.h"

#include <string.h>

#include "base/child.h"
#include "base/memory.h"

static void cite_counter_off(const struct view *v, struct cause *cause)
{
	cite(cause, "prctl(PR_GET_TSC): PR_TSC_SIGSEGV");
	if (v->decided.signal)
		cite(cause, "clock_gettime ends with %s", fault_signal_name(v->decided.signal));
}

static void cite_emulator(const struct view *v, struct cause *cause)
{
	const struct fact *vdso = &v->evidence->vdso.fact;

	cite(cause, "emulator: %s", v->evidence->host.emulator.value);
	cite(cause, "vDSO: %s", fact_is_known(vdso) ? "present" : vdso->reason);
}

static void cite_32_bits(const struct view *v, struct cause *cause)
{
	cite(cause, "architecture: %s, program: 32 bits", v->evidence->host.arch.value);
}

static void cite_release(const struct view *v, struct cause *cause)
{
	cite(cause, "kernel: %s", v->evidence->host.kernel.value);
}

static void cite_libc(const struct view *v, struct cause *cause)
{
	const struct text_fact *libc = &v->evidence->host.libc;

	cite(cause, "%u of %u calls through %s entered the kernel, none of the vDSO's own",
		v->libc.entered, v->libc.attempts,
		fact_is_known(&libc->fact) ? libc->value : "libc");
}

static const struct advice_row leave_counter_on = {"leave-counter-on", RANK_PROGRAM,
	.text = "Find out what calls prctl(PR_SET_TSC, PR_TSC_SIGSEGV) before it starts the "
		"program, and remove that call."};

static const struct advice_row run_without_emulator = {"run-without-emulator", RANK_LOOK,
	.text = "Run a vdsocheck built for this machine's own architecture, and not under valgrind "
		"or another emulator."};

static const struct advice_row run_outside_tool = {"run-outside-tool", RANK_LOOK,
	.text = "Run the program outside the tool that replaces its vDSO. To check the host, run "
		"vdsocheck outside it, too.",
	.anywhere = true};

static const struct advice_row use_wsl2 = {"use-wsl2", RANK_UPDATE, .actor = ACTOR_HOST,
	.text = "Convert this distribution to WSL 2."};

static const struct advice_row leave_uml = {"leave-uml", RANK_UPDATE, .actor = ACTOR_GUEST,
	.text = "Run the program on the machine itself, or in a virtual machine: no setting helps here.",
	.anywhere = true};

/* The sysctl and the boot parameter both set vdso32_enabled (vdso32-setup.c, 5.10 to 7.2 read). */
static const struct advice_row enable_vdso32 = {"enable-vdso32", RANK_UNDO,
	.text = "Enable the 32-bit vDSO for programs that start from now on, or run the 64-bit "
		"build of the program.",
	.steps = {{.command = "sudo sysctl abi.vsyscall32=1",
			  .undo = "sudo sysctl abi.vsyscall32=0"},
		{.command = "vdsocheck"}},
	.boot = "vdso32=1", .risk = "glibc 2.3.2 and 2.3.3 crash with it."};

static const struct advice_row use_64_bit_or_compat = {"use-64-bit-or-compat-vdso", RANK_UPDATE,
	.actor = ACTOR_GUEST,
	.text = "Use a 64-bit system, or the 64-bit build of this program. Or use a kernel that "
		"was built with CONFIG_COMPAT_VDSO, which needs a 32-bit compiler at build time.",
	.anywhere = true,
	.source = "raspberrypi/linux issue 6601, https://github.com/raspberrypi/linux/issues/6601"};

static const struct advice_row use_64_bit_arm = {"use-64-bit-arm", RANK_UPDATE,
	.actor = ACTOR_GUEST, .text = "Run the 64-bit build of the program.", .anywhere = true};

static const struct advice_row wait_for_gvisor = {"wait-for-gvisor", RANK_LOOK,
	.text = "Run vdsocheck again after the sandbox has been running for a few seconds.",
	.steps = {{.command = "sleep 5; vdsocheck"}}};

static const struct advice_row newer_libc = {"newer-libc", RANK_PROGRAM,
	.text = "Rebuild or run the program with a C library that uses the vDSO (glibc 2.31 or "
		"newer if linked statically), and look for an LD_PRELOAD that wraps clock_gettime."};

void cause_process(const struct view *v, struct cause_list *list)
{
	const struct evidence *evidence = v->evidence;
	const struct host_evidence *host = &evidence->host;
	const char *no_vdso = evidence->vdso.fact.reason;
	bool fallback = v->verdict == VERDICT_FALLBACK;
	bool is_off = (fallback || v->expected == VERDICT_FALLBACK) && v->no_vdso &&
	              v->boot_disables_vdso;
	bool is_missing = fallback && v->no_vdso && !v->boot_disables_vdso;
	/* A 64-bit program may have a vDSO there. */
	bool is_32_bit = is_missing && fact_is_known(&host->pointer_bits.fact) &&
	                 host->pointer_bits.value == 32;
	bool is_x86_64 = is_32_bit && fact_is_text(&host->arch, "x86_64");
	bool is_aarch64 = is_32_bit && fact_is_text(&host->arch, "aarch64");
	const struct cause_row rows[] = {
		{"counter-disabled", v->counter_off, CERTAINTY_PROVEN, cite_counter_off,
			"The counter is disabled for this process and its children "
			"(prctl(PR_SET_TSC)): a call that reads it ends with SIGSEGV.",
			.signs = "prctl(PR_GET_TSC) returns PR_TSC_SIGSEGV.",
			.more = "PR_SET_TSC(2const)", .advice = {{&leave_counter_on, true}}},
		{"emulated", v->emulated, CERTAINTY_PROVEN, cite_emulator,
			"vdsocheck runs under an emulator; run it natively to check the host.",
			.signs = "Valgrind's library is preloaded, or /proc/thread-self/exe is "
				 "another program, such as qemu-user.",
			.advice = {{&run_without_emulator, true}}},
		/* rr and CRIU after a restore each map an image of their own. */
		{"vdso-replaced", v->vdso_replaced, CERTAINTY_PROVEN, NULL,
			"A tool (rr, CRIU, other instrumentation) gave this "
			"process a vDSO of its own, so this result holds for this process, not for "
			"the host.",
			.more = "getauxval(3)",
			.detail = "AT_SYSINFO_EHDR is not in the mapping [vdso] of /proc/self/maps",
			.advice = {{&run_outside_tool, v->verdict != VERDICT_OK}}},
		{"vdso-switched-off", is_off, CERTAINTY_PROVEN, cite_boot,
			"The vDSO is disabled on the kernel command line.",
			.signs = "The kernel gives this process no vDSO, and its command line has "
				 "vdso=0, vdso32=0 or vdso32=2.",
			.more = "vdso(7)", .advice = {{&advice_drop_boot, true}}},
		{"no-vdso", is_missing && !is_x86_64 && !is_aarch64, CERTAINTY_PROVEN, NULL,
			"The kernel, or an emulator in its place (valgrind, qemu-user), gives "
			"programs no vDSO, so every clock call is a system call.",
			.signs = "The auxiliary vector has no AT_SYSINFO_EHDR, and the kernel "
				 "command line does not say why.",
			.more = "vdso(7)", .detail = no_vdso,
			.advice = {{&run_without_emulator, true}, {&advice_send_report, true}}},
		{"vdso32-disabled", is_x86_64, CERTAINTY_LIKELY, cite_32_bits,
			"This kernel gives 32-bit programs no vDSO: sysctl abi.vsyscall32 is 0, as "
			"in kernels that were built with CONFIG_COMPAT_VDSO.",
			.signs = "A 32-bit vdsocheck gets no vDSO from an x86-64 kernel, and the "
				 "kernel command line does not say why.",
			.more = BOOT_PARAMETERS, .detail = no_vdso,
			.advice = {{&enable_vdso32, true}}},
		{"no-compat-vdso", is_aarch64, CERTAINTY_LIKELY, cite_32_bits,
			"This 64-bit kernel gives 32-bit programs no vDSO: it was built without "
			"CONFIG_COMPAT_VDSO.",
			.signs = "A 32-bit vdsocheck gets no vDSO from an arm64 kernel.",
			.detail = no_vdso, .advice = {{&use_64_bit_or_compat, true}}},
		/* Its vDSO makes the system calls itself (um/vdso/um_vdso.c, 3.2 to 7.2). */
		{"uml", fallback && hypervisor_is(evidence, "uml"), CERTAINTY_PROVEN, NULL,
			"The vDSO of User-Mode Linux makes a system call for each clock call.",
			.detail = "/proc/cpuinfo: vendor_id User Mode Linux",
			.advice = {{&leave_uml, true}}},
		{"wsl1", fallback && platform_is(evidence, "wsl1"), CERTAINTY_LIKELY, cite_release,
			"WSL 1 has neither a Linux kernel nor a vDSO clock; WSL 2 has both.",
			.signs = "The calls fall back, and the kernel's release ends with "
				 "-Microsoft.",
			.advice = {{&use_wsl2, true}}},
		/* This mode excludes 32-bit programs only; the vDSO serves 64-bit programs. */
		{"arm-compat-disabled",
			v->falls_back && strcmp(evidence->vclock.name, "archtimer-nocompat") == 0,
			CERTAINTY_PROVEN, cite_mode,
			"The kernel does not let 32-bit programs read this CPU's counter, only "
			"64-bit ones.",
			.signs = "The calls fall back, and the vclock mode is archtimer-nocompat.",
			.advice = {{&use_64_bit_arm, true}}},
		{"gvisor-calibrating", v->falls_back && v->gvisor, CERTAINTY_LIKELY, cite_mode,
			"In the first seconds of a sandbox, until gVisor has calibrated the CPU's "
			"counter, its vDSO passes the calls on to the sentry.",
			.signs = "The calls fall back in a sandbox of gVisor.",
			.advice = {{&wait_for_gvisor, true}}},
		{"libc-bypasses-vdso",
			v->libc.entered > 0 && v->vdso.proven > 0 && v->vdso.entered == 0,
			CERTAINTY_PROVEN, cite_libc,
			fact_is_flag(&host->libc_static, true)
				? "Only vdsocheck itself is affected: the C library that is linked "
				  "into it does not use the vDSO."
				: "This C library does not use the vDSO, although the vDSO works.",
			.signs = "In the proof, calls through the C library entered the kernel, "
				 "and none through the vDSO did.",
			.more = "vdso(7)", .advice = {{&newer_libc, fallback}}},
	};

	cause_add(list, v, rows, ARRAY_SIZE(rows));
}

static bool are_calls_blocked(const struct view *v)
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

/* A static program's libc is not the host's. */
static bool libc_lacks_getrandom(const struct view *v)
{
	const struct call_evidence *call = call_evidence_of(v->evidence, "getrandom", "");
	const struct path_evidence *path = call ? call->path : NULL;

	return path && path[PATH_VDSO].attempts && !path[PATH_VDSO].entered &&
	       path[PATH_LIBC].attempts && path[PATH_LIBC].entered == path[PATH_LIBC].attempts &&
	       fact_is_flag(&v->evidence->host.libc_static, false);
}

static void cite_getrandom(const struct view *v, struct cause *cause)
{
	const struct call_evidence *call = call_evidence_of(v->evidence, "getrandom", "");
	const struct text_fact *libc = &v->evidence->host.libc;

	cite(cause,
		"%u of %u calls of getrandom() through %s entered the kernel, none of the vDSO's",
		call->path[PATH_LIBC].entered, call->path[PATH_LIBC].attempts,
		fact_is_known(&libc->fact) ? libc->value : "libc");
}

static void cite_other_clocks(const struct view *v, struct cause *cause)
{
	const struct evidence *evidence = v->evidence;

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];
		const struct path_evidence *path = &call->path[call_judged_path(call)];

		if (!call->decides && path->entered && path->entered == path->attempts &&
			!strstr(call->clock, "CPUTIME") && strcmp(call->call, "getrandom") != 0)
			cite(cause, "%s%s%s always enters the kernel", call->call,
				*call->clock ? " " : "", call->clock);
	}
}

static const struct advice_row newer_container_runtime = {"newer-container-runtime", RANK_PROGRAM,
	.text = "Update the container runtime and libseccomp, or let its seccomp profile allow "
		"clock_gettime64 and similar calls."};

void cause_notes(const struct view *v, struct cause_list *list)
{
	bool is_ok = v->verdict == VERDICT_OK;
	bool raw = enters_always(v, "CLOCK_MONOTONIC_RAW");
	enum counter_standing standing = counter_standing_find(v);
	const struct cause_row rows[] = {
		{"time-calls-blocked", are_calls_blocked(v), CERTAINTY_PROVEN, cite_blocked,
			"A seccomp filter, such as a container's profile, blocks the clock system "
			"calls.",
			.signs = "A deciding call fails when it is made as a system call.",
			.more = "seccomp(2)", .advice = {{&newer_container_runtime, true}}},
		{"old-vdso-clocks",
			is_ok && !v->gvisor &&
				(raw || enters_always(v, "CLOCK_BOOTTIME") ||
					enters_always(v, "CLOCK_TAI")),
			CERTAINTY_LIKELY, cite_other_clocks,
			"This kernel's vDSO does not serve all of CLOCK_MONOTONIC_RAW, "
			"CLOCK_BOOTTIME and CLOCK_TAI; that of newer kernels does.",
			.signs = "The verdict is ok, and each vDSO call for one of these clocks "
				 "entered the kernel.",
			.more = "vdso(7)"},
		{"gvisor-few-clocks",
			is_ok && v->gvisor && (raw || enters_always(v, "CLOCK_MONOTONIC_COARSE")),
			CERTAINTY_LIKELY, cite_other_clocks,
			"gVisor's vDSO does not serve all the clocks that Linux's does; that of "
			"newer releases serves more.",
			.signs = "The verdict is ok in a sandbox of gVisor, and each vDSO call for "
				 "CLOCK_MONOTONIC_RAW or CLOCK_MONOTONIC_COARSE entered the "
				 "kernel.",
			.more = "https://github.com/google/gvisor/issues/7975"},
		{"libc-without-vdso-getrandom", is_ok && libc_lacks_getrandom(v), CERTAINTY_PROVEN,
			cite_getrandom,
			"The C library does not use the vDSO's getrandom(): each call is a system "
			"call. glibc uses it from 2.41 on.",
			.signs =
				"The verdict is ok, no getrandom() by the vDSO entered the kernel, "
				"and each one by the C library did.",
			.more = "getrandom(2)"},
		{"tsc-readers-affected",
			is_ok && (standing == COUNTER_FAULTY || standing == COUNTER_DISTRUSTED),
			CERTAINTY_PROVEN, NULL,
			"The kernel dropped the TSC: programs that read it themselves are affected, "
			"too.",
			.signs = "The verdict is ok on another clocksource, and the kernel log "
				 "shows that the TSC was dropped, not that this was a mistake.",
			.more = "vdsocheck-counter(1)",
			.line = v->tsc_distrust ? v->tsc_distrust : v->tsc_delay,
			.with_switch = true},
		{"time-namespace",
			(is_ok || v->verdict == VERDICT_SLOW) && v->evidence->vclock.time_namespace,
			CERTAINTY_PROVEN, NULL,
			"This process is in a time namespace: each call takes a few nanoseconds "
			"more.",
			.more = "time_namespaces(7)",
			.detail = "the vDSO's data page is that of a time namespace"},
	};

	cause_add(list, v, rows, ARRAY_SIZE(rows));
}
