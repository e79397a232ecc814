/* SPDX-License-Identifier: MIT */
/*
 * Causes in the clocksource watchdog, which dropped the TSC. It compares two clocks and blames the
 * TSC; where its figures show that the reference or the circumstances were wrong, the TSC may be
 * used again.
 */
#include "rules.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

/* Two clocks of a machine, or of a guest that was not moved, do not differ by so much. */
#define MOVED_SHARE 0.1

static const struct kernel_log_line *find_marking(const struct view *v)
{
	return v->watchdog.line ? v->watchdog.line : v->tsc_distrust;
}

/*
 * Writes " 7 minutes after boot: in the same interval hpet counted 0.504 s and the TSC 0.497 s
 * (1.3% less)". Figures of a wrong reference say nothing.
 */
static void write_marked(const struct view *v, char text[CAUSE_FIGURES_SIZE])
{
	const struct watchdog_report *report = &v->watchdog;
	const struct kernel_log_line *line = find_marking(v);
	double counted = report->reference.seconds, passed = report->tsc.seconds;
	double difference = fabs(passed - counted), percent = difference / counted * 100;
	int digits = difference < 1e-3 || fmin(counted, passed) < 1e-2 ? 6 : 3;
	char when[LOG_TIME_SIZE];

	if (line && line->seconds >= 0)
		text_append(text, CAUSE_FIGURES_SIZE, " %s", log_time(v, line, when));
	if (!report->line || counted < 0 || passed < 0 || report->culprit == WATCHDOG_REFERENCE)
		return;
	text_append(text, CAUSE_FIGURES_SIZE,
		": in the same interval %s counted %.*f s and the TSC %.*f s",
		report->reference.name, digits, counted, digits, passed);
	if (difference < counted)
		text_append(text, CAUSE_FIGURES_SIZE, " (%.*g%% %s)", percent < 99 ? 2 : 4, percent,
			passed > counted ? "more" : "less");
}

static bool has_moved(const struct view *v)
{
	double counted = v->watchdog.reference.seconds, passed = v->watchdog.tsc.seconds;

	return fabs(passed - counted) > MOVED_SHARE * fmin(passed, counted);
}

static bool is_reference_hpet(const struct view *v)
{
	return strcmp(v->watchdog.reference.name, "hpet") == 0;
}

/* Cites the lines, and the figures from which the cause was worked out. */
static void cite_marked(const struct view *v, struct cause *cause)
{
	const struct watchdog_report *report = &v->watchdog;
	const struct watchdog_counter *reference = &report->reference;
	const struct kernel_log_line *line = find_marking(v);

	cite_line(v, cause, line);
	if (!line)
		cite_available(v, cause);
	if (report->line && reference->seconds >= 0 && report->tsc.seconds >= 0)
		cite(cause, "%s measured %.6f s, %s %.6f s", reference->name, reference->seconds,
			report->tsc.name, report->tsc.seconds);
	else if (report->line && report->tsc.seconds >= 0)
		cite(cause, "%s measured %.3f s", report->tsc.name, report->tsc.seconds);
	if (report->wraps)
		cite(cause, "with %u wrap%s of its counter, %s measured %.3f s, as %s did",
			report->wraps, report->wraps == 1 ? "" : "s", reference->name,
			report->true_seconds, report->tsc.name);
	else if (report->wrapped)
		cite(cause,
			"%s counted %.3f s as %s did, which is more than half of its range and "
			"taken for 0",
			reference->name, report->true_seconds, report->tsc.name);
	else if (reference->read && report->culprit == WATCHDOG_REFERENCE)
		cite(cause, "%s was read as %llx, before that as %llx", reference->name,
			(unsigned long long)reference->now, (unsigned long long)reference->last);
	else if (report->culprit >= WATCHDOG_TSC && tsc_has_flag(v->evidence, "tsc_known_freq"))
		cite(cause, "tsc_known_freq: CPUID or the hypervisor stated the rate of the TSC, "
			    "the kernel did not measure it");
	cite_firmware(v, cause);
	cite_switch_after(v, cause, line);
}

