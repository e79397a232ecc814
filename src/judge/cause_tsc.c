/* SPDX-License-Identifier: MIT */
/*
 * Causes in why the kernel does not use the TSC, other than its watchdog's figures; and, in a
 * table of their own, what has become of a clocksource that was better. Most are asked for on
 * x86 alone, on a clocksource that is not chosen for its speed.
 */
#include "rules.h"

#include <string.h>

#include "base/text.h"

static bool tsc_unsynchronized(const struct view *v)
{
	return v->second_choice && v->tsc_unsynchronized;
}

/* Before dce7cd62754b, in 5.5, every guest of Hyper-V said so, whatever its host offered. */
static bool tsc_on_hyperv(const struct view *v)
{
	return v->second_choice && v->tsc_on_hyperv && !kernel_is_before(v->evidence, 5, 5);
}

static void cite_distrust(const struct view *v, struct cause *cause)
{
	cite_line_and_switch(v, cause, v->tsc_distrust);
}

/* The list was read, and tsc is not in it. */
static bool is_tsc_missing(const struct view *v)
{
	return v->second_choice && !v->tsc_offered &&
	       fact_is_known(&v->evidence->clocksource.available_fact);
}

static bool is_on_jiffies(const struct evidence *evidence)
{
	return clocksource_is(evidence, "jiffies") || clocksource_is(evidence, "refined-jiffies");
}

/*
 * On jiffies the tick is periodic. Then the kernel selects and lists a TSC that it has registered,
 * even one that nothing can verify (clocksource_find_best() and available_clocksource_show() of
 * kernel/time/clocksource.c, 3.10 to 7.2): one that is not listed was never registered.
 */
static bool tsc_uncalibrated(const struct view *v)
{
	const struct evidence *evidence = v->evidence;

	return (v->second_choice && v->tsc_uncalibrated) ||
	       (is_tsc_missing(v) && is_on_jiffies(evidence) && !v->boot_disables_tsc &&
		       !v->tsc_distrusted && !log_find(evidence, "clocksource tsc") &&
		       !fact_is_flag(&evidence->host.invariant_tsc, false));
}

static bool is_calibration_logged(const struct view *v)
{
	return v->tsc_uncalibrated;
}

static void cite_calibration(const struct view *v, struct cause *cause)
{
	cite_line(cause, v->tsc_uncalibrated);
	if (!v->tsc_uncalibrated)
		cite_available(v, cause);
}

/* The kernel waits for its watchdog, which has no clock to compare with but jiffies. */
static const struct kernel_log_line *find_unverified(const struct evidence *evidence)
{
	const struct kernel_log_line *line = log_find(evidence, "Override clocksource tsc");

	return line && strstr(line->text, "not currently HRT compatible") ? line : NULL;
}

static bool tsc_unverified(const struct view *v)
{
	return v->second_choice && !v->boot_disables_tsc && !v->tsc_distrusted && !v->tsc_offered &&
	       is_on_jiffies(v->evidence) && find_unverified(v->evidence);
}

static void cite_unverified(const struct view *v, struct cause *cause)
{
	cite_line(cause, find_unverified(v->evidence));
	cite_available(v, cause);
}

/* "Switched to clocksource tsc" and not "tsc-early". */
static const struct kernel_log_line *find_tsc_in_use(const struct evidence *evidence)
{
	static const char text[] = "Switched to clocksource tsc";
	const struct kernel_log_line *line = log_find(evidence, text);

	while (line && strstr(line->text, text)[strlen(text)])
		line = log_find_after(evidence, line, text);
	return line;
}

static void cite_tsc_in_use(const struct view *v, struct cause *cause)
{
	cite_line_and_switch(v, cause, find_tsc_in_use(v->evidence));
}

/*
 * From the first line about tsc to now nothing is missing: only then a line's absence counts. A
 * log that is this long has lost lines from its middle (collect/kernel_log.c).
 */
static bool is_log_whole(const struct kernel_log_evidence *log)
{
	return fact_is_known(&log->fact) && log->count < KERNEL_LOG_MAX &&
	       strcmp(log->source, KERNEL_LOG_AT_BOOT) != 0;
}

static bool tsc_unbound(const struct view *v)
{
	return is_tsc_missing(v) && !v->tsc_distrusted && !v->tsc_delay &&
	       find_tsc_in_use(v->evidence) && is_log_whole(&v->evidence->kernel_log);
}

