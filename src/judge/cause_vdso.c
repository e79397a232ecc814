/* SPDX-License-Identifier: MIT */
/*
 * Causes in the vDSO itself, for all processes and whatever the clocksource: it lacks the
 * functions, the kernel took its support for this clocksource away, its calls crash, its values are
 * wrong, or the counter that it reads is emulated by firmware.
 */
#include "rules.h"

#include <string.h>

#include "base/child.h"
#include "base/text.h"

static bool has_no_clock(const struct view *v)
{
	const struct vdso_evidence *vdso = &v->evidence->vdso;

	/* User-Mode Linux is a cause of its own. */
	if (v->vdso_without_clock)
		return !hypervisor_is(v->evidence, "uml");
	if (v->verdict != VERDICT_FALLBACK || !fact_is_known(&vdso->fact) || v->vdso.proven ||
		vdso->led_away)
		return false;
	for (size_t i = 0; i < vdso->export_count; i++) {
		if (strstr(vdso->exports[i].name, "clock_gettime") ||
			strstr(vdso->exports[i].name, "gettimeofday"))
			return false;
	}
	return true;
}

static void cite_exports(const struct view *v, struct cause *cause)
{
	if (v->vdso_without_clock)
		cite(cause, "architecture: %s, kernel: %s", v->evidence->host.arch.value,
			v->evidence->host.kernel.value);
	else
		cite(cause, "vDSO: %zu functions, none of which reads a clock",
			v->evidence->vdso.export_count);
}

/* A clock that the kernel itself lacks fails in the same way. */
static bool fails_by_vdso(const struct call_evidence *call)
{
	const struct path_evidence *vdso = &call->path[PATH_VDSO];

	return vdso->failed && !(vdso->error && vdso->error == call->raw_error);
}

static void cite_values(const struct view *v, struct cause *cause)
{
	for (size_t i = 0; i < v->evidence->call_count; i++) {
		const struct call_evidence *call = &v->evidence->calls[i];

		if (fails_by_vdso(call))
			cite(cause, "%s by the vDSO %s", as_call(call->call, call->clock),
				fault_error_text(call->path[PATH_VDSO].error));
		else if (fact_is_flag(&call->agrees, false))
			cite(cause, "%s by the vDSO: %s", as_call(call->call, call->clock),
				as_ahead(call->ahead_ns));
	}
}

static bool is_wrong_by_vdso(const struct view *v, const struct call_evidence *call)
{
	return fact_is_flag(&call->agrees, false) ||
	       (fails_by_vdso(call) && !call_is_handed_back(v->evidence, call));
}

static const struct advice_row update_for_values = {"update-for-values", RANK_UPDATE,
	.text = "Update the kernel or, in a sandbox such as gVisor, the sandbox. If that changes "
		"nothing, send the report to your provider or platform team.",
	.steps = {{.command = REPORT_COMMAND}},
	.ask = "On this host, a clock call through the vDSO fails, or returns values other than "
	       "those of the same system call. Is that a known defect of this kernel, hypervisor or sandbox?"};

/* vdso_setup() reads this parameter (arch/x86/entry/vdso/vma.c, 3.10 to 7.3). */
static const struct advice_row boot_without_vdso = {"boot-without-vdso", RANK_UPDATE,
	.actor = ACTOR_GUEST,
	.text = "Boot with vdso=0: each clock call is a system call then, slow but right.",
	.boot = "vdso=0"};

static const struct advice_row set_up_arm_timer = {"set-up-arm-timer", RANK_UPDATE,
	.text = "Use a 64-bit system, kernel and programs: a 32-bit arm kernel removes these "
		"functions where the firmware did not set up the architected timer (device tree: "
		"arm,cpu-registers-not-fw-configured). No firmware of the Raspberry Pi 4 does.",
	.source = "raspberrypi/firmware issue 1934, "
		  "https://github.com/raspberrypi/firmware/issues/1934"};

static const struct advice_row kernel_with_vdso_clock = {"kernel-with-vdso-clock", RANK_UPDATE,
	.text = "Use a 64-bit kernel, or one whose vDSO reads the clock: Linux 3.15 on 32-bit x86, "
		"4.1 on 32-bit arm, 4.4 on MIPS, 4.16 on sparc64, 5.10 on 64-bit RISC-V. No vDSO "
		"of 32-bit RISC-V, alpha, m68k or sh does."};

static const struct advice_row kernel_with_vdso_clock_32 = {"kernel-with-vdso-clock-32",
	RANK_UPDATE,
	.text = "Use Linux 3.15 or newer, whose vDSO reads the clock on 32-bit x86. This CPU does "
		"not run 64-bit kernels."};

static const struct advice_row report_driver = {"report-driver", RANK_UPDATE,
	.text = "Report the line of the kernel log to the distribution or the driver's vendor. A "
		"newer kernel may have a corrected driver.",
	.steps = {{.command = REPORT_COMMAND}}};

static const struct advice_row report_crash = {"report-crash", RANK_ASK,
	.text = "Send the report to your provider or platform team.",
	.steps = {{.command = REPORT_COMMAND}},
	.ask = "Reading the clock through the vDSO ends the process with a signal on this host: a "
	       "page that the vDSO reads is missing, or an instruction in it is not allowed."};

static const struct advice_row use_coarse_clocks = {"use-coarse-clocks", RANK_PROGRAM,
	.text = "No setting helps: firmware (SBI) emulates the time register that this CPU lacks. "
		"If the resolution of a tick is enough, a program can read CLOCK_MONOTONIC_COARSE, "
		"which needs no counter."};