static void cite_boot_rate(const struct view *v, struct cause *cause)
{
	cite_boot(v, cause);
	cite_marked(v, cause);
}

static double rate_error(const struct tsc_rates *rates)
{
	return rates->stated > 0 ? (rates->measured / rates->stated - 1) * 100 : 0;
}

/* The clock counts the stated rate's seconds: with more cycles in each, it runs fast. */
static void write_misstated(const struct view *v, char text[CAUSE_FIGURES_SIZE])
{
	double percent = rate_error(&v->tsc_rates);

	text_append(text, CAUSE_FIGURES_SIZE,
		": %.3f MHz. The kernel measured %.3f MHz (%.2g%% %s)", v->tsc_rates.stated,
		v->tsc_rates.measured, fabs(percent), percent > 0 ? "more" : "less");
	if (clocksource_is(v->evidence, "tsc"))
		text_append(text, CAUSE_FIGURES_SIZE, ". The clock runs %s by as much",
			percent > 0 ? "fast" : "slow");
}

static void write_boot_rate(const struct view *v, char text[CAUSE_FIGURES_SIZE])
{
	double percent = rate_error(&v->boot_rates);

	text_append(text, CAUSE_FIGURES_SIZE, ": %.3f MHz. By %s it was %.0f MHz (%.2g%% %s)",
		v->boot_rates.stated, v->watchdog.reference.name, v->boot_rates.measured,
		fabs(percent), percent > 0 ? "more" : "less");
}

#define NO_WATCHDOG_RISK "With tsc=nowatchdog the kernel no longer detects an unstable TSC."

/*
 * c86ff8c55b8a, in 5.17, and b7082cdfc464, in 6.3, skip the check while reads are slow;
 * 644649553508, in 6.8, skips one that comes late. Stable kernels have them (5.10.223 and 6.1.192
 * were read); what distributions backported is known by what their kernels log.
 */
static bool has_newer_watchdog(const struct view *v)
{
	const struct evidence *evidence = v->evidence;

	if (LOG_FIRST(evidence, "clock-skew test skipped", "excessive read-back delay",
		    "wd-wd read-back delay", "Long readout interval"))
		return true;
	return fact_is_known(&evidence->host.kernel.fact) &&
	       (!kernel_is_before(evidence, "6.8") || kernel_is_patched(evidence, "5.10.223") ||
		       kernel_is_patched(evidence, "5.15.149") ||
		       kernel_is_patched(evidence, "6.1.78") ||
		       kernel_is_patched(evidence, "6.6.17"));
}

static const struct advice_row newer_kernel_or_nowatchdog = {"newer-kernel-or-nowatchdog",
	RANK_UPDATE,
	.text = "Use Linux 6.8 or newer, or a stable kernel of 2024 or later (5.10.223, 5.15.149, "
		"6.1.78, 6.6.17): they skip a check that comes late, or whose reads are slow.",
	.boot_text = "Or, if `vdsocheck warp` finds that the TSCs agree, boot with tsc=nowatchdog.",
	.remarks = {{NOWATCHDOG_REMARK}}, NOWATCHDOG, .risk = NO_WATCHDOG_RISK};

/*
 * check_system_tsc_reliable() (arch/x86/kernel/tsc.c) exempts an invariant TSC from the check where
 * IA32_TSC_ADJUST shows its changes: since b50db7095fe0, in 5.16, with up to two NUMA nodes, since
 * 233756a640be, in 6.3, with four; 6.12 and 7.3 count packages.
 */
