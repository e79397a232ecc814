/* SPDX-License-Identifier: MIT */
/*
 * Causes in the clocksource watchdog, which dropped the TSC. It compares two clocks and blames the
 * TSC; where its figures show that the reference or the circumstances were wrong, the TSC may be
 * used again.
 */
#include "rules.h"

#include <math.h>

static bool has_culprit(const struct view *view, enum watchdog_culprit culprit)
{
	return view_is_second_choice(view) && view->watchdog.culprit == culprit;
}

static bool is_wrapped(const struct view *view)
{
	return has_culprit(view, WATCHDOG_WRAPPED);
}

static bool is_stopped(const struct view *view)
{
	return has_culprit(view, WATCHDOG_STOPPED);
}

static bool is_misread(const struct view *view)
{
	return has_culprit(view, WATCHDOG_MISREAD);
}

static bool has_lost_ticks(const struct view *view)
{
	return has_culprit(view, WATCHDOG_LOST_TICKS);
}

static bool is_late(const struct view *view)
{
	return has_culprit(view, WATCHDOG_LATE);
}

static bool was_paused(const struct view *view)
{
	return has_culprit(view, WATCHDOG_PAUSED);
}

static bool is_read_late(const struct view *view)
{
	return has_culprit(view, WATCHDOG_DELAYED_READ);
}

static bool has_jumped(const struct view *view)
{
	return has_culprit(view, WATCHDOG_TSC_JUMPED);
}

static bool is_skewed(const struct view *view)
{
	return has_culprit(view, WATCHDOG_TSC_SKEWED);
}

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

static void support_rates(const struct view *view, struct cause *cause)
{
	support_intervals(view, cause);
	support_add(cause, "%s runs %.0f ppm %s than %s", view->watchdog.tsc.name,
		fabs(view->watchdog.ppm), view->watchdog.ppm > 0 ? "faster" : "slower",
		view->watchdog.reference.name);
}

/*
 * 5.13: "read-back delay of N ns, attempt K, marking unstable"; 6.x: "marking tsc unstable".
 * Other lines of a read-back delay say that a check was skipped, which is well.
 */
static const struct kernel_log_line *delay_line(const struct view *view)
{
	return log_find_with(view->evidence, "read-back delay", ", marking ");
}

bool view_has_tsc_delay(const struct view *view)
{
	return view_is_second_choice(view) && delay_line(view);
}

static void support_delay(const struct view *view, struct cause *cause)
{
	support_add_log(cause, delay_line(view));
}

static bool is_guest(const struct view *view)
{
	return host_is_guest(view->evidence);
}

static bool is_no_guest(const struct view *view)
{
	return !host_is_guest(view->evidence);
}

static const struct step_row keep_nowatchdog[] = {
	{"GRUB on Debian and Ubuntu; to undo, remove the file and run update-grub",
		"echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX tsc=nowatchdog\"' | "
		"sudo tee /etc/default/grub.d/tsc.cfg && sudo update-grub"},
	{"grubby on Fedora, RHEL and Amazon Linux; to undo, use --remove-args",
		"sudo grubby --update-kernel=ALL --args=tsc=nowatchdog"},
	{0},
};

#define REBOOT_STEPS                                                                               \
	{                                                                                          \
		{NULL, "sudo reboot"}, {"exits with 0 if the CPUs' TSCs agree", "vdsocheck warp"}, \
		{                                                                                  \
			NULL, "vdsocheck"                                                          \
		}                                                                                  \
	}
#define NO_WATCHDOG_RISK                                                                           \
	"Without the watchdog the kernel no longer detects a TSC that becomes unstable."

/*
 * b7082cdfc464, in 6.3 and in stable kernels of March 2023, skips the check while reads are
 * slow; 644649553508, in 6.8 and in stable kernels of February 2024, one that comes late.
 */
static bool has_older_watchdog(const struct view *view)
{
	return kernel_is_before(view->evidence, 6, 8) ||
	       !fact_is_known(&view->evidence->host.kernel.fact);
}

static bool has_newer_watchdog(const struct view *view)
{
	return !has_older_watchdog(view);
}