/* The CPU's flag counts where the kernel does not offer the TSC, or runs on Xen's clock. */
static bool tsc_not_invariant(const struct view *v)
{
	return fact_is_flag(&v->evidence->host.invariant_tsc, false) && !tsc_unbound(v) &&
	       ((v->falls_back && v->on_xen) || (v->second_choice && !v->tsc_offered));
}

static void cite_invariance(const struct view *v, struct cause *cause)
{
	const struct host_evidence *host = &v->evidence->host;

	cite(cause, "CPU: %s, TSC %s",
		fact_is_known(&host->cpu.fact) ? host->cpu.value : "not known",
		host->invariant_tsc.value ? "invariant" : "not invariant");
}

static bool tsc_not_offered(const struct view *v)
{
	return is_tsc_missing(v) && !v->boot_disables_tsc && !v->tsc_distrusted &&
	       !tsc_uncalibrated(v) && !tsc_unverified(v) && !find_tsc_in_use(v->evidence) &&
	       fact_is_flag(&v->evidence->host.invariant_tsc, true);
}

/* A TSC that was in use shows that this kernel knows it. */
static bool tsc_dropped(const struct view *v)
{
	return is_tsc_missing(v) && !v->boot_disables_tsc && !v->tsc_distrusted && !v->tsc_delay &&
	       find_tsc_in_use(v->evidence) && !is_log_whole(&v->evidence->kernel_log);
}

static bool has_switch(const struct view *v)
{
	return v->paravirtual || v->tsc_advisable;
}

/* A guest that has no better way, and that nothing else keeps from the TSC. */
static bool needs_invariant_tsc(const struct view *v)
{
	return v->guest && !has_switch(v) && !v->may_be_restored && !v->on_xen &&
	       !v->boot_disables_tsc && !v->tsc_distrusted && !v->tsc_on_hyperv;
}

/* native_calibrate_tsc() reads leaf 0x15 on Intel's CPUs only, and no leaf of a hypervisor. */
static const struct advice_row set_tsc_rate = {.id = "set-tsc-rate",
	.rank = RANK_UPDATE,
	.since = {5, 8},
	.text = "If the TSC's rate is known, give it to the kernel: add tsc_early_khz=RATE, in "
		"kHz, to the kernel command line.",
	.boot = "tsc_early_khz=RATE",
	.risk = "If the rate is wrong, or the guest is migrated to a host with another rate, the "
		"clock runs fast or slow."};

/* Not tsc=reliable, which also skips the tests of the CPUs' TSCs (arch/x86/kernel/tsc_sync.c). */
static const struct advice_row boot_unverified_tsc = {.id = "boot-unverified-tsc",
	.rank = RANK_UPDATE,
	.text = "If `vdsocheck warp` finds that the TSCs agree, boot with tsc=nowatchdog: the "
		"kernel then uses the TSC without the check that it cannot make here. Or give "
		"the guest a clock to check it with (HPET, ACPI PM timer, kvm-clock).",
	.remarks = {NOWATCHDOG_REMARK},
	.boot = "tsc=nowatchdog",
	.risk = "The kernel does not detect an unstable TSC."};

static const struct advice_row ask_for_tsc_rate = {.id = "ask-for-tsc-rate",
	.rank = RANK_ASK,
	.text = "Ask your provider or platform team.",
	.ask = "This guest's kernel cannot calibrate its TSC and has to use a slow clocksource. "
	       "Can it be given a timer to calibrate by (HPET, ACPI PM timer, PIT), or on Intel's "
	       "CPUs the rate in CPUID leaf 0x15? What is the rate of its TSC in kHz?"};

static const struct advice_row ask_hyperv_for_tsc = {.id = "ask-hyperv-for-tsc",
	.rank = RANK_ASK,
	.unless = has_switch,
	.text = "Ask your provider or platform team.",
	.ask = "Hyper-V does not offer this guest AccessTscInvariantControls, and the guest does "
	       "not use the reference TSC page, so every clock read is a system call. Can it "
	       "run on a host that offers one of them?"};

static const struct advice_row ask_for_invariant_tsc = {.id = "ask-for-invariant-tsc",
	.rank = RANK_ASK,
	.applies = needs_invariant_tsc,
	.text = "Do not force the TSC: the CPU does not advertise an invariant TSC to this guest. "
		"Ask your provider or platform team.",
	.ask = "Please offer this guest an invariant TSC (CPUID 0x80000007, EDX bit 8; with "
	       "QEMU: -cpu ...,+invtsc). Without it, every clock read is a system call."};

