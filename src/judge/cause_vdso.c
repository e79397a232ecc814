/* SPDX-License-Identifier: MIT */
/*
 * Causes in the vDSO itself, for all processes and whatever the clocksource: it lacks the
 * functions, the kernel took its support for this clocksource away, its calls crash, or the counter
 * that it reads is emulated by firmware.
 */
#include "rules.h"

#include <string.h>

#include "base/child.h"

static bool vdso_without_time(const struct view *v)
{
	const struct vdso_evidence *vdso = &v->evidence->vdso;

	if (v->verdict != VERDICT_FALLBACK || !fact_is_known(&vdso->fact) || v->vdso.proven)
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
	cite(cause, "vDSO: %zu functions, none of which reads a clock",
		v->evidence->vdso.export_count);
}

/* "clocksource X registered with invalid VDSO mode N. Disabling VDSO support" (5.7 and newer). */
#define DISABLING "Disabling VDSO"

static bool vdso_disabled_by_kernel(const struct view *v)
{
	const struct kernel_log_line *line = log_find(v->evidence, DISABLING);
	const char *current = v->evidence->clocksource.current;

	return v->falls_back && v->mode_none && line && *current && strstr(line->text, current);
}

static bool calls_crash(const struct view *v)
{
	return !v->counter_off && v->decided.signal;
}

static void cite_crash(const struct view *v, struct cause *cause)
{
	cite(cause, "the deciding calls end with %s", fault_signal_name(v->decided.signal));
	cite_mode(v, cause);
}

static bool counter_emulated_by_firmware(const struct view *v)
{
	return v->firmware_counter;
}

static bool is_arm(const struct view *v)
{
	return strncmp(v->evidence->host.arch.value, "arm", strlen("arm")) == 0;
}

static const struct advice_row set_up_arm_timer = {.id = "set-up-arm-timer",
	.rank = RANK_UPDATE,
	.applies = is_arm,
	.text = "Use a 64-bit system, kernel and programs: a 32-bit arm kernel removes these "
		"functions where the firmware did not set up the architected timer (device tree: "
		"arm,cpu-registers-not-fw-configured). No firmware of the Raspberry Pi 4 does.",
	.source = "raspberrypi/firmware issue 1934, "
		  "https://github.com/raspberrypi/firmware/issues/1934"};

static const struct advice_row report_driver = {.id = "report-driver",
	.rank = RANK_UPDATE,
	.text = "Report the line of the kernel log to the distribution or the driver's vendor. A "
		"newer kernel may have a corrected driver.",
	.steps = {{.command = REPORT_COMMAND}}};

static const struct advice_row report_crash = {.id = "report-crash",
	.rank = RANK_ASK,
	.text = "Send the report to your provider or platform team.",
	.steps = {{.command = REPORT_COMMAND}},
	.ask = "Reading the clock through the vDSO ends the process with a signal on this host: a "
	       "page that the vDSO reads is missing, or an instruction in it is not allowed."};

static const struct advice_row use_coarse_clocks = {.id = "use-coarse-clocks",
	.rank = RANK_PROGRAM,
	.text = "No setting helps: firmware (SBI) emulates the time register that this CPU "
		"lacks. If the resolution of a tick is enough, a program can read "
		"CLOCK_MONOTONIC_COARSE, which needs no counter."};

const struct cause_row cause_vdso_rows[] = {
	{.id = "vdso-without-time",
		.text = "This vDSO has no functions that read a clock, so the C library makes "
			"system calls.",
		.more = "vdso(7)",
		.applies = vdso_without_time,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_exports,
		.advice = {&set_up_arm_timer}},
	{.id = "vdso-disabled-by-kernel",
		.text = "The kernel disabled the vDSO's support for a clocksource that was "
			"registered wrongly: a defect of its driver.",
		.applies = vdso_disabled_by_kernel,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_mode,
		.log = DISABLING,
		.advice = {&report_driver}},
	{.id = "calls-crash",
		.text = "The vDSO's functions end the process with a signal.",
		.applies = calls_crash,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_crash,
		.advice = {&report_crash}},
	{.id = "counter-emulated-by-firmware",
		.text = "This CPU's time register is emulated by firmware: each read of it costs "
			"as much as a system call.",
		.applies = counter_emulated_by_firmware,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_counter,
		.advice = {&use_coarse_clocks}},
	{0},
};