static const struct advice_row newer_kernel_or_nowatchdog = {.id = "newer-kernel-or-nowatchdog",
	.effort = EFFORT_UPDATE,
	.applies = has_older_watchdog,
	.text = "Use a newer kernel: Linux 6.3 (also 6.1 and 6.2 stable from March 2023 on) skips "
		"the check while its reference is slow, 6.8 (also 6.6 stable from February 2024 "
		"on) where it comes late. Or, if `vdsocheck warp` finds that the TSCs agree, boot "
		"with tsc=nowatchdog.",
	.keep = keep_nowatchdog,
	.risk = NO_WATCHDOG_RISK};

static const struct advice_row boot_without_watchdog = {.id = "boot-without-watchdog",
	.effort = EFFORT_UPDATE,
	.applies = has_newer_watchdog,
	.text = "Reboot: the kernel then offers tsc again. If `vdsocheck warp` finds that the TSCs "
		"agree, boot with tsc=nowatchdog to prevent a repetition.",
	.keep = keep_nowatchdog,
	.risk = NO_WATCHDOG_RISK};

static const struct advice_row reboot_to_tsc = {.id = "reboot-to-tsc",
	.effort = EFFORT_UPDATE,
	.text = "The figures speak against the reference clock, not against the TSC. Reboot: the "
		"kernel then offers tsc again. Linux 5.16 and newer do not check an invariant TSC "
		"on machines of one or two sockets; on others, tsc=nowatchdog prevents it.",
	.steps = REBOOT_STEPS,
	.keep = keep_nowatchdog,
	.risk = NO_WATCHDOG_RISK};

static const struct advice_row ask_about_pauses = {.id = "ask-about-pauses",
	.effort = EFFORT_ASK,
	.text = "Reboot: the kernel then offers its clocksource again. To prevent a repetition, "
		"ask your provider or platform team:",
	.ask = "This guest was paused (host asleep, snapshot, migration, overcommitted CPUs), its "
	       "clocks disagreed afterwards, and its kernel dropped the TSC for it. Can the "
	       "hypervisor offer its own clock (kvm-clock, Hyper-V's reference TSC), or resume "
	       "the TSC where it stopped?"};

const struct advice_row advice_update_firmware = {.id = "update-firmware",
	.effort = EFFORT_UPDATE,
	.applies = is_no_guest,
	.text = "Do not force the TSC: the kernel measured it to be wrong. Update the firmware, "
		"reboot, and check again after some days, since it can happen late."};

const struct advice_row advice_ask_about_unstable_tsc = {.id = "ask-about-unstable-tsc",
	.effort = EFFORT_ASK,
	.applies = is_guest,
	.text = "Do not force the TSC: the kernel measured it to be wrong. Reboot, or move this "
		"machine to another host, and send this to your provider or platform team:",
	.ask = "The guest's kernel found its TSC unstable and fell back to a clocksource that "
	       "costs a system call for each reading of the time. Is the TSC of the host "
	       "synchronized and scaled for this guest?"};

static const struct advice_row ask_which_clock = {.id = "ask-which-clock",
	.effort = EFFORT_ASK,
	.applies = is_guest,
	.text = "Do not force the TSC before it is known which of the two clocks was wrong. Reboot, "
		"or move this machine to another host, and send this to your provider or platform "
		"team:",
	.ask = "This guest's kernel dropped its TSC because it disagreed with the reference clock "
	       "of the watchdog. Was the guest paused or migrated at that time, and is the TSC of "
	       "the host synchronized and scaled for this guest?"};

static const struct advice_row find_which_clock = {.id = "find-which-clock",
	.effort = EFFORT_UPDATE,
	.applies = is_no_guest,
	.text = "Do not force the TSC before it is known which of the two clocks was wrong. Reboot, "
		"update the firmware, and look into the kernel log when it happens again: the "
		"lines with wd_nsec and cs_nsec hold both measurements.",
	.steps = REBOOT_STEPS};

#define FALSE_ALARM                                                                                \
	(const struct advice_row *const[])                                                         \
	{                                                                                          \
		&newer_kernel_or_nowatchdog, &boot_without_watchdog, NULL                          \
	}
#define TRUST_AGAIN                                                                                \
	(const struct advice_row *const[])                                                         \
	{                                                                                          \
		&reboot_to_tsc, NULL                                                               \
	}