static const struct advice_row newer_kernel_for_cpu = {.id = "newer-kernel-for-cpu",
	.rank = RANK_UPDATE,
	.text = "Try a newer kernel, which may know this CPU's TSC; the kernel log since boot "
		"says more, if it is still available."};

const struct cause_row cause_tsc_rows[] = {
	{.id = "tsc-unsynchronized",
		.text = "The kernel found that the TSCs of this machine's CPUs disagree.",
		.applies = tsc_unsynchronized,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_distrust,
		.advice = {&advice_update_firmware, &advice_move, &advice_ask_about_unstable_tsc}},
	{.id = "tsc-on-hyperv",
		.text = "Hyper-V does not offer an invariant TSC to this guest, so the kernel does "
			"not use the TSC.",
		.more = HYPERV_CLOCKS,
		.applies = tsc_on_hyperv,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_distrust,
		.advice = {&advice_move, &ask_hyperv_for_tsc}},
	{.id = "tsc-uncalibrated",
		.text = "The kernel could not calibrate the TSC and does not use it.",
		.applies = tsc_uncalibrated,
		.certainty = CERTAINTY_POSSIBLE,
		.proves = is_calibration_logged,
		.evidence = cite_calibration,
		.advice = {&set_tsc_rate, &ask_for_tsc_rate}},
	{.id = "tsc-unverified",
		.text = "The kernel has no clock to verify the TSC with, and does not use it.",
		.applies = tsc_unverified,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_unverified,
		.advice = {&boot_unverified_tsc}},
	{.id = "tsc-not-invariant",
		.text = "The CPU does not advertise an invariant TSC to this machine.",
		.applies = tsc_not_invariant,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_invariance,
		.advice = {&ask_for_invariant_tsc}},
	{.id = "tsc-not-offered",
		.text = "The kernel is too old to know this CPU's invariant TSC, or rejected it in "
			"a log entry that is gone or unreadable.",
		.applies = tsc_not_offered,
		.certainty = CERTAINTY_POSSIBLE,
		.evidence = cite_invariance,
		.advice = {&newer_kernel_for_cpu}},
	{.id = "tsc-dropped",
		.text = "The kernel used tsc and dropped it since; the log entry that says why is "
			"gone or unreadable.",
		.applies = tsc_dropped,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_tsc_in_use,
		.advice = {&advice_find_which_clock, &advice_ask_which_clock}},
	{0},
};

/* ---- a better clocksource that is refused or removed ---- */

/* The last clocksource= of the command line is neither in use nor offered. */
static bool boot_clocksource_refused(const struct view *v)
{
	const struct evidence *evidence = v->evidence;
	struct span words = text_span(evidence->host.boot.value);
	char name[CLOCKSOURCE_NAME_SIZE] = "";
	struct span word;

	if (!v->unsupported || tsc_unverified(v) || !fact_is_known(&evidence->host.boot.fact) ||
		!fact_is_known(&evidence->clocksource.available_fact))
		return false;
	while (text_next_word(&words, &word)) {
		if (text_take_prefix(&word, "clocksource="))
			text_copy_span(name, sizeof(name), word);
	}
	return *name && !clocksource_is(evidence, name) && !clocksource_is_offered(evidence, name);
}

#define REFUSED "Override clocksource"

static bool is_refused_in_log(const struct view *v)
{
	return log_find(v->evidence, REFUSED);
}

static const struct advice_row reboot_for_tsc = {.id = "reboot-for-tsc",
	.rank = RANK_UNDO,
	.text = "Reboot: the kernel registers tsc again. Find what wrote to unbind_clocksource, "
		"such as a tuning script, before it does so again.",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

const struct cause_row cause_unused_rows[] = {
	{.id = "boot-clocksource-refused",
		.text = "The clocksource named on the kernel command line was refused: the kernel "
			"does not offer it.",
		.more = BOOT_PARAMETERS,
		.applies = boot_clocksource_refused,
		.certainty = CERTAINTY_LIKELY,
		.proves = is_refused_in_log,
		.evidence = cite_boot,
		.log = REFUSED},
	{.id = "tsc-unbound",
		.text = "The kernel used tsc and stopped without logging a reason: tsc was removed "
			"by a write to unbind_clocksource.",
		.applies = tsc_unbound,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_tsc_in_use,
		.advice = {&reboot_for_tsc}},
	{0},
};
