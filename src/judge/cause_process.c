/* SPDX-License-Identifier: MIT */
/*
 * Causes in this process or the environment it runs in, whatever the clocksource: no vDSO, a
 * counter or system calls that are denied to it, an emulator, another kernel than Linux, a C
 * library. The notes at the end explain what is slow where the verdict is ok.
 */
#include "rules.h"

#include <inttypes.h>
#include <string.h>

#include "base/child.h"

static void cite_libc_values(const struct view *v, struct cause *cause)
{
	for (size_t i = 0; i < v->evidence->call_count; i++) {
		const struct call_evidence *call = &v->evidence->calls[i];

		if (!call->decides)
			continue;
		if (call->path[PATH_LIBC].failed)
			cite(cause, "%s through libc %s", as_call(call->call, call->clock),
				fault_error_text(call->path[PATH_LIBC].error));
		else if (fact_is_flag(&call->libc_agrees, false))
			cite(cause, "%s through libc: %s", as_call(call->call, call->clock),
				as_ahead(call->libc_ahead_ns));
	}
}

/* With a wrong vDSO the values of libc say nothing. */
static bool is_wrong_by_libc(const struct view *v, const struct call_evidence *call)
{
	const struct path_evidence *vdso = &call->path[PATH_VDSO];

	return call->decides && v->verdict != VERDICT_WRONG &&
	       (fact_is_flag(&call->libc_agrees, false) ||
		       (call->path[PATH_LIBC].failed && vdso->available && !vdso->failed));
}

static void cite_libc(const struct view *v, struct cause *cause)
{
	const struct text_fact *libc = &v->evidence->host.libc;

	cite(cause,
		"%" PRIu64 " of %" PRIu64
		" calls through %s entered the kernel, none of the vDSO's own",
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
		"vdsocheck outside it, too."};

static const struct advice_row use_wsl2 = {"use-wsl2", RANK_UPDATE, .actor = ACTOR_HOST,
	.text = "Convert this distribution to WSL 2."};

static const struct advice_row leave_uml = {"leave-uml", RANK_UPDATE, .actor = ACTOR_GUEST,
	.text = "Run the program on the machine itself, or in a virtual machine: no setting helps "
		"here.",
	.where = HERE};

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
	.where = HERE,
	.source = "raspberrypi/linux issue 6601, https://github.com/raspberrypi/linux/issues/6601"};

static const struct advice_row use_64_bit_arm = {"use-64-bit-arm", RANK_UPDATE,
	.actor = ACTOR_GUEST, .text = "Run the 64-bit build of the program.", .where = HERE};

static const struct advice_row wait_for_gvisor = {"wait-for-gvisor", RANK_LOOK,
	.text = "Run vdsocheck again after the sandbox has been running for a few seconds.",
	.steps = {{.command = "sleep 5; vdsocheck"}}};

static const struct advice_row newer_libc = {"newer-libc", RANK_PROGRAM,
	.text = "Rebuild or run the program with a C library that uses the vDSO (glibc 2.31 or "
		"newer if linked statically), and look for an LD_PRELOAD that wraps clock_gettime."};

static bool does_libc_bypass(const struct view *v)
{
	return v->libc.entered > 0 && v->vdso.proven > 0 && v->vdso.entered == 0 &&
	       !v->vdso.failing;
}

#define WITHOUT_VDSO IS(fallback), IS(no_vdso), NOT(boot_disables_vdso)

/* A 64-bit program may have a vDSO there. */
#define ON_32_BITS_OF(arch) FACT_IS(host.pointer_bits, 32), HAS(arch_starts, arch)