#define WHICH_CLOCK                                                                                \
	(const struct advice_row *const[])                                                         \
	{                                                                                          \
		&find_which_clock, &ask_which_clock, NULL                                          \
	}
#define TRUST_NO_MORE                                                                              \
	(const struct advice_row *const[])                                                         \
	{                                                                                          \
		&advice_update_firmware, &advice_ask_about_unstable_tsc, NULL                      \
	}

static void support_distrust(const struct view *view, struct cause *cause)
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
		.applies = view_has_tsc_delay,
		.certainty = CERTAINTY_PROVEN,
		.support = support_delay,
		.advice = FALSE_ALARM},
	{.id = "tsc-reference-wrapped",
		.text = "The kernel's watchdog dropped the TSC by mistake: its check came late, and "
			"by then the reference clock had counted past its range.",
		.applies = is_wrapped,
		.certainty = CERTAINTY_LIKELY,
		.support = support_wraps,
		.advice = TRUST_AGAIN},
	{.id = "tsc-reference-stopped",
		.text = "The reference clock of the kernel's watchdog counted too little, as an hpet "
			"that stops in deep idle states does; the TSC was dropped for it.",
		.applies = is_stopped,
		.certainty = CERTAINTY_LIKELY,
		.support = support_readings,
		.advice = TRUST_AGAIN},
	{.id = "tsc-reference-misread",
		.text = "The kernel's watchdog read its reference clock as all ones, which is a "
			"failed read, and dropped the TSC for it.",
		.applies = is_misread,
		.certainty = CERTAINTY_LIKELY,
		.support = support_readings,
		.advice = TRUST_AGAIN},
	{.id = "tsc-reference-lost-ticks",
		.text = "The kernel's watchdog compared the TSC with a count of timer interrupts, "
			"some of which were lost, and dropped the TSC for it.",
		.applies = has_lost_ticks,
		.certainty = CERTAINTY_LIKELY,
		.support = support_intervals,
		.advice = TRUST_AGAIN},
	{.id = "tsc-check-late",
		.text = "The kernel's watchdog dropped the TSC by mistake: its check came late, and "
			"a difference that is normal after so long was too much for its limit.",
		.applies = is_late,
		.certainty = CERTAINTY_LIKELY,
		.support = support_intervals,
		.advice = FALSE_ALARM},
	{.id = "tsc-check-delayed",
		.text = "The kernel's watchdog dropped the TSC for a difference so small that a "
			"delayed read explains it: often a false alarm on a large, busy machine.",
		.applies = is_read_late,
		.certainty = CERTAINTY_LIKELY,
		.support = support_intervals,
		.advice = FALSE_ALARM},
	{.id = "tsc-guest-paused",
		.text = "This guest was paused: one of its clocks counted the pause, the other did "
			"not, and the kernel dropped the TSC for it.",
		.applies = was_paused,
		.certainty = CERTAINTY_LIKELY,
		.support = support_intervals,
		.advice = (const struct advice_row *const[]){&ask_about_pauses, NULL}},
	{.id = "tsc-jumped",
		.text = "The TSC was reset or written: firmware, a suspend, a migration or a program "
			"that writes the CPU's registers did it.",
		.applies = has_jumped,
		.certainty = CERTAINTY_LIKELY,
		.support = support_intervals,
		.advice = TRUST_NO_MORE},
	{.id = "tsc-skewed",
		.text = "The TSC does not run at the rate that the kernel measured for it at boot.",
		.applies = is_skewed,
		.certainty = CERTAINTY_LIKELY,
		.support = support_rates,
		.advice = TRUST_NO_MORE},
	{.id = "tsc-early-unstable",
		.text = "The TSC disagreed with the kernel's reference clock while booting.",
		.applies = view_is_tsc_early,
		.certainty = CERTAINTY_PROVEN,
		.support = support_distrust,
		.advice = WHICH_CLOCK},
	{.id = "tsc-distrusted",
		.text = "The kernel marked the TSC unstable and stopped using it.",
		.applies = view_is_tsc_distrusted,
		.certainty = CERTAINTY_PROVEN,
		.support = support_distrust,
		.advice = WHICH_CLOCK},
	{0},
};
