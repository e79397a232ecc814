/* SPDX-License-Identifier: MIT */
/*
 * Causes in the kernel's decision against the TSC, other than the watchdog's figures: its command
 * line, or what its log says. Only on x86, on a clocksource that is not chosen for its speed.
 */
#include "rules.h"

bool view_is_second_choice(const struct view *view)
{
	return host_is_x86(view->evidence) && view->is_plain;
}

static bool is_tsc_switched_off(const struct view *view)
{
	return view_is_second_choice(view) &&
	       (boot_has(view->evidence, "notsc") || boot_has(view->evidence, "tsc=unstable"));
}

static bool has_culprit(const struct view *view)
{
	return view->watchdog.culprit != WATCHDOG_UNDETERMINED;
}

bool view_is_tsc_early(const struct view *view)
{
	return view_is_second_choice(view) && !view_has_tsc_delay(view) && !has_culprit(view) &&
	       log_find(view->evidence, "Marking clocksource 'tsc-early");
}

static bool is_tsc_unsynchronised(const struct view *view)
{
	return view_is_second_choice(view) &&
	       (log_find(view->evidence, "TSC warp") ||
		       log_find(view->evidence, "check_tsc_sync_source failed") ||
		       log_find(view->evidence, "TSCs unsynchronized") ||
		       log_find(view->evidence, "inter CPU skew"));
}

static bool is_marked_on_hyperv(const struct view *view)
{
	return log_find(view->evidence, "running on Hyper-V");
}

/* Before dce7cd62754b, in 5.5, every guest of Hyper-V said so, whatever its host offered. */
static bool is_tsc_on_hyperv(const struct view *view)
{
	return view_is_second_choice(view) && is_marked_on_hyperv(view) &&
	       !kernel_is_before(view->evidence, 5, 5);
}

/*
 * The lines that end in doing without the TSC: a fast or PIT calibration that fails is
 * normal, and is followed by another way.
 */
static const struct kernel_log_line *calibration_line(const struct view *view)
{
	const struct kernel_log_line *line = log_find(view->evidence, "could not calculate TSC");

	return line ? line : log_find(view->evidence, "No reference (HPET/PMTIMER) available");
}

static bool is_tsc_uncalibrated(const struct view *view)
{
	return view_is_second_choice(view) && calibration_line(view) &&
	       !clocksource_is_offered(view->evidence, "tsc");
}

static void support_calibration(const struct view *view, struct cause *cause)
{
	support_add_log(cause, calibration_line(view));
}

/* Any distrust of the TSC, the watchdog's or another, that no rule above describes better. */
bool view_is_tsc_distrusted(const struct view *view)
{
	return view_is_second_choice(view) && log_find_tsc_distrust(view->evidence) &&
	       !is_tsc_switched_off(view) && !view_has_tsc_delay(view) &&
	       !view_is_tsc_early(view) && !has_culprit(view) && !is_tsc_unsynchronised(view) &&
	       !is_tsc_uncalibrated(view) && !is_marked_on_hyperv(view);
}

static void support_distrust(const struct view *view, struct cause *cause)
{
	const struct kernel_log_line *line = log_find_tsc_distrust(view->evidence);

	support_add_log(cause, line);
	support_add_log(cause, log_find_after(view->evidence, line, "Switched to clocksource"));
}

static bool is_not_invariant(const struct view *view)
{
	const struct flag_fact *invariant = &view->evidence->host.invariant_tsc;

	return fact_is_known(&invariant->fact) && !invariant->value;
}

/* The CPU's own word, where the kernel does not offer the TSC, or runs on Xen's clock. */
static bool is_tsc_not_invariant(const struct view *view)
{
	bool xen = view->falls_back && clocksource_is(view->evidence, "xen");

	return (xen || (view_is_second_choice(view) &&
			       !clocksource_is_offered(view->evidence, "tsc"))) &&
	       is_not_invariant(view) && !view_is_tsc_unbound(view);
}

static void support_invariance(const struct view *view, struct cause *cause)
{
	const struct host_evidence *host = &view->evidence->host;

	support_add(cause, "CPU: %s, TSC %s",
		fact_is_known(&host->cpu.fact) ? host->cpu.value : "not known",
		host->invariant_tsc.value ? "invariant" : "not invariant");
}

static bool is_tsc_not_offered(const struct view *view)
{
	const struct evidence *evidence = view->evidence;

	return view_is_second_choice(view) &&
	       fact_is_known(&evidence->clocksource.available_fact) &&
	       !clocksource_is_offered(evidence, "tsc") &&
	       fact_is_known(&evidence->host.invariant_tsc.fact) && !is_not_invariant(view) &&
	       !log_find_tsc_distrust(evidence) && !calibration_line(view) &&
	       !is_tsc_switched_off(view) && !view_is_tsc_unbound(view);
}

static bool is_log_denied(const struct view *view)
{
	return view_is_second_choice(view) &&
	       view->evidence->kernel_log.fact.state == FACT_DENIED &&
	       !boot_chose_current(view->evidence) && !is_tsc_switched_off(view);
}

static void support_log_denied(const struct view *view, struct cause *cause)
{
	support_add(cause, "%s", view->evidence->kernel_log.fact.reason);
}

static bool is_guest(const struct view *view)
{
	return host_is_guest(view->evidence);
}

/* For guests that have no better way, and whose TSC neither log nor command line rules out. */
static bool needs_invariant_tsc(const struct view *view)
{
	const struct evidence *evidence = view->evidence;

	return is_guest(view) && !host_may_be_restored(evidence) && !view->paravirtual &&
	       !view->tsc && !clocksource_is(evidence, "xen") && !is_marked_on_hyperv(view) &&
	       !log_find_tsc_distrust(evidence) && !is_tsc_switched_off(view);
}