/* powerpc's vDSO reads its own counter, whatever the clocksource is. */
#define IGNORES_CLOCKSOURCE IS(on_powerpc), IS(own_counter)

/* A newer kernel alone changes nothing where no vDSO reads the clocksource in use. */
#define NEWER_VDSO_IS_ENOUGH IS(vdso_without_clock), NOT_ALL(IS(on_x86), IS(name_has_no_mode))

const struct cause_row causes_vdso[] = {
	{"vdso-without-time", GROUP_VDSO, CERTAINTY_PROVEN, IF(ASK(has_no_clock)),
		"This vDSO has no functions that read a clock, so the C library makes system "
		"calls.",
		.signs = "The vDSO exports neither clock_gettime nor gettimeofday; in a captured "
			 "tree, the architecture and the kernel's release are known for it.",
		.evidence = cite_exports, .more = "vdso(7)",
		.advice = {{&set_up_arm_timer,
				   IF(HAS(arch_starts, "arm"), NOT(vdso_without_clock))},
			{&kernel_with_vdso_clock, IF(NEWER_VDSO_IS_ENOUGH, NOT(cpu_32_bit))},
			{&kernel_with_vdso_clock_32, IF(NEWER_VDSO_IS_ENOUGH, IS(cpu_32_bit))}}},
	/* 5.7 and newer: "clocksource X registered with invalid VDSO mode N. Disabling VDSO
           support". */
	{"vdso-disabled-by-kernel", GROUP_VDSO, CERTAINTY_PROVEN,
		IF(IS(falls_back), IS(vdso_disabled), ANY(IS(mode_none), IS(captured))),
		"The kernel disabled the vDSO's support for a clocksource: its driver registered "
		"it wrongly, or programs cannot read it.",
		.texts = {{"Programs cannot read this CPU's counter, so the kernel disabled the "
			   "vDSO's support for it.",
				  IF(HAS(clocksource_is, "MIPS"))},
			{"The kernel disabled the vDSO's support for a clocksource that was "
			 "registered wrongly: a defect in its driver.",
				ALWAYS}},
		.signs = "The calls fall back, the vclock mode is none, and the kernel log has "
			 "\"Disabling VDSO support\" with the name of the clocksource, or \"Not "
			 "using R4K clocksource in VDSO\".",
		.line = MEMBER(vdso_disabled), .evidence = cite_mode,
		.advice = {{&report_driver, IF(HAS_NOT(clocksource_is, "MIPS"))}}},
	{"calls-crash", GROUP_VDSO, CERTAINTY_PROVEN, IF(IS(crashes), NOT(counter_off)),
		"The vDSO's functions end the process with a signal.",
		.signs = "A deciding call by the vDSO ends the child process that makes it with a "
			 "signal.",
		.evidence = cite_mode, .details = {"the deciding calls end with {signal}"},
		.advice = {{&report_crash, ALWAYS}}},
	/* arch/powerpc/include/asm/vdso/: vdso_clocksource_ok(), 5.x to 7.2 */
	{"vdso-ignores-clocksource", GROUP_VDSO, CERTAINTY_LIKELY,
		IF(EQ(verdict, VERDICT_WRONG), IGNORES_CLOCKSOURCE),
		"On this architecture the vDSO reads the timebase whatever the clocksource is, and "
		"takes the rate that timebase had when it was last in use.",
		.signs = "Values of a deciding call by the vDSO differ on POWER, where timebase "
			 "is available, and another clocksource is in use.",
		.evidence = cite_values, .advice = {{&advice_switch_to_own_counter, ALWAYS}}},
	/* The issue is about a 32-bit arm kernel: a function of its vDSO had no data. */
	{"wrong-values", GROUP_VDSO, CERTAINTY_LIKELY,
		IF(EQ(verdict, VERDICT_WRONG), NOT(vdso_replaced), NOT_ALL(IGNORES_CLOCKSOURCE)),
		"The vDSO does not compute what the kernel does: a bug in the kernel, the "
		"hypervisor or the sandbox, or an incomplete restore from a snapshot.",
		.signs = "A deciding call by the vDSO fails where the system call does not, or "
			 "its values do not lie between the kernel's before and after it.",
		.evidence = cite_values, .more = "https://github.com/raspberrypi/linux/issues/3579",
		.advice = {{&update_for_values, ALWAYS},
			{&boot_without_vdso, IF(FACT_IS(host.pointer_bits, 64),
						     HAS(arch_starts, "x86_64"), NOT(gvisor))}}},
	{"wrong-values-elsewhere", GROUP_VDSO, CERTAINTY_PROVEN,
		IF(NE(verdict, VERDICT_WRONG), CALL(is_wrong_by_vdso)),
		"A call that does not decide the verdict fails by the vDSO, or its values are not "
		"the kernel's.",
		.signs = "Another call by the vDSO fails where the system call does not, or its "
			 "values do not lie between the kernel's before and after it.",
		.evidence = cite_values, .more = "vdso(7)"},
	{"counter-emulated-by-firmware", GROUP_OTHER, CERTAINTY_LIKELY, IF(IS(firmware_counter)),
		"This CPU's time register is emulated by firmware: each read of it costs as much "
		"as a system call.",
		.signs = "The verdict is slow on a RISC-V machine that is not a guest.",
		.evidence = cite_counter, .advice = {{&use_coarse_clocks, ALWAYS}}},
	{0},
};