const struct cause_row causes_process[] = {
	{"counter-disabled", GROUP_PROCESS, CERTAINTY_PROVEN, IF(IS(counter_off)),
		"The counter is disabled for this process and its children (prctl(PR_SET_TSC)): a "
		"call that reads it ends with SIGSEGV.",
		.signs = "prctl(PR_GET_TSC) returns PR_TSC_SIGSEGV.",
		.details = {"prctl(PR_GET_TSC): PR_TSC_SIGSEGV",
			"clock_gettime ends with {signal}"},
		.more = "PR_SET_TSC(2const)", .advice = {{&leave_counter_on, ALWAYS}}},
	{"emulated", GROUP_PROCESS, CERTAINTY_PROVEN, IF(IS(emulated)),
		"vdsocheck runs under an emulator; run it natively to check the host.",
		.signs = "Valgrind's library is preloaded, or /proc/thread-self/exe is another "
			 "program, such as qemu-user.",
		.details = {"emulator: {emulator}", "vDSO: {vdso}"},
		.advice = {{&run_without_emulator, ALWAYS}}},
	/* rr and CRIU after a restore each map an image of their own. */
	{"vdso-replaced", GROUP_PROCESS, CERTAINTY_PROVEN, IF(IS(vdso_replaced)),
		"A tool (rr, CRIU, other instrumentation) gave this process a vDSO of its own, so "
		"this result holds for this process, not for the host.",
		.signs = "AT_SYSINFO_EHDR is not in the mapping [vdso] of /proc/self/maps.",
		.details = {"AT_SYSINFO_EHDR is not in the mapping [vdso] of /proc/self/maps"},
		.more = "getauxval(3)",
		.advice = {{&run_outside_tool, IF(NE(verdict, VERDICT_OK))}}},
	{"vdso-switched-off", GROUP_VDSO, CERTAINTY_PROVEN,
		IF(IS(fallback), IS(no_vdso), IS(boot_disables_vdso)),
		"The vDSO is disabled on the kernel command line.",
		.signs = "The kernel gives this process no vDSO, and its command line has vdso=0, "
			 "vdso32=0 or vdso32=2.",
		.evidence = cite_boot, .more = "vdso(7)", .advice = {{&advice_drop_boot, ALWAYS}}},
	{"no-vdso", GROUP_VDSO, CERTAINTY_PROVEN,
		IF(WITHOUT_VDSO, NOT_ALL(ON_32_BITS_OF("x86_64")),
			NOT_ALL(ON_32_BITS_OF("aarch64"))),
		"The kernel, or an emulator in its place (valgrind, qemu-user), gives programs no "
		"vDSO, so every clock call is a system call.",
		.signs = "The auxiliary vector has no AT_SYSINFO_EHDR, and the kernel command "
			 "line does not say why.",
		.details = {"{vdso}"}, .more = "vdso(7)",
		.advice = {{&run_without_emulator, ALWAYS}, {&advice_send_report, ALWAYS}}},
	{"vdso32-disabled", GROUP_VDSO, CERTAINTY_LIKELY, IF(WITHOUT_VDSO, ON_32_BITS_OF("x86_64")),
		"This kernel gives 32-bit programs no vDSO: sysctl abi.vsyscall32 is 0, as in "
		"kernels that were built with CONFIG_COMPAT_VDSO.",
		.signs = "A 32-bit vdsocheck gets no vDSO from an x86-64 kernel, and the kernel "
			 "command line does not say why.",
		.details = {"architecture: {arch}, program: 32 bits", "{vdso}"},
		.more = BOOT_PARAMETERS, .advice = {{&enable_vdso32, ALWAYS}}},
	{"no-compat-vdso", GROUP_VDSO, CERTAINTY_LIKELY, IF(WITHOUT_VDSO, ON_32_BITS_OF("aarch64")),
		"This 64-bit kernel gives 32-bit programs no vDSO: it was built without "
		"CONFIG_COMPAT_VDSO.",
		.signs = "A 32-bit vdsocheck gets no vDSO from an arm64 kernel.",
		.details = {"architecture: {arch}, program: 32 bits", "{vdso}"},
		.advice = {{&use_64_bit_or_compat, ALWAYS}}},
	{"uml", GROUP_PROCESS, CERTAINTY_PROVEN, IF(IS(fallback), HAS(hypervisor_is, "uml")),
		"The vDSO of User-Mode Linux makes a system call for each clock call.",
		.signs = "/proc/cpuinfo has the vendor_id User Mode Linux.",
		.details = {"/proc/cpuinfo: vendor_id User Mode Linux"},
		.advice = {{&leave_uml, ALWAYS}}},
	{"wsl1", GROUP_PROCESS, CERTAINTY_LIKELY, IF(IS(fallback), HAS(platform_is, "wsl1")),
		"WSL 1 has neither a Linux kernel nor a vDSO clock; WSL 2 has both.",
		.signs = "The calls fall back, and the kernel's release ends with -Microsoft.",
		.details = {"kernel: {kernel}"}, .advice = {{&use_wsl2, ALWAYS}}},
	/* This mode excludes 32-bit programs only; the vDSO serves 64-bit programs. */
	{"arm-compat-disabled", GROUP_OTHER, CERTAINTY_PROVEN,
		IF(IS(falls_back), HAS(mode_is, "archtimer-nocompat")),
		"The kernel does not let 32-bit programs read this CPU's counter, only 64-bit "
		"ones.",
		.signs = "The calls fall back, and the vclock mode is archtimer-nocompat.",
		.log = "ARM erratum 1418040", .evidence = cite_mode,
		.advice = {{&use_64_bit_arm, ALWAYS}}},
	{"gvisor-calibrating", GROUP_PROCESS, CERTAINTY_LIKELY, IF(IS(falls_back), IS(gvisor)),
		"In the first seconds of a sandbox, until gVisor has calibrated the CPU's "
		"counter, its vDSO passes the calls on to the sentry.",
		.signs = "The calls fall back in a sandbox of gVisor.", .evidence = cite_mode,
		.advice = {{&wait_for_gvisor, ALWAYS}}},
	{"libc-bypasses-vdso", GROUP_PROCESS, CERTAINTY_PROVEN, IF(ASK(does_libc_bypass)),
		"This C library does not use the vDSO, although the vDSO works.",
		.texts = {{"Only vdsocheck itself is affected: the C library that is linked into "
			   "it does not use the vDSO.",
			IF(FACT_IS(host.libc_static, true))}},
		.signs = "In the proof, calls through the C library entered the kernel, and none "
			 "through the vDSO did.",
		.evidence = cite_libc, .details = {"clock_gettime() is that of {library}"},
		.more = "vdso(7)", .advice = {{&newer_libc, IF(IS(fallback))}}},
	{"libc-values", GROUP_PROCESS, CERTAINTY_PROVEN, IF(CALL(is_wrong_by_libc)),
		"This process gets another time than the kernel's from its clock functions, which "
		"{wrapper} replaces. The host is not affected.",
		.signs = "A deciding call through the C library fails or its values do not lie "
			 "between the kernel's before and after it, while those of the vDSO do.",
		.evidence = cite_libc_values, .details = {"clock_gettime() is that of {library}"},
		.more = "ld.so(8)"},
	{0},
};

