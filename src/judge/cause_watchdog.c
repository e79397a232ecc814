/* SPDX-License-Identifier: MIT */
/*
 * Causes in the clocksource watchdog, which dropped the TSC. It compares two clocks and blames the
 * TSC; where its figures show that the reference or the circumstances were wrong, the TSC may be
 * used again.
 */
#include "rules.h"

#include <math.h>
#include <string.h>

/* "hpet measured 0.312 s, tsc 4.999 s"; a side whose rate is not known is left out. */
static void support_intervals(const struct view *view, struct cause *cause)
{
	const struct watchdog_counter *reference = &view->watchdog.reference;
	const struct watchdog_counter *tsc = &view->watchdog.tsc;

	support_add_log(cause, view->watchdog.line);
	if (reference->seconds >= 0 && tsc->seconds >= 0)
		support_add(cause, "%s measured %.6f s, %s %.6f s", reference->name,
			reference->seconds, tsc->name, tsc->seconds);
	else if (tsc->seconds >= 0)
		support_add(cause, "%s measured %.3f s", tsc->name, tsc->seconds);
}

static void support_wraps(const struct view *view, struct cause *cause)
{
	const struct watchdog_report *report = &view->watchdog;

	support_intervals(view, cause);
	if (report->wraps)
		support_add(cause, "with %u wrap%s of its counter, %s measured %.3f s, as %s did",
			report->wraps, report->wraps == 1 ? "" : "s", report->reference.name,
			report->true_seconds, report->tsc.name);
	else
		support_add(cause,
			"%s counted %.3f s as %s did, which is more than half of its range and "
			"taken for 0",
			report->reference.name, report->true_seconds, report->tsc.name);
}

static void support_readings(const struct view *view, struct cause *cause)
{
	const struct watchdog_counter *reference = &view->watchdog.reference;

	support_intervals(view, cause);
	if (reference->read)
		support_add(cause, "%s was read as %llx, before that as %llx", reference->name,
			(unsigned long long)reference->now, (unsigned long long)reference->last);
}

static bool is_rate_stated(const struct view *view)
{
	return tsc_has_flag(view->evidence, "tsc_known_freq");
}

static void support_rates(const struct view *view, struct cause *cause)
{
	support_intervals(view, cause);
	support_add(cause, "%s runs %.0f ppm %s than %s", view->watchdog.tsc.name,
		fabs(view->watchdog.ppm), view->watchdog.ppm > 0 ? "faster" : "slower",
		view->watchdog.reference.name);
	if (is_rate_stated(view))
		support_add(cause, "tsc_known_freq: CPUID or the hypervisor stated the rate of the "
				   "TSC, the kernel did not measure it");
}

/* The watchdog gave up before it compared: there are no intervals to show. */
static void support_delay(const struct view *view, struct cause *cause)
{
	support_add_log(cause, log_find_tsc_delay(view->evidence));
}

#define NOWATCHDOG_REMARK                                                                          \
	{                                                                                          \
		5, 2, NULL, "tsc=nowatchdog needs Linux 5.2 or newer, or a backport."              \
	}

/*
 * check_system_tsc_reliable() of arch/x86/kernel/tsc.c, for an invariant TSC whose changes show
 * in IA32_TSC_ADJUST: b50db7095fe0, in 5.16, up to two NUMA nodes; 233756a640be, in 6.3, four.
 */
#define UNCHECKED_TSC_REMARK                                                                       \
	{                                                                                          \
		5, 16, tsc_has_adjust,                                                             \
			"Linux 5.16 and newer do not check this CPU's TSC on machines of up to "   \
			"two NUMA nodes, 6.3 and newer of up to four."                             \
	}

#define NO_WATCHDOG_RISK "With tsc=nowatchdog the kernel no longer detects an unstable TSC."

/*
 * b7082cdfc464, in 6.3 and in stable kernels of March 2023, skips the check while reads are
 * slow; 644649553508, in 6.8 and in stable kernels of February 2024, one that comes late. What
 * other distributions than Debian backported is not known by their releases.
 */
static bool has_older_watchdog(const struct view *view)
{
	const struct evidence *evidence = view->evidence;

	return !fact_is_known(&evidence->host.kernel.fact) ||
	       (kernel_is_before(evidence, 6, 8) && !kernel_is_patched(evidence, 6, 1, 78) &&
		       !kernel_is_patched(evidence, 6, 6, 17));
}

static bool has_newer_watchdog(const struct view *view)
{
	return !has_older_watchdog(view);
}

static const struct advice_row newer_kernel_or_nowatchdog = {.id = "newer-kernel-or-nowatchdog",
	.effort = EFFORT_UPDATE,
	.when = {.applies = has_older_watchdog},
	.text = "Use Linux 6.8 or newer, or a stable kernel of February 2024 or later (6.1.78, "
		"6.6.17): these skip the check if the reference clock is slow to read or the "
		"check itself comes late. Or, if `vdsocheck warp` finds that the TSCs agree, boot "
		"with tsc=nowatchdog.",
	.remarks = {NOWATCHDOG_REMARK},
	.boot = "tsc=nowatchdog",
	.risk = NO_WATCHDOG_RISK};