static const struct advice_row reboot_to_tsc = {"reboot-to-tsc", RANK_UPDATE, .actor = ACTOR_GUEST,
	.text = "Reboot to get tsc back.",
	.boot_text = "If the TSCs agree, boot with tsc=nowatchdog to keep it.",
	.remarks = {{NOWATCHDOG_REMARK},
		{"Newer kernels do not check this CPU's TSC: Linux 5.16 with up to two NUMA nodes, "
		 "6.3 with up to four, 6.12 with up to four sockets.",
			IF(HAS(kernel_is_before, "6.12"), HAS(tsc_has_flag, "tsc_adjust"),
				IS(tsc_invariant))},
		{"Linux 7.2 and newer repeat a slow read and skip a late check.",
			IF(HAS(kernel_is_before, "7.2"),
				ANY(IS(tsc_delay), IS(watchdog.wrapped),
					EQ(watchdog.culprit, WATCHDOG_CHECK)))}},
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck warp && vdsocheck"}},
	NOWATCHDOG, .risk = NO_WATCHDOG_RISK};

static const struct advice_row newer_kernel_for_tsc_early = {"newer-kernel-for-tsc-early",
	RANK_UPDATE,
	.text = "Use Linux 5.4 or newer (or 5.3.15): on older ones tsc=nowatchdog and tsc=reliable "
		"do not keep the kernel from dropping tsc-early, as it did here."};

static const struct advice_row ask_about_pauses = {"ask-about-pauses", RANK_ASK,
	.text = "Reboot: the kernel then offers tsc again. To keep this from happening again, ask "
		"your provider or platform team.",
	.where = ON_HOST,
	.ask = "This guest was paused (host asleep, snapshot, migration, overcommitted CPUs), its "
	       "clocks disagreed afterwards, and its kernel dropped the TSC as a result. Can the "
	       "hypervisor offer its own clock (kvm-clock, Hyper-V's reference TSC), or resume the "
	       "TSC where it stopped?"};

