/* SPDX-License-Identifier: MIT */
/*
 * Causes in the vDSO itself, for all processes and whatever the clocksource: it lacks the
 * functions, the kernel took its support for this clocksource away, its calls crash, or the counter
 * that it reads is emulated by firmware.
 */
#include "rules.h"

#include <string.h>

#include "base/child.h"
#include "base/memory.h"

static bool has_no_clock(const struct view *v)
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

static void cite_crash(const struct view *v, struct cause *cause)
{
	cite(cause, "the deciding calls end with %s", fault_signal_name(v->decided.signal));
	cite_mode(v, cause);
}

static const struct advice_row set_up_arm_timer = {"set-up-arm-timer", RANK_UPDATE,
	.text = "Use a 64-bit system, kernel and programs: a 32-bit arm kernel removes these "
		"functions where the firmware did not set up the architected timer (device tree: "
		"arm,cpu-registers-not-fw-configured). No firmware of the Raspberry Pi 4 does.",
	.source = "raspberrypi/firmware issue 1934, "
		  "https://github.com/raspberrypi/firmware/issues/1934"};

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

void cause_vdso(const struct view *v, struct cause_list *list)
{
	const struct evidence *evidence = v->evidence;
	const struct kernel_log_line *disabling = log_find(evidence, DISABLING);
	const char *current = evidence->clocksource.current;
	const struct cause_row rows[] = {
		{"vdso-without-time", has_no_clock(v), CERTAINTY_PROVEN, cite_exports,
			"This vDSO has no functions that read a clock, so the C library makes "
			"system calls.",
			.more = "vdso(7)",
			.advice = {{&set_up_arm_timer,
				strncmp(evidence->host.arch.value, "arm", strlen("arm")) == 0}}},
		{"vdso-disabled-by-kernel",
			v->falls_back && v->mode_none && disabling && *current &&
				strstr(disabling->text, current),
			CERTAINTY_PROVEN, cite_mode,
			"The kernel disabled the vDSO's support for a clocksource that was "
			"registered wrongly: a defect of its driver.",
			.log = DISABLING, .advice = {{&report_driver, true}}},
		{"calls-crash", !v->counter_off && v->decided.signal, CERTAINTY_PROVEN, cite_crash,
			"The vDSO's functions end the process with a signal.",
			.advice = {{&report_crash, true}}},
		{"counter-emulated-by-firmware", v->firmware_counter, CERTAINTY_LIKELY,
			cite_counter,
			"This CPU's time register is emulated by firmware: each read of it costs "
			"as much as a system call.",
			.advice = {{&use_coarse_clocks, true}}},
	};

	cause_add(list, v, rows, ARRAY_SIZE(rows));
}