static const struct advice_row boot_without_watchdog = {.id = "boot-without-watchdog",
	.effort = EFFORT_UPDATE,
	.when = {.applies = has_newer_watchdog},
	.text = "Reboot: the kernel then offers tsc again. If `vdsocheck warp` finds that the TSCs "
		"agree, boot with tsc=nowatchdog to keep this from happening again.",
	.remarks = {NOWATCHDOG_REMARK},
	.boot = "tsc=nowatchdog",
	.risk = NO_WATCHDOG_RISK};

static const struct advice_row reboot_to_tsc = {.id = "reboot-to-tsc",
	.effort = EFFORT_UPDATE,
	.text = "Reboot to get tsc back; if the TSCs agree, boot with tsc=nowatchdog to keep "
		"it.",
	.remarks = {NOWATCHDOG_REMARK, UNCHECKED_TSC_REMARK},
	.steps = {REBOOT_STEPS},
	.boot = "tsc=nowatchdog",
	.risk = NO_WATCHDOG_RISK};

static const struct advice_row ask_about_pauses = {.id = "ask-about-pauses",
	.effort = EFFORT_ASK,
	.on_host = true,
	.text = "Reboot: the kernel then offers tsc again. To keep this from happening "
		"again, ask your provider or platform team.",
	.ask = "This guest was paused (host asleep, snapshot, migration, overcommitted CPUs), its "
	       "clocks disagreed afterwards, and its kernel dropped the TSC as a result. Can the "
	       "hypervisor offer its own clock (kvm-clock, Hyper-V's reference TSC), or resume "
	       "the TSC where it stopped?"};

const struct advice_row advice_update_firmware = {.id = "update-firmware",
	.effort = EFFORT_UPDATE,
	.when = {.unless = GUEST},
	.text = "Update the firmware, reboot, and check again after a few days, since it can take "
		"that long to show. Do not force the TSC: the kernel's measurements show that it "
		"is wrong."};

const struct advice_row advice_ask_about_unstable_tsc = {.id = "ask-about-unstable-tsc",
	.effort = EFFORT_ASK,
	.when = {.needs = GUEST},
	.on_host = true,
	.text = "Reboot. Do not force the TSC: the kernel's measurements show that it is "
		"wrong. Send this to your provider or platform team.",
	.ask = "The guest's kernel found its TSC unstable and fell back to a clocksource that "
	       "costs a system call for each clock read. Is the TSC of the host synchronized "
	       "and scaled for this guest? Can the guest be moved to another host?"};

const struct advice_row advice_ask_which_clock = {.id = "ask-which-clock",
	.effort = EFFORT_ASK,
	.when = {.needs = GUEST},
	.on_host = true,
	.text = "Reboot. Do not force the TSC before it is known whether it or its "
		"reference clock was wrong. Send this to your provider or platform team.",
	.ask = "This guest's kernel dropped its TSC because it disagreed with the reference clock "
	       "of the watchdog. Was the guest paused or migrated at that time, and is the TSC of "
	       "the host synchronized and scaled for this guest? Can it be moved to another host?"};

const struct advice_row advice_find_which_clock = {.id = "find-which-clock",
	.effort = EFFORT_UPDATE,
	.when = {.unless = GUEST},
	.text = "Reboot, update the firmware, and look at the kernel log when it happens again. The "
		"lines with wd_nsec and cs_nsec hold both measurements. Do not force the TSC "
		"before it is known whether it or its reference clock was wrong.",
	.steps = {REBOOT_STEPS}};

/* a7ec817d5542: it warns of more than 500 ppm, and leaves the stated rate in use. */
static const struct advice_row recalibrate_tsc = {.id = "recalibrate-tsc",
	.effort = EFFORT_UPDATE,
	.when = {.unless = GUEST, .applies = is_rate_stated},
	.since = {6, 3},
	.text = "Boot with tsc=recalibrate: the kernel then measures the rate that the TSC is "
		"said to have, and warns in its log if that is wrong. If so, update the firmware.",
	.boot = "tsc=recalibrate"};

static void support_watchdog_distrust(const struct view *view, struct cause *cause)
{
	const struct kernel_log_line *line = log_find_tsc_distrust(view->evidence);

	support_add_log(cause, line);
	if (view->watchdog.line)
		support_intervals(view, cause);
	support_add_log(cause, log_find_after(view->evidence, line, "Switched to clocksource"));
}