const struct advice_row advice_restart_for_tsc = {"restart-for-tsc", RANK_UPDATE,
	.actor = ACTOR_GUEST,
	.text = "Restart this guest: its kernel then uses tsc again. If its host slept at that "
		"time, have the guest suspended with it from now on.",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

const struct advice_row advice_update_firmware = {"update-firmware", RANK_UPDATE,
	.actor = ACTOR_FIRMWARE, .irreversible = true,
	.text = "Update the firmware, reboot, and check again after a few days, since it can take "
		"that long to show. Do not force the TSC: the kernel's measurements show that it "
		"is wrong."};

const struct advice_row advice_ask_about_unstable_tsc = {"ask-about-unstable-tsc", RANK_ASK,
	.text = "Reboot. Do not force the TSC: the kernel's measurements show that it is wrong. "
		"Send this to your provider or platform team.",
	.where = ON_HOST,
	.ask = "The guest's kernel found its TSC unstable and fell back to a clocksource that "
	       "costs a system call for each clock read. Is the TSC of the host synchronized and "
	       "scaled for this guest? Can the guest be moved to another host?"};

const struct advice_row advice_ask_which_clock = {"ask-which-clock", RANK_ASK,
	.text = "Reboot. Do not force the TSC before it is known whether it or its reference clock "
		"was wrong. Send this to your provider or platform team.",
	.where = ON_HOST,
	.ask = "This guest's kernel dropped its TSC because it disagreed with the reference clock "
	       "of the watchdog. Was the guest paused or migrated at that time, and is the TSC of "
	       "the host synchronized and scaled for this guest? Can it be moved to another host?"};

/* The second step shows the figures in the wordings of all kernels. */
const struct advice_row advice_find_which_clock = {"find-which-clock", RANK_UPDATE,
	.actor = ACTOR_FIRMWARE, .irreversible = true,
	.text = "Update the firmware and reboot; if it happens again, compare what both clocks "
		"measured. Do not force the TSC before it is known which of them is wrong. With "
		"NTP, `chronyc tracking` shows the error of {from}, which is in use now.",
	.steps = {{.command = "sudo reboot"},
		{.text = "if it happens again",
			.command = "sudo journalctl -k -b | grep -A3 'Marking clocksource'"}}};

/* The msr module has logged writes since a7e1f67ed29f, in 5.9; 10 is the TSC, 3b TSC_ADJUST. */
static const struct advice_row find_tsc_writer = {"find-tsc-writer", RANK_LOOK,
	.text = "Find what wrote the TSC at that time (a suspend, the firmware, a tool that writes "
		"the CPU's registers), then reboot. Do not force the TSC: it is wrong until then.",
	.where = ON_HOST,
	.steps = {{.command =
			   "sudo journalctl -k -b | grep -E 'MSR 0x(10|3b) |PM: (suspend|hiber)'"}}};

static const struct advice_row correct_boot_rate = {"correct-boot-rate", RANK_UNDO,
	.text = "Remove {boot} from the kernel command line, or correct its rate, and reboot.",
	.steps = {{ADVICE_DROP_STEP}, {ADVICE_REBOOT_STEP}, {.command = "vdsocheck"}},
	.risk = "Without it the kernel may not be able to calibrate the TSC here."};

/* With it the kernel warns of more than 500 ppm, and keeps the stated rate (a7ec817d5542). */
static const struct advice_row recalibrate_tsc = {"recalibrate-tsc", RANK_UPDATE,
	.actor = ACTOR_GUEST,
	.text = "Boot with tsc=recalibrate: the kernel then measures the TSC's rate, and warns in "
		"its log if the stated one is wrong. If so, update the firmware.",
	.since = "6.3", .boot = "tsc=recalibrate"};

/* With a rate of its own the kernel reads no CPUID leaf, and refines it by a timer. */
static const struct advice_row correct_stated_rate = {"correct-stated-rate", RANK_UPDATE,
	.actor = ACTOR_FIRMWARE, .irreversible = true,
	.text = "Update the firmware; if it states the same rate, ask the machine's vendor.",
	.boot_text = "Until then, boot with tsc_early_khz=RATE, the rate in kHz that the kernel "
		     "measured.",
	.boot = "tsc_early_khz=RATE", .risk = "A wrong RATE makes the clock run fast or slow."};

/* Firmware may leave another rate, or another one of the HPET, than after a cold start. */
static const struct advice_row start_cold_for_rate = {"start-cold-for-rate", RANK_UPDATE,
	.actor = ACTOR_HOST,
	.text = "Power the machine off, and on after some seconds: clocks whose rates differ right "
		"after a warm start may agree after a cold one."};

static bool is_long_after_boot(const struct view *v)
{
	return find_marking(v) && find_marking(v)->seconds > BOOTED_S;
}

static bool is_soon_after_boot(const struct view *v)
{
	return find_marking(v) && find_marking(v)->seconds >= 0 && !is_long_after_boot(v) &&
	       !log_is_after_resume(v, find_marking(v));
}

/*
 * The check of the CPUs against each other follows the same event, and measures more
 * (clocksource_verify_percpu(), 5.13 to 7.1; 7.2 gives it as the reason).
 */
#define CULPRIT(name)                                                                              \
	IS(tsc_wanted), NOT(boot_rate_wrong), NOT(tsc_unsynchronized), EQ(watchdog.culprit, name)

/* The kernel marked the TSC unstable, and nothing shows why. */
#define UNEXPLAINED                                                                                \
	IS(tsc_distrusted), NOT(boot_disables_tsc), NOT(lacks_driver), NOT(tsc_delay),             \
		NOT(rate_misstated), NOT(tsc_uncalibrated),                                        \
		ANY(EQ(unstable_reason, UNSTABLE_UNSAID),                                          \
			EQ(unstable_reason, UNSTABLE_BY_WATCHDOG))

#define MARKED "The kernel marked the TSC unstable{figures}"
#define MISTAKE                                                                                    \
	MARKED                                                                                     \
	", by mistake: its reference clock did not count, was misread, or lost timer interrupts."

const struct cause_row causes_watchdog[] = {
	{"boot-tsc-rate-wrong", GROUP_TSC, CERTAINTY_LIKELY,
		IF(IS(tsc_wanted), IS(boot_rate_wrong)),
		"The kernel marked the TSC unstable, since tsc_early_khz= on the kernel command "
		"line states a wrong rate of the TSC{figures}.",
		.figures = write_boot_rate,
		.signs = "The kernel command line has tsc_early_khz=, and the watchdog's figures "
			 "in the kernel log show a rate that differs by more than 1%.",
		.evidence = cite_boot_rate, .more = BOOT_PARAMETERS,
		.advice = {{&correct_boot_rate, ALWAYS}}},
	{"tsc-read-delay", GROUP_TSC, CERTAINTY_PROVEN, IF(IS(tsc_wanted), IS(tsc_delay)),
		"The kernel's watchdog could not read its reference clock in time and gave up on "
		"the TSC{when}: often a false alarm in a guest or under heavy load.",
		.signs = "The kernel log has \"read-back delay of\" and \"marking tsc unstable\".",
		.line = MEMBER(tsc_delay),
		.advice = {{&newer_kernel_or_nowatchdog,
				   IF(NOT(on_tcg), ASK_NOT(has_newer_watchdog))},
			{&reboot_to_tsc, IF(NOT(on_tcg), ASK(has_newer_watchdog))}}},
	{"tsc-reference-wrong", GROUP_TSC, CERTAINTY_LIKELY, IF(CULPRIT(WATCHDOG_REFERENCE)),
		MISTAKE,
		.texts = {{MARKED ", by mistake: its check came late, and by then the reference "
				  "clock had counted past its range.",
				  IF(IS(watchdog.wrapped))},
			{MISTAKE " On some CPUs hpet stops in deep idle states.",
				IF(IS(machine), ASK(is_reference_hpet))}},
		.figures = write_marked,
		.signs = "The watchdog's figures in the kernel log: the reference clock agrees "
			 "with the TSC once its wraps are added, did not count, was read as all "
			 "ones, or is a count of timer interrupts.",
		.evidence = cite_marked,
		.advice = {{&newer_kernel_for_tsc_early,
				   IF(NOT(on_tcg), IS(tsc_early_unprotected))},
			{&reboot_to_tsc, IF(NOT(on_tcg), NOT(clocks_disabled))}}},
	{"tsc-check-late", GROUP_TSC, CERTAINTY_LIKELY, IF(CULPRIT(WATCHDOG_CHECK)),
		MARKED ". The check came late, or a read was delayed: often a false alarm.",
		.figures = write_marked,
		.signs = "The watchdog's figures in the kernel log: the interval is longer than 1 "
			 "s and the clocks differ by less than 0.1%, or they differ by 0.5 ms at "
			 "most.",
		.evidence = cite_marked,
		.advice = {{&newer_kernel_or_nowatchdog,
				   IF(NOT(on_tcg), ASK_NOT(has_newer_watchdog))},
			{&reboot_to_tsc, IF(NOT(on_tcg), ASK(has_newer_watchdog))}}},
	{"tsc-guest-paused", GROUP_TSC, CERTAINTY_LIKELY, IF(CULPRIT(WATCHDOG_PAUSED)),
		MARKED ". This guest was paused, and the TSC or its reference clock did not count "
		       "that time.",
		.figures = write_marked,
		.signs = "The watchdog's figures in the kernel log of a guest: one clock counted "
			 "more than 2.5 times as much as the other, which counted 0.45 s or more.",
		.evidence = cite_marked,
		.advice = {{&advice_restart_for_tsc, IF(IS(tsc_lost), NOT(on_dom0))},
			{&ask_about_pauses, IF(IS(has_host), NOT(tsc_lost))}}},
	/* The kernel takes a TSC that went back for 0 (clocksource_delta(), 4.x to 7.2). */
	{"tsc-jumped", GROUP_TSC, CERTAINTY_LIKELY, IF(CULPRIT(WATCHDOG_TSC), NOT(rate_misstated)),
		MARKED
		". The TSC stood still, or was reset or overwritten by firmware, a "
		"suspend, a migration or a program that writes the CPU's registers." TSC_READERS_AFFECTED,
		.figures = write_marked,
		.signs = "The watchdog's figures in the kernel log: the TSC went back, or ahead "
			 "by more than 10 minutes, or counted less than the timer's period of "
			 "0.45 s while the reference clock counted up to 1 s.",
		.evidence = cite_marked,
		.advice = {{&find_tsc_writer, IF(IS(machine), ASK(is_long_after_boot))},
			{&advice_restart_for_tsc, IF(IS(tsc_lost), NOT(on_dom0))},
			{&advice_update_firmware, IF(IS(machine))},
			{&advice_ask_about_unstable_tsc, IF(IS(has_host), NOT(tsc_lost))}}},
	{"tsc-rate-misstated", GROUP_TSC, CERTAINTY_LIKELY,
		IF(IS(rate_misstated), ANY(IS(tsc_wanted), HAS(clocksource_is, "tsc"))),
		"CPUID or the firmware states a wrong rate of the TSC{figures}.",
		.figures = write_misstated,
		.signs = "The kernel log has \"TSC freq calibrated by CPUID/MSR differs from what "
			 "is calibrated by HW timer\" and \"TSC freq recalibrated by\".",
		.log = "TSC freq recalibrated by", .with_switch = true,
		.advice = {{&correct_stated_rate, IF(IS(machine))},
			{&advice_ask_about_unstable_tsc, IF(IS(has_host), NOT(tsc_lost))}}},
	{"tsc-skewed", GROUP_TSC, CERTAINTY_LIKELY,
		IF(CULPRIT(WATCHDOG_RATES), NOT(rate_misstated)),
		MARKED ". The TSC or its reference clock runs at a wrong rate.",
		.texts = {{MARKED ". This guest was moved to a host whose TSC has another rate, "
				  "was paused, or one of the two lost time.",
			IF(ASK(has_moved))}},
		.figures = write_marked,
		.signs = "The watchdog's figures in the kernel log: both clocks counted all of "
			 "the time, and their rates differ by 10% at most, in a guest by 150%.",
		.evidence = cite_marked,
		.advice = {{&advice_restart_for_tsc, IF(IS(tsc_lost), NOT(on_dom0))},
			{&start_cold_for_rate,
				IF(IS(machine), NOT(is_rented), ASK(is_soon_after_boot))},
			{&recalibrate_tsc, IF(IS(machine), HAS(tsc_has_flag, "tsc_known_freq"))},
			{&advice_find_which_clock, IF(IS(machine))},
			{&advice_ask_which_clock, IF(IS(has_host), NOT(tsc_lost))}}},
	{"tsc-distrusted", GROUP_TSC, CERTAINTY_PROVEN,
		IF(CULPRIT(WATCHDOG_UNDETERMINED), UNEXPLAINED),
		MARKED ". Nothing shows whether the TSC or its reference clock was wrong.",
		.texts = {{MARKED ".", IF(NOT(watchdog.line))}}, .figures = write_marked,
		.signs = "The kernel log has \"Marking clocksource 'tsc' as unstable\" or the "
			 "like, without figures that decide; or tsc is ranked behind slower "
			 "clocksources.",
		.evidence = cite_marked,
		.advice = {{&advice_restart_for_tsc, IF(IS(tsc_lost), NOT(on_dom0))},
			{&advice_find_which_clock, IF(IS(machine))},
			{&advice_ask_which_clock, IF(IS(has_host), NOT(tsc_lost))}}},
	{0},
};
