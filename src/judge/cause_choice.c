/* SPDX-License-Identifier: MIT */
#include "judge/cause_choice.h"

#include <stdio.h>

#include "judge/signs.h"

static void support_distrust(const struct evidence *evidence, struct cause *cause)
{
	const struct kernel_log_line *line = sign_tsc_distrust(evidence);

	cause_add_log_line(cause, line);
	cause_add_log_line(cause, sign_log_find_after(evidence, line, "Switched to clocksource"));
}

/*
 * 5.13: "read-back delay of N ns, attempt K, marking unstable"; 6.x: "marking tsc unstable".
 * Other lines of a read-back delay say that a check was skipped, which is well.
 */
static const struct kernel_log_line *delay_line(const struct evidence *evidence)
{
	return sign_log_find_with(evidence, "read-back delay", ", marking ");
}

static void support_delay(const struct evidence *evidence, struct cause *cause)
{
	cause_add_log_line(cause, delay_line(evidence));
}

/*
 * The lines that end in doing without the TSC: a fast or PIT calibration that fails is
 * normal, and is followed by another way.
 */
static const char *const calibration_texts[] = {
	"could not calculate TSC",
	"No reference (HPET/PMTIMER) available",
};

static const struct kernel_log_line *calibration_line(const struct evidence *evidence)
{
	for (size_t i = 0; i < sizeof(calibration_texts) / sizeof(calibration_texts[0]); i++) {
		const struct kernel_log_line *line = sign_log_find(evidence, calibration_texts[i]);

		if (line)
			return line;
	}
	return NULL;
}

static void support_calibration(const struct evidence *evidence, struct cause *cause)
{
	cause_add_log_line(cause, calibration_line(evidence));
}

static void support_invariance(const struct evidence *evidence, struct cause *cause)
{
	cause_add_evidence(cause, "CPU: %s, TSC %s",
		fact_is_known(&evidence->host.cpu.fact) ? evidence->host.cpu.value : "not known",
		evidence->host.invariant_tsc.value ? "invariant" : "not invariant");
}

static void support_log_denied(const struct evidence *evidence, struct cause *cause)
{
	cause_add_evidence(cause, "%s", evidence->kernel_log.fact.reason);
}

/* Only where the current source is one that nobody would choose for its speed. */
static bool is_second_choice(const struct evidence *evidence, enum verdict verdict)
{
	return sign_is_x86(evidence) && cause_is_plain_clocksource(evidence, verdict);
}

static bool is_booted_with_it(const struct evidence *evidence, enum verdict verdict)
{
	char parameter[CLOCKSOURCE_NAME_SIZE + 16];

	snprintf(parameter, sizeof(parameter), "clocksource=%s", evidence->clocksource.current);
	return (sign_vdso_falls_back(evidence, verdict) ||
		       cause_is_plain_clocksource(evidence, verdict)) &&
	       *evidence->clocksource.current && sign_boot_has(evidence, parameter);
}

static bool is_tsc_switched_off(const struct evidence *evidence, enum verdict verdict)
{
	return is_second_choice(evidence, verdict) &&
	       (sign_boot_has(evidence, "notsc") || sign_boot_has(evidence, "tsc=unstable"));
}

static bool is_tsc_delay(const struct evidence *evidence, enum verdict verdict)
{
	return is_second_choice(evidence, verdict) && delay_line(evidence);
}

static bool is_tsc_early(const struct evidence *evidence, enum verdict verdict)
{
	return is_second_choice(evidence, verdict) && !is_tsc_delay(evidence, verdict) &&
	       sign_log_find(evidence, "Marking clocksource 'tsc-early");
}

static bool is_tsc_unsynchronised(const struct evidence *evidence, enum verdict verdict)
{
	return is_second_choice(evidence, verdict) &&
	       (sign_log_find(evidence, "TSC warp") ||
		       sign_log_find(evidence, "check_tsc_sync_source failed") ||
		       sign_log_find(evidence, "TSCs unsynchronized") ||
		       sign_log_find(evidence, "inter CPU skew"));
}

static bool is_tsc_on_hyperv(const struct evidence *evidence, enum verdict verdict)
{
	return is_second_choice(evidence, verdict) && sign_log_find(evidence, "running on Hyper-V");
}

static bool is_tsc_uncalibrated(const struct evidence *evidence, enum verdict verdict)
{
	return is_second_choice(evidence, verdict) && calibration_line(evidence) &&
	       !sign_is_offered(evidence, "tsc");
}