const struct cause_row cause_watchdog_rows[] = {
	{.id = "tsc-read-delay",
		.text = "The kernel's watchdog could not read its reference clock in time and gave "
			"up on the TSC: often a false alarm in a guest or under heavy load.",
		.when = {.needs = SECOND_CHOICE | TSC_DELAYED},
		.certainty = CERTAINTY_PROVEN,
		.support = support_delay,
		.advice = {&newer_kernel_or_nowatchdog, &boot_without_watchdog}},
	{.id = "tsc-reference-wrapped",
		.text = "The kernel's watchdog dropped the TSC by mistake: its check came late, "
			"and by then the reference clock had counted past its range.",
		.when = {.needs = SECOND_CHOICE, .culprit = WATCHDOG_WRAPPED},
		.certainty = CERTAINTY_LIKELY,
		.support = support_wraps,
		.advice = {&reboot_to_tsc}},
	{.id = "tsc-reference-stopped",
		.text = "The reference clock of the kernel's watchdog counted too little, as an "
			"hpet that stops in deep idle states does; the TSC was dropped as a "
			"result.",
		.when = {.needs = SECOND_CHOICE, .culprit = WATCHDOG_STOPPED},
		.certainty = CERTAINTY_LIKELY,
		.support = support_readings,
		.advice = {&reboot_to_tsc}},
	{.id = "tsc-reference-misread",
		.text = "The kernel's watchdog read its reference clock as all ones, which is a "
			"failed read, and dropped the TSC as a result.",
		.when = {.needs = SECOND_CHOICE, .culprit = WATCHDOG_MISREAD},
		.certainty = CERTAINTY_LIKELY,
		.support = support_readings,
		.advice = {&reboot_to_tsc}},
	{.id = "tsc-reference-lost-ticks",
		.text = "The kernel's watchdog compared the TSC with a count of timer interrupts, "
			"some of which were lost, and dropped the TSC as a result.",
		.when = {.needs = SECOND_CHOICE, .culprit = WATCHDOG_LOST_TICKS},
		.certainty = CERTAINTY_LIKELY,
		.support = support_intervals,
		.advice = {&reboot_to_tsc}},
	{.id = "tsc-check-late",
		.text = "The kernel's watchdog dropped the TSC by mistake: its check came late, "
			"and a difference that is normal after that time exceeded its limit.",
		.when = {.needs = SECOND_CHOICE, .culprit = WATCHDOG_LATE},
		.certainty = CERTAINTY_LIKELY,
		.support = support_intervals,
		.advice = {&newer_kernel_or_nowatchdog, &boot_without_watchdog}},
	{.id = "tsc-check-delayed",
		.text = "The kernel's watchdog dropped the TSC for a difference so small that a "
			"delayed read explains it: often a false alarm on a large, busy machine.",
		.when = {.needs = SECOND_CHOICE, .culprit = WATCHDOG_DELAYED_READ},
		.certainty = CERTAINTY_LIKELY,
		.support = support_intervals,
		.advice = {&newer_kernel_or_nowatchdog, &boot_without_watchdog}},
	{.id = "tsc-guest-paused",
		.text = "This guest was paused: one of its clocks counted the pause, the other did "
			"not, and the kernel dropped the TSC as a result.",
		.when = {.needs = SECOND_CHOICE, .culprit = WATCHDOG_PAUSED},
		.certainty = CERTAINTY_LIKELY,
		.support = support_intervals,
		.advice = {&ask_about_pauses}},
	{.id = "tsc-jumped",
		.text = "The TSC was reset or overwritten: by firmware, a suspend, a migration or "
			"a program that writes the CPU's registers.",
		.when = {.needs = SECOND_CHOICE, .culprit = WATCHDOG_TSC_JUMPED},
		.certainty = CERTAINTY_LIKELY,
		.support = support_intervals,
		.advice = {&advice_update_firmware, &advice_ask_about_unstable_tsc}},
	{.id = "tsc-skewed",
		.text = "The TSC and the reference clock of the kernel's watchdog do not run at "
			"the rates that the kernel takes them to have: one of the two is wrong.",
		.when = {.needs = SECOND_CHOICE, .culprit = WATCHDOG_TSC_SKEWED},
		.certainty = CERTAINTY_LIKELY,
		.support = support_rates,
		.advice = {&recalibrate_tsc, &advice_find_which_clock, &advice_ask_which_clock}},
	{.id = "tsc-early-unstable",
		.text = "The TSC disagreed with the kernel's reference clock while booting.",
		.when = {.needs = SECOND_CHOICE | TSC_EARLY, .unless = TSC_DELAYED | TSC_JUDGED},
		.certainty = CERTAINTY_PROVEN,
		.support = support_watchdog_distrust,
		.advice = {&advice_find_which_clock, &advice_ask_which_clock}},
	{.id = "tsc-distrusted",
		.text = "The kernel marked the TSC unstable and stopped using it.",
		.when = {.needs = SECOND_CHOICE | TSC_DISTRUSTED,
			.unless = NO_TSC_AT_BOOT | TSC_JUDGED | TSC_DELAYED | TSC_EARLY |
                                  TSC_UNSYNCHRONISED | TSC_UNCALIBRATED | TSC_ON_HYPERV},
		.certainty = CERTAINTY_PROVEN,
		.support = support_watchdog_distrust,
		.advice = {&advice_find_which_clock, &advice_ask_which_clock}},
	{0},
};
