/* SPDX-License-Identifier: MIT */
/*
 * Causes in the vDSO itself, for all processes and whatever the clocksource: it lacks the
 * functions, the kernel took its support for this clocksource away, its calls crash, or the counter
 * that it reads is emulated by firmware.
 */
#include "rules.h"

#include <string.h>

#include "base/fault.h"

static bool exports_time(const struct vdso_evidence *vdso)
{
	for (size_t i = 0; i < vdso->export_count; i++) {
		if (strstr(vdso->exports[i].name, "clock_gettime") ||
			strstr(vdso->exports[i].name, "gettimeofday"))
			return true;
	}
	return false;
}

static bool is_without_time(const struct view *view)
{
	const struct vdso_evidence *vdso = &view->evidence->vdso;

	return fact_is_known(&vdso->fact) && view->vdso.proven == 0 && !exports_time(vdso);
}

static void support_exports(const struct view *view, struct cause *cause)
{
	const struct vdso_evidence *vdso = &view->evidence->vdso;

	support_add(cause, "vDSO: %zu functions, none of which reads a clock", vdso->export_count);
}

static void support_compat(const struct view *view, struct cause *cause)
{
	support_add(cause, "architecture: %s", view->evidence->host.arch.value);
	support_no_vdso(view, cause);
}

/* "clocksource X registered with invalid VDSO mode N. Disabling VDSO support" (5.7 and newer). */
static const struct kernel_log_line *disabling_line(const struct view *view)
{
	const struct kernel_log_line *line = log_find(view->evidence, "Disabling VDSO");

	return line ? line : log_find(view->evidence, "invalid VDSO mode");
}

static bool is_disabled(const struct view *view)
{
	const struct kernel_log_line *line = disabling_line(view);

	return line && *view->evidence->clocksource.current &&
	       strstr(line->text, view->evidence->clocksource.current);
}

static void support_disabling(const struct view *view, struct cause *cause)
{
	support_mode(view, cause);
	support_add_log(cause, disabling_line(view));
}

static bool does_crash(const struct view *view)
{
	return view->decided.signal;
}

static void support_crash(const struct view *view, struct cause *cause)
{
	support_add(
		cause, "the deciding calls end with %s", fault_signal_name(view->decided.signal));
	support_mode(view, cause);
}

static bool is_arm(const struct view *view)
{
	return strncmp(view->evidence->host.arch.value, "arm", strlen("arm")) == 0;
}

static const struct advice_row set_up_arm_timer = {.id = "set-up-arm-timer",
	.effort = EFFORT_UPDATE,
	.when = {.applies = is_arm},
	.text = "Use a 64-bit system, kernel and programs: a 32-bit arm kernel removes these "
		"functions where the firmware did not set up the architected timer (device tree: "
		"arm,cpu-registers-not-fw-configured). No firmware of the Raspberry Pi 4 does.",
	.source = "raspberrypi/firmware issue 1934, "
		  "https://github.com/raspberrypi/firmware/issues/1934"};

static const struct advice_row report_driver = {.id = "report-driver",
	.effort = EFFORT_UPDATE,
	.text = "Report the line of the kernel log to the distribution or the driver's vendor. A "
		"newer kernel may have a corrected driver.",
	.steps = {{.command = REPORT_COMMAND}}};

static const struct advice_row use_64_bit_or_compat = {.id = "use-64-bit-or-compat-vdso",
	.effort = EFFORT_UPDATE,
	.anywhere = true,
	.text = "Use a 64-bit system, or the 64-bit build of this program. Or use a kernel that was "
		"built with CONFIG_COMPAT_VDSO, which needs a 32-bit compiler at build time.",
	.source = "raspberrypi/linux issue 6601, "
		  "https://github.com/raspberrypi/linux/issues/6601"};

static const struct advice_row report_crash = {.id = "report-crash",
	.effort = EFFORT_ASK,
	.text = "Send the report to your provider or platform team.",
	.steps = {{.command = REPORT_COMMAND}},
	.ask = "Reading the clock through the vDSO ends the process with a signal on this host: a "
	       "page that the vDSO reads is missing, or an instruction in it is not allowed."};

static const struct advice_row use_coarse_clocks = {.id = "use-coarse-clocks",
	.effort = EFFORT_PROGRAM,
	.text = "No setting helps: firmware (SBI) emulates the time register that this CPU "
		"lacks. If the resolution of a tick is enough, a program can read "
		"CLOCK_MONOTONIC_COARSE, which needs no counter."};

const struct cause_row cause_vdso_rows[] = {
	{.id = "vdso-without-time",
		.text = "This vDSO has no functions that read a clock, so the C library makes "
			"system calls.",
		.more = "vdso(7)",
		.when = {.verdicts = BIT(VERDICT_FALLBACK), .applies = is_without_time},
		.certainty = CERTAINTY_PROVEN,
		.support = support_exports,
		.advice = {&set_up_arm_timer}},
	{.id = "no-compat-vdso",
		.text = "This 64-bit kernel gives 32-bit programs no vDSO: it was built without "
			"CONFIG_COMPAT_VDSO.",
		.when = {.verdicts = BIT(VERDICT_FALLBACK),
			.needs = ARM_COMPAT,
			.unless = NO_VDSO_AT_BOOT},
		.certainty = CERTAINTY_LIKELY,
		.support = support_compat,
		.advice = {&use_64_bit_or_compat}},
	{.id = "vdso-disabled-by-kernel",
		.text = "The kernel disabled the vDSO's support for a clocksource that was "
			"registered wrongly: a defect of its driver.",
		.when = {.needs = FALLS_BACK | MODE_NONE, .applies = is_disabled},
		.certainty = CERTAINTY_PROVEN,
		.support = support_disabling,
		.advice = {&report_driver}},
	{.id = "calls-crash",
		.text = "The vDSO's functions end the process with a signal.",
		.when = {.unless = COUNTER_OFF, .applies = does_crash},
		.certainty = CERTAINTY_PROVEN,
		.support = support_crash,
		.advice = {&report_crash}},
	{.id = "counter-emulated-by-firmware",
		.text = "This CPU's time register is emulated by firmware: each read of it costs "
			"as much as a system call.",
		.when = {.needs = FIRMWARE_COUNTER},
		.certainty = CERTAINTY_LIKELY,
		.support = support_counter,
		.advice = {&use_coarse_clocks}},
	{0},
};