/* The watchdog's or anybody's distrust that no rule above has a better word for. */
static bool is_tsc_distrusted(const struct evidence *evidence, enum verdict verdict)
{
	return is_second_choice(evidence, verdict) && sign_tsc_distrust(evidence) &&
	       !is_tsc_switched_off(evidence, verdict) && !is_tsc_delay(evidence, verdict) &&
	       !is_tsc_early(evidence, verdict) && !is_tsc_unsynchronised(evidence, verdict) &&
	       !is_tsc_uncalibrated(evidence, verdict) && !is_tsc_on_hyperv(evidence, verdict);
}

/* The CPU's own word, where the kernel does not offer the TSC, or runs on Xen's clock. */
static bool is_tsc_not_invariant(const struct evidence *evidence, enum verdict verdict)
{
	bool xen = sign_vdso_falls_back(evidence, verdict) && sign_current_is(evidence, "xen");

	return (xen || (is_second_choice(evidence, verdict) &&
			       !sign_is_offered(evidence, "tsc"))) &&
	       fact_is_known(&evidence->host.invariant_tsc.fact) &&
	       !evidence->host.invariant_tsc.value;
}

static bool is_tsc_not_offered(const struct evidence *evidence, enum verdict verdict)
{
	return is_second_choice(evidence, verdict) &&
	       fact_is_known(&evidence->clocksource.available_fact) &&
	       !sign_is_offered(evidence, "tsc") &&
	       fact_is_known(&evidence->host.invariant_tsc.fact) &&
	       evidence->host.invariant_tsc.value && !sign_tsc_distrust(evidence) &&
	       !calibration_line(evidence) && !is_tsc_switched_off(evidence, verdict);
}

static bool is_log_denied(const struct evidence *evidence, enum verdict verdict)
{
	return is_second_choice(evidence, verdict) &&
	       evidence->kernel_log.fact.state == FACT_DENIED &&
	       !is_booted_with_it(evidence, verdict) && !is_tsc_switched_off(evidence, verdict);
}

#define PARAMETERS "https://docs.kernel.org/admin-guide/kernel-parameters.html"
#define HYPERV_CLOCKS "https://docs.kernel.org/virt/hyperv/clocks.html"

const struct cause_rule cause_choice_rules[] = {
	{"boot-clocksource", CERTAINTY_PROVEN, is_booted_with_it, cause_support_by_boot, PARAMETERS,
		"The kernel was booted with this clocksource named on its command line."},
	{"boot-without-tsc", CERTAINTY_PROVEN, is_tsc_switched_off, cause_support_by_boot,
		PARAMETERS, "The kernel was booted with an order not to trust the TSC."},
	{"tsc-read-delay", CERTAINTY_PROVEN, is_tsc_delay, support_delay, NULL,
		"The kernel's watchdog could not read its reference clock in time and gave up on "
		"the TSC: often a false alarm in a guest or under heavy load."},
	{"tsc-early-unstable", CERTAINTY_PROVEN, is_tsc_early, support_distrust, NULL,
		"The TSC disagreed with the kernel's reference clock while booting."},
	{"tsc-unsynchronised", CERTAINTY_PROVEN, is_tsc_unsynchronised, support_distrust, NULL,
		"The kernel saw that the TSCs of this machine's CPUs disagree."},
	{"tsc-on-hyperv", CERTAINTY_PROVEN, is_tsc_on_hyperv, support_distrust, HYPERV_CLOCKS,
		"This Hyper-V host does not offer an invariant TSC."},
	{"tsc-distrusted", CERTAINTY_PROVEN, is_tsc_distrusted, support_distrust, NULL,
		"The kernel found the TSC unstable and dropped it."},
	{"tsc-uncalibrated", CERTAINTY_PROVEN, is_tsc_uncalibrated, support_calibration, NULL,
		"The kernel could not find out how fast the TSC runs, and does without it."},
	{"tsc-not-invariant", CERTAINTY_LIKELY, is_tsc_not_invariant, support_invariance, NULL,
		"The CPU, as this machine sees it, does not promise a TSC of one steady rate."},
	{"tsc-not-offered", CERTAINTY_POSSIBLE, is_tsc_not_offered, support_invariance, NULL,
		"The CPU promises a steady TSC, but the kernel does not offer it: it is too old for "
		"this CPU, or it dropped the TSC and no log that could be read here tells."},
	{"kernel-log-denied", CERTAINTY_PROVEN, is_log_denied, support_log_denied, NULL,
		"The kernel log, which would say why this clocksource was chosen, is closed to this "
		"user."},
};

const size_t cause_choice_rule_count = sizeof(cause_choice_rules) / sizeof(cause_choice_rules[0]);