static bool is_blocked(const struct view *v, const struct call_evidence *call)
{
	(void)v;
	return call->decides && call->raw_error;
}

static void cite_blocked(const struct view *v, struct cause *cause)
{
	const struct evidence *evidence = v->evidence;

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (call->raw_error)
			cite(cause, "%s by system call: %s", as_call(call->call, call->clock),
				strerror(call->raw_error));
	}
}

static bool enters_always(const struct evidence *evidence, const char *clock)
{
	const struct call_evidence *call = clock_gettime_of(evidence, clock);
	const struct path_evidence *path = call ? &call->path[PATH_VDSO] : NULL;

	return path && path->attempts && path->entered == path->attempts;
}

static void cite_other_clocks(const struct view *v, struct cause *cause)
{
	const struct evidence *evidence = v->evidence;

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];
		const struct path_evidence *path = &call->path[call_judged_path(call)];

		if (!call->decides && path->entered && path->entered == path->attempts &&
			!clock_is_cpu_time(call->clock))
			cite(cause, "%s always enters the kernel",
				as_call(call->call, call->clock));
	}
}

static const struct advice_row newer_container_runtime = {"newer-container-runtime", RANK_PROGRAM,
	.text = "Update the container runtime and libseccomp, or let its seccomp profile allow "
		"clock_gettime64 and similar calls."};

const struct cause_row causes_notes[] = {
	{"time-calls-blocked", GROUP_PROCESS, CERTAINTY_LIKELY, IF(CALL(is_blocked)),
		"A seccomp filter, such as a container's profile, blocks the clock system calls.",
		.signs = "A deciding call fails when it is made as a system call.",
		.proven = IF(ANY(FACT_IS(host.seccomp, 1), FACT_IS(host.seccomp, 2))),
		.evidence = cite_blocked, .more = "seccomp(2)",
		.advice = {{&newer_container_runtime, ALWAYS}}},
	{"old-vdso-clocks", GROUP_VDSO, CERTAINTY_LIKELY,
		IF(EQ(verdict, VERDICT_OK), NOT(gvisor),
			ANY(HAS(enters_always, "CLOCK_MONOTONIC_RAW"),
				HAS(enters_always, "CLOCK_BOOTTIME"),
				HAS(enters_always, "CLOCK_TAI"))),
		"This kernel's vDSO does not serve all of CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME and "
		"CLOCK_TAI; that of newer kernels does.",
		.signs = "The verdict is ok, and each vDSO call for one of these clocks entered "
			 "the kernel.",
		.evidence = cite_other_clocks, .more = "vdso(7)"},
	{"gvisor-few-clocks", GROUP_PROCESS, CERTAINTY_LIKELY,
		IF(EQ(verdict, VERDICT_OK), IS(gvisor),
			ANY(HAS(enters_always, "CLOCK_MONOTONIC_RAW"),
				HAS(enters_always, "CLOCK_MONOTONIC_COARSE"))),
		"gVisor's vDSO serves fewer clocks than Linux's; newer releases serve more.",
		.signs = "The verdict is ok in a sandbox of gVisor, and each vDSO call for "
			 "CLOCK_MONOTONIC_RAW or CLOCK_MONOTONIC_COARSE entered the kernel.",
		.evidence = cite_other_clocks,
		.more = "https://github.com/google/gvisor/issues/7975"},
	{"tsc-readers-affected", GROUP_TSC, CERTAINTY_PROVEN,
		IF(EQ(verdict, VERDICT_OK), IS(tsc_suspect)),
		"The kernel marked the TSC unstable: programs that read it themselves are "
		"affected, too.",
		.signs = "The verdict is ok on another clocksource, and the kernel log shows that "
			 "the TSC was dropped, not that this was a mistake.",
		.line = MEMBER(tsc_distrust), .with_switch = true, .more = "vdsocheck(1)"},
	{"time-namespace", GROUP_PROCESS, CERTAINTY_PROVEN,
		IF(ANY(EQ(verdict, VERDICT_OK), EQ(verdict, VERDICT_SLOW)),
			FACT_IS(vclock.time_namespace, true)),
		"This process is in a time namespace: each call takes a few nanoseconds more.",
		.signs = "The vDSO's data page is that of a time namespace.",
		.details = {"the vDSO's data page is that of a time namespace"},
		.more = "time_namespaces(7)"},
	{0},
};