static bool has_no_switch(const struct view *view)
{
	return !view->paravirtual && !view->tsc;
}

#define PARAMETERS "https://docs.kernel.org/admin-guide/kernel-parameters.html"
#define HYPERV_CLOCKS "https://docs.kernel.org/virt/hyperv/clocks.html"

static const struct advice_row read_kernel_log = {.id = "read-kernel-log",
	.effort = EFFORT_LOOK,
	.text = "Run vdsocheck as root, and on the host itself: the kernel log may say why this "
		"clocksource was chosen. So may the journal:",
	.steps = {{NULL, "sudo journalctl -k -b | grep -iE 'tsc|clocksource'"}}};

/* native_calibrate_tsc() reads leaf 0x15 on Intel's CPUs only, and no leaf of a hypervisor. */
static const struct advice_row set_tsc_rate = {.id = "set-tsc-rate",
	.effort = EFFORT_UPDATE,
	.text = "If the TSC's rate is known, give it to the kernel: add tsc_early_khz= and the rate "
		"in kHz to the kernel command line.",
	.risk = "If the rate is wrong, or the guest is migrated to a host with another, its clock "
		"runs fast or slow."};

static const struct advice_row ask_for_tsc_rate = {.id = "ask-for-tsc-rate",
	.effort = EFFORT_ASK,
	.text = "Ask your provider or platform team:",
	.ask = "This guest's kernel cannot calibrate its TSC and has to use a slow clocksource. Can "
	       "it be given a timer to calibrate by (HPET, ACPI PM timer, PIT), or on Intel's CPUs "
	       "the rate in CPUID leaf 0x15? What is the rate of its TSC in kHz?"};

static const struct advice_row ask_hyperv_for_tsc = {.id = "ask-hyperv-for-tsc",
	.effort = EFFORT_ASK,
	.applies = has_no_switch,
	.text = "Ask your provider or platform team:",
	.ask = "Hyper-V does not offer this guest AccessTscInvariantControls, and the guest does not "
	       "use the reference TSC page, so every reading of the clock is a system call. Can it "
	       "run on a host that offers one of them?"};

static const struct advice_row ask_for_invariant_tsc = {.id = "ask-for-invariant-tsc",
	.effort = EFFORT_ASK,
	.applies = needs_invariant_tsc,
	.text = "Do not force the TSC: the CPU does not advertise an invariant TSC to this guest. "
		"Ask your provider or platform team:",
	.ask = "Please offer this guest an invariant TSC (CPUID 0x80000007, EDX bit 8; with QEMU: "
	       "-cpu ...,+invtsc). Without it every reading of the clock is a system call."};

static const struct advice_row newer_kernel_for_cpu = {.id = "newer-kernel-for-cpu",
	.effort = EFFORT_UPDATE,
	.text = "Try a newer kernel, which may know this CPU's TSC; the kernel log from the boot "
		"on says more, if it is still there."};

const struct cause_row cause_selected_rows[] = {
	{.id = "boot-without-tsc",
		.text = "The TSC is disabled on the kernel command line.",
		.more = PARAMETERS,
		.applies = is_tsc_switched_off,
		.certainty = CERTAINTY_PROVEN,
		.support = support_boot,
		.advice = (const struct advice_row *const[]){&advice_drop_boot, NULL}},
	{.id = "tsc-unsynchronised",
		.text = "The kernel saw that the TSCs of this machine's CPUs disagree.",
		.applies = is_tsc_unsynchronised,
		.certainty = CERTAINTY_PROVEN,
		.support = support_distrust,
		.advice = (const struct advice_row *const[]){&advice_update_firmware, &advice_move,
			&advice_ask_about_unstable_tsc, NULL}},
	{.id = "tsc-on-hyperv",
		.text = "Hyper-V does not offer an invariant TSC to this guest, so the kernel does "
			"not use the TSC.",
		.more = HYPERV_CLOCKS,
		.applies = is_tsc_on_hyperv,
		.certainty = CERTAINTY_PROVEN,
		.support = support_distrust,
		.advice = (const struct advice_row *const[]){&advice_move, &ask_hyperv_for_tsc,
			NULL}},
	{.id = "tsc-uncalibrated",
		.text = "The kernel could not calibrate the TSC and does not use it.",
		.applies = is_tsc_uncalibrated,
		.certainty = CERTAINTY_PROVEN,
		.support = support_calibration,
		.advice =
			(const struct advice_row *const[]){&set_tsc_rate, &ask_for_tsc_rate, NULL}},
	{.id = "tsc-not-invariant",
		.text = "The CPU does not advertise an invariant TSC to this machine.",
		.applies = is_tsc_not_invariant,
		.certainty = CERTAINTY_LIKELY,
		.support = support_invariance,
		.advice = (const struct advice_row *const[]){&ask_for_invariant_tsc, NULL}},
	{.id = "tsc-not-offered",
		.text = "The CPU advertises an invariant TSC, but the kernel does not offer it: it "
			"is too old for this CPU, or it rejected the TSC and the log entry is gone "
			"or unreadable.",
		.applies = is_tsc_not_offered,
		.certainty = CERTAINTY_POSSIBLE,
		.support = support_invariance,
		.advice = (const struct advice_row *const[]){&newer_kernel_for_cpu, NULL}},
	{.id = "kernel-log-denied",
		.text = "This user may not read the kernel log, which would say why this "
			"clocksource was chosen.",
		.applies = is_log_denied,
		.certainty = CERTAINTY_PROVEN,
		.support = support_log_denied,
		.advice = (const struct advice_row *const[]){&read_kernel_log, NULL}},
	{0},
};
