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

static void cite_wrapper(const struct view *v, struct cause *cause)
{
	const struct text_fact *wrapper = &v->evidence->vdso.wrapper;

	if (fact_is_known(&wrapper->fact))
		cite(cause, "clock_gettime() is that of %s", wrapper->value);
}

static void cite_libc_values(const struct view *v, struct cause *cause)
{
	cite_wrapper(v, cause);
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

/* True if libc alone is wrong: with a wrong vDSO its values say nothing. */
static bool is_libc_wrong(const struct view *v)
{
	for (size_t i = 0; i < v->evidence->call_count; i++) {
		const struct call_evidence *call = &v->evidence->calls[i];

		if (call->decides && v->verdict != VERDICT_WRONG &&
			(fact_is_flag(&call->libc_agrees, false) ||
				(call->path[PATH_LIBC].failed && call->path[PATH_VDSO].available &&
					!call->path[PATH_VDSO].failed)))
			return true;
	}
	return false;
}

static void cite_libc(const struct view *v, struct cause *cause)
{
	const struct text_fact *libc = &v->evidence->host.libc;

	cite(cause,
		"%" PRIu64 " of %" PRIu64
		" calls through %s entered the kernel, none of the vDSO's own",
		v->libc.entered, v->libc.attempts,
		fact_is_known(&libc->fact) ? libc->value : "libc");
	cite_wrapper(v, cause);
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

static const struct cause_row counter_disabled = {"counter-disabled", GROUP_PROCESS,
	"The counter is disabled for this process and its children (prctl(PR_SET_TSC)): a call "
	"that reads it ends with SIGSEGV.",
	.signs = "prctl(PR_GET_TSC) returns PR_TSC_SIGSEGV.", .certainty = CERTAINTY_PROVEN,
	.evidence = cite_counter_off, .more = "PR_SET_TSC(2const)"};

static const struct cause_row emulated = {"emulated", GROUP_PROCESS,
	"vdsocheck runs under an emulator; run it natively to check the host.",
	.signs = "Valgrind's library is preloaded, or /proc/thread-self/exe is another program, "
		 "such as qemu-user.",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_emulator};

/* rr and CRIU after a restore each map an image of their own. */
static const struct cause_row vdso_replaced = {"vdso-replaced", GROUP_PROCESS,
	"A tool (rr, CRIU, other instrumentation) gave this process a vDSO of its own, so this "
	"result holds for this process, not for the host.",
	.signs = "AT_SYSINFO_EHDR is not in the mapping [vdso] of /proc/self/maps.",
	.certainty = CERTAINTY_PROVEN,
	.detail = "AT_SYSINFO_EHDR is not in the mapping [vdso] of /proc/self/maps",
	.more = "getauxval(3)"};

static const struct cause_row vdso_switched_off = {"vdso-switched-off", GROUP_VDSO,
	"The vDSO is disabled on the kernel command line.",
	.signs = "The kernel gives this process no vDSO, and its command line has vdso=0, vdso32=0 "
		 "or vdso32=2.",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_boot, .more = "vdso(7)"};

static const struct cause_row no_vdso = {"no-vdso", GROUP_VDSO,
	"The kernel, or an emulator in its place (valgrind, qemu-user), gives programs no vDSO, so "
	"every clock call is a system call.",
	.signs = "The auxiliary vector has no AT_SYSINFO_EHDR, and the kernel command line does "
		 "not say why.",
	.certainty = CERTAINTY_PROVEN, .more = "vdso(7)"};

static const struct cause_row vdso32_disabled = {"vdso32-disabled", GROUP_VDSO,
	"This kernel gives 32-bit programs no vDSO: sysctl abi.vsyscall32 is 0, as in kernels that "
	"were built with CONFIG_COMPAT_VDSO.",
	.signs = "A 32-bit vdsocheck gets no vDSO from an x86-64 kernel, and the kernel command "
		 "line does not say why.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_32_bits, .more = BOOT_PARAMETERS};

static const struct cause_row no_compat_vdso = {"no-compat-vdso", GROUP_VDSO,
	"This 64-bit kernel gives 32-bit programs no vDSO: it was built without CONFIG_COMPAT_VDSO.",
	.signs = "A 32-bit vdsocheck gets no vDSO from an arm64 kernel.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_32_bits};

static const struct cause_row uml = {"uml", GROUP_PROCESS,
	"The vDSO of User-Mode Linux makes a system call for each clock call.",
	.signs = "/proc/cpuinfo has the vendor_id User Mode Linux.", .certainty = CERTAINTY_PROVEN,
	.detail = "/proc/cpuinfo: vendor_id User Mode Linux"};

static const struct cause_row wsl1 = {"wsl1", GROUP_PROCESS,
	"WSL 1 has neither a Linux kernel nor a vDSO clock; WSL 2 has both.",
	.signs = "The calls fall back, and the kernel's release ends with -Microsoft.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_release};

/* This mode excludes 32-bit programs only; the vDSO serves 64-bit programs. */
static const struct cause_row arm_compat_disabled = {"arm-compat-disabled", GROUP_OTHER,
	"The kernel does not let 32-bit programs read this CPU's counter, only 64-bit ones.",
	.signs = "The calls fall back, and the vclock mode is archtimer-nocompat.",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_mode};

static const struct cause_row gvisor_calibrating = {"gvisor-calibrating", GROUP_PROCESS,
	"In the first seconds of a sandbox, until gVisor has calibrated the CPU's counter, its "
	"vDSO passes the calls on to the sentry.",
	.signs = "The calls fall back in a sandbox of gVisor.", .certainty = CERTAINTY_LIKELY,
	.evidence = cite_mode};

static const struct cause_row libc_bypasses_vdso = {"libc-bypasses-vdso", GROUP_PROCESS,
	"This C library does not use the vDSO, although the vDSO works.",
	.signs = "In the proof, calls through the C library entered the kernel, and none through "
		 "the vDSO did.",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_libc, .more = "vdso(7)"};

static const struct cause_row libc_values = {"libc-values", GROUP_PROCESS,
	"This process gets another time than the kernel's from its clock functions, which {wrapper} "
	"replaces. The host is not affected.",
	.signs = "A deciding call through the C library fails or its values do not lie between the "
		 "kernel's before and after it, while those of the vDSO do.",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_libc_values, .more = "ld.so(8)"};

void cause_process(const struct view *v, struct cause_list *list)
{
	const struct evidence *evidence = v->evidence;
	const struct host_evidence *host = &evidence->host;
	const char *why = evidence->vdso.fact.reason;
	bool fallback = v->verdict == VERDICT_FALLBACK;
	bool is_off = (fallback || v->expected == VERDICT_FALLBACK) && v->no_vdso &&
	              v->boot_disables_vdso;
	bool is_missing = fallback && v->no_vdso && !v->boot_disables_vdso;
	/* A 64-bit program may have a vDSO there. */
	bool is_32_bit = is_missing && fact_is_known(&host->pointer_bits.fact) &&
	                 host->pointer_bits.value == 32;
	bool is_x86_64 = is_32_bit && fact_is_text(&host->arch, "x86_64");
	bool is_aarch64 = is_32_bit && fact_is_text(&host->arch, "aarch64");
	const struct cause_case cases[] = {
		{&counter_disabled, .applies = v->counter_off,
			.advice = {{&leave_counter_on, true}}},
		{&emulated, .applies = v->emulated, .advice = {{&run_without_emulator, true}}},
		{&vdso_replaced, .applies = v->vdso_replaced,
			.advice = {{&run_outside_tool, v->verdict != VERDICT_OK}}},
		{&vdso_switched_off, .applies = is_off, .advice = {{&advice_drop_boot, true}}},
		{&no_vdso, .applies = is_missing && !is_x86_64 && !is_aarch64, .detail = why,
			.advice = {{&run_without_emulator, true}, {&advice_send_report, true}}},
		{&vdso32_disabled, .applies = is_x86_64, .detail = why,
			.advice = {{&enable_vdso32, true}}},
		{&no_compat_vdso, .applies = is_aarch64, .detail = why,
			.advice = {{&use_64_bit_or_compat, true}}},
		{&uml,
			.applies = (fallback || v->expected == VERDICT_FALLBACK) &&
	                           hypervisor_is(evidence, "uml"),
			.advice = {{&leave_uml, true}}},
		{&wsl1, .applies = fallback && platform_is(evidence, "wsl1"),
			.advice = {{&use_wsl2, true}}},
		{&arm_compat_disabled,
			.applies = v->falls_back &&
	                           strcmp(evidence->vclock.name, "archtimer-nocompat") == 0,
			.line = log_find(evidence, "ARM erratum 1418040"),
			.advice = {{&use_64_bit_arm, true}}},
		{&gvisor_calibrating, .applies = v->falls_back && v->gvisor,
			.advice = {{&wait_for_gvisor, true}}},
		{&libc_bypasses_vdso,
			.applies = v->libc.entered > 0 && v->vdso.proven > 0 &&
	                           v->vdso.entered == 0 && !v->vdso.failing,
			.text = fact_is_flag(&host->libc_static, true)
	                                ? "Only vdsocheck itself is affected: the C library that is linked "
	                                  "into it does not use the vDSO."
	                                : NULL,
			.advice = {{&newer_libc, fallback}}},
		{&libc_values, .applies = is_libc_wrong(v)},
	};

	cause_add(list, v, cases, ARRAY_SIZE(cases));
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
			cite(cause, "%s by system call: %s", as_call(call->call, call->clock),
				strerror(call->raw_error));
	}
}

static bool enters_always(const struct view *v, const char *clock)
{
	const struct call_evidence *call = clock_gettime_of(v->evidence, clock);
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

static const struct cause_row time_calls_blocked = {"time-calls-blocked", GROUP_PROCESS,
	"A seccomp filter, such as a container's profile, blocks the clock system calls.",
	.signs = "A deciding call fails when it is made as a system call.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_blocked, .more = "seccomp(2)"};

static const struct cause_row old_vdso_clocks = {"old-vdso-clocks", GROUP_VDSO,
	"This kernel's vDSO does not serve all of CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME and "
	"CLOCK_TAI; that of newer kernels does.",
	.signs =
		"The verdict is ok, and each vDSO call for one of these clocks entered the kernel.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_other_clocks, .more = "vdso(7)"};

static const struct cause_row gvisor_few_clocks = {"gvisor-few-clocks", GROUP_PROCESS,
	"gVisor's vDSO serves fewer clocks than Linux's; newer releases serve more.",
	.signs = "The verdict is ok in a sandbox of gVisor, and each vDSO call for "
		 "CLOCK_MONOTONIC_RAW or CLOCK_MONOTONIC_COARSE entered the kernel.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_other_clocks,
	.more = "https://github.com/google/gvisor/issues/7975"};

static const struct cause_row tsc_readers_affected = {"tsc-readers-affected", GROUP_TSC,
	"The kernel marked the TSC unstable: programs that read it themselves are affected, too.",
	.signs = "The verdict is ok on another clocksource, and the kernel log shows that the TSC "
		 "was dropped, not that this was a mistake.",
	.certainty = CERTAINTY_PROVEN, .with_switch = true, .more = "vdsocheck(1)"};

static const struct cause_row time_namespace = {"time-namespace", GROUP_PROCESS,
	"This process is in a time namespace: each call takes a few nanoseconds more.",
	.signs = "The vDSO's data page is that of a time namespace.", .certainty = CERTAINTY_PROVEN,
	.detail = "the vDSO's data page is that of a time namespace", .more = "time_namespaces(7)"};

void cause_notes(const struct view *v, struct cause_list *list)
{
	bool is_ok = v->verdict == VERDICT_OK;
	bool raw = enters_always(v, "CLOCK_MONOTONIC_RAW");
	enum counter_standing standing = counter_standing_find(v);
	const struct cause_case cases[] = {
		{&time_calls_blocked, .applies = are_calls_blocked(v),
			.proven = fact_is_known(&v->evidence->host.seccomp.fact) &&
	                          v->evidence->host.seccomp.value > 0,
			.advice = {{&newer_container_runtime, true}}},
		{&old_vdso_clocks, .applies = is_ok && !v->gvisor &&
	                                      (raw || enters_always(v, "CLOCK_BOOTTIME") ||
						      enters_always(v, "CLOCK_TAI"))},
		{&gvisor_few_clocks,
			.applies = is_ok && v->gvisor &&
	                           (raw || enters_always(v, "CLOCK_MONOTONIC_COARSE"))},
		{&tsc_readers_affected,
			.applies = is_ok &&
	                           (standing == COUNTER_FAULTY || standing == COUNTER_DISTRUSTED),
			.line = v->tsc_distrust ? v->tsc_distrust : v->tsc_delay},
		{&time_namespace, .applies = (is_ok || v->verdict == VERDICT_SLOW) &&
	                                     v->evidence->vclock.time_namespace},
	};

	cause_add(list, v, cases, ARRAY_SIZE(cases));
}
