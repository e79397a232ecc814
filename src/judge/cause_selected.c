/* SPDX-License-Identifier: MIT */
/*
 * Causes in what led the kernel to a slow clocksource, other than its watchdog's figures: why it
 * does not use the TSC or kvm-clock, by its command line or its log, and, in a table of their own,
 * what has become of a clocksource that was better. Most are asked for on x86 alone, on a
 * clocksource that is not chosen for its speed.
 */
#include "rules.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Before dce7cd62754b, in 5.5, every guest of Hyper-V said so, whatever its host offered. */
static bool is_tsc_on_hyperv(const struct view *view)
{
	return !kernel_is_before(view->evidence, 5, 5);
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
static bool is_tsc_uncalibrated(const struct view *view)
{
	const struct evidence *evidence = view->evidence;

	return view->holds & TSC_UNCALIBRATED ||
	       (is_on_jiffies(evidence) && !(view->holds & (NO_TSC_AT_BOOT | TSC_DISTRUSTED)) &&
		       fact_is_known(&evidence->clocksource.available_fact) &&
		       !clocksource_is_offered(evidence, "tsc") &&
		       !log_find(evidence, "clocksource tsc") &&
		       !fact_is_flag(&evidence->host.invariant_tsc, false));
}

static bool is_calibration_logged(const struct view *view)
{
	return view->holds & TSC_UNCALIBRATED;
}

static void support_calibration(const struct view *view, struct cause *cause)
{
	support_add_log(cause, log_find_tsc_uncalibrated(view->evidence));
	if (!is_calibration_logged(view))
		support_available(view, cause);
}

/* The kernel waits for its watchdog, which has no clock to compare with but jiffies. */
static const struct kernel_log_line *find_unverified(const struct evidence *evidence)
{
	const struct kernel_log_line *line = log_find(evidence, "Override clocksource tsc");

	return line && strstr(line->text, "not currently HRT compatible") ? line : NULL;
}

static bool is_tsc_unverified(const struct view *view)
{
	return is_on_jiffies(view->evidence) && find_unverified(view->evidence) &&
	       !clocksource_is_offered(view->evidence, "tsc");
}

static void support_unverified(const struct view *view, struct cause *cause)
{
	support_add_log(cause, find_unverified(view->evidence));
	support_available(view, cause);
}

/*
 * The kernel selects the first clocksource of its list unless an order names another: clocksource=
 * at boot, or a write to sysfs (__clocksource_select(), 3.10 to 7.2).
 */
static bool is_clocksource_written(const struct view *view)
{
	const struct evidence *evidence = view->evidence;
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	return clocksource_is_offered(evidence, clocksource->current) &&
	       vclock_name_has_mode(clocksource->available[0]) && !*clocksource->changed_to &&
	       !counts_are_mixed(evidence) && fact_is_known(&evidence->host.boot.fact) &&
	       !boot_chose_current(evidence) && !boot_has(evidence, "clock=pmtmr");
}

static void write_written(const struct view *view, char text[CAUSE_TEXT_SIZE])
{
	snprintf(text, CAUSE_TEXT_SIZE,
		"The kernel did not select %s, which the vDSO does not support: its name was "
		"written to current_clocksource.",
		view->evidence->clocksource.current);
}

static void support_written(const struct view *view, struct cause *cause)
{
	support_available(view, cause);
	support_add_log(cause, log_find_last_switch(view->evidence));
}

/* kvmclock_init(), the Xen HVM, Hyper-V and VMware platforms: detect_hypervisor_vendor() (5.3). */
static bool is_paravirtual_off(const struct view *view)
{
	const struct evidence *evidence = view->evidence;
	bool xen = fact_is_text(&evidence->host.hypervisor, "xen");

	return (boot_has(evidence, "nopv") || (xen && boot_has(evidence, "xen_nopv"))) &&
	       (xen || fact_is_text(&evidence->host.hypervisor, "microsoft") ||
		       fact_is_flag(&evidence->host.kvm_clock_offered, true));
}

static void support_distrust(const struct view *view, struct cause *cause)
{
	const struct kernel_log_line *line = log_find_tsc_distrust(view->evidence);

	support_add_log(cause, line);
	support_add_log(cause, log_find_after(view->evidence, line, "Switched to clocksource"));
}

/* The CPU's own word, where the kernel does not offer the TSC, or runs on Xen's clock. */
static bool is_tsc_not_invariant(const struct view *view)
{
	const struct evidence *evidence = view->evidence;
	bool xen = view->holds & FALLS_BACK && view->holds & ON_XEN;

	return fact_is_flag(&evidence->host.invariant_tsc, false) &&
	       (xen || (view->holds & SECOND_CHOICE && !clocksource_is_offered(evidence, "tsc")));
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

	return fact_is_known(&evidence->clocksource.available_fact) &&
	       !clocksource_is_offered(evidence, "tsc") && !log_find_tsc_in_use(evidence) &&
	       !is_tsc_uncalibrated(view) && !is_tsc_unverified(view) &&
	       fact_is_flag(&evidence->host.invariant_tsc, true);
}

static void support_tsc_in_use(const struct view *view, struct cause *cause)
{
	const struct kernel_log_line *line = log_find_tsc_in_use(view->evidence);

	support_add_log(cause, line);
	support_add_log(cause, log_find_after(view->evidence, line, "Switched to clocksource"));
}

/* A TSC that was in use shows that this kernel knows it. */
static bool is_tsc_dropped(const struct view *view)
{
	const struct evidence *evidence = view->evidence;

	return fact_is_known(&evidence->clocksource.available_fact) &&
	       !clocksource_is_offered(evidence, "tsc") && log_find_tsc_in_use(evidence) &&
	       !log_is_whole(evidence);
}

static bool is_kvm_clock_disabled(const struct view *view)
{
	return boot_has(view->evidence, "no-kvmclock");
}

/* A kernel that logged its use was built with it, whatever has become of it since. */
static bool is_kvm_clock_unused(const struct view *view)
{
	const struct evidence *evidence = view->evidence;

	return fact_is_flag(&evidence->host.kvm_clock_offered, true) &&
	       fact_is_known(&evidence->clocksource.available_fact) &&
	       !clocksource_is_offered(evidence, "kvm-clock") && !is_kvm_clock_disabled(view) &&
	       !is_paravirtual_off(view) && !log_find(evidence, "kvm-clock: Using");
}

/*
 * The log's beginning may be overwritten, and with it the line that it was in use. A timer is
 * calibrated, or a clocksource selected, within the first second.
 */
static bool is_kvm_clock_not_built(const struct view *view)
{
	const struct kernel_log_evidence *log = &view->evidence->kernel_log;

	return is_kvm_clock_unused(view) && log->count > 0 && log->lines[0].seconds >= 0 &&
	       log->lines[0].seconds < 1;
}

static bool is_kvm_clock_missing(const struct view *view)
{
	return is_kvm_clock_unused(view) && !is_kvm_clock_not_built(view);
}

static void support_kvm_clock(const struct view *view, struct cause *cause)
{
	support_add(cause, "CPUID: the hypervisor offers kvm-clock");
	support_kernel(view, cause);
}

/* On a running host the copy made at boot is read only where the kernel refuses its log. */
static bool is_log_at_boot(const struct kernel_log_evidence *log)
{
	return fact_is_known(&log->fact) && strcmp(log->source, KERNEL_LOG_AT_BOOT) == 0;
}

static bool is_log_denied(const struct view *view)
{
	const struct kernel_log_evidence *log = &view->evidence->kernel_log;

	return (log->fact.state == FACT_DENIED || (view->evidence->live && is_log_at_boot(log))) &&
	       !boot_chose_current(view->evidence) && !log_find_tsc_distrust(view->evidence);
}

static void support_log_denied(const struct view *view, struct cause *cause)
{
	const struct kernel_log_evidence *log = &view->evidence->kernel_log;

	if (is_log_at_boot(log))
		support_add(cause, "%s was read instead: it ends when the system has booted",
			log->source);
	else
		support_add(cause, "%s", log->fact.reason);
}

static bool has_no_switch(const struct view *view)
{
	return !view->paravirtual && !view->tsc;
}

/* For guests that have no better way. */
static bool needs_invariant_tsc(const struct view *view)
{
	return has_no_switch(view) && !host_may_be_restored(view->evidence);
}

static const struct advice_row read_kernel_log = {.id = "read-kernel-log",
	.effort = EFFORT_LOOK,
	.on_host = true,
	.text = "Run vdsocheck as root: the kernel log may say why this clocksource was chosen, "
		"and so may the journal.",
	.steps = {{.command = "sudo vdsocheck"},
		{.command = "sudo journalctl -k -b | grep -iE 'tsc|clocksource'"}}};

/* native_calibrate_tsc() reads leaf 0x15 on Intel's CPUs only, and no leaf of a hypervisor. */
static const struct advice_row set_tsc_rate = {.id = "set-tsc-rate",
	.effort = EFFORT_UPDATE,
	.since = {5, 8},
	.text = "If the TSC's rate is known, give it to the kernel: add tsc_early_khz=RATE, in "
		"kHz, to the kernel command line.",
	.boot = "tsc_early_khz=RATE",
	.risk = "If the rate is wrong, or the guest is migrated to a host with another rate, the "
		"clock runs fast or slow."};

/* Not tsc=reliable, which also skips the tests of the CPUs' TSCs (arch/x86/kernel/tsc_sync.c). */
static const struct advice_row boot_unverified_tsc = {.id = "boot-unverified-tsc",
	.effort = EFFORT_UPDATE,
	.text = "If `vdsocheck warp` finds that the TSCs agree, boot with tsc=nowatchdog: the "
		"kernel then uses the TSC without the check that it cannot make here. Or give "
		"the guest a clock to check it with (HPET, ACPI PM timer, kvm-clock).",
	.remarks = {{5, 2, NULL, "tsc=nowatchdog needs Linux 5.2 or newer, or a backport."}},
	.boot = "tsc=nowatchdog",
	.risk = "The kernel does not detect an unstable TSC."};

static const struct advice_row find_clocksource_writer = {.id = "find-clocksource-writer",
	.effort = EFFORT_LOOK,
	.on_host = true,
	.text = "Find what writes to current_clocksource, such as tuned, systemd-tmpfiles or a "
		"tuning script: it will do so again at the next boot.",
	.steps = {{.command =
			   "sudo grep -rIls current_clocksource /etc /usr/local /usr/lib/tmpfiles.d "
			   "/usr/lib/tuned"}}};

static const struct advice_row ask_for_tsc_rate = {.id = "ask-for-tsc-rate",
	.effort = EFFORT_ASK,
	.text = "Ask your provider or platform team.",
	.ask = "This guest's kernel cannot calibrate its TSC and has to use a slow clocksource. "
	       "Can it be given a timer to calibrate by (HPET, ACPI PM timer, PIT), or on Intel's "
	       "CPUs the rate in CPUID leaf 0x15? What is the rate of its TSC in kHz?"};

static const struct advice_row ask_hyperv_for_tsc = {.id = "ask-hyperv-for-tsc",
	.effort = EFFORT_ASK,
	.when = {.applies = has_no_switch},
	.text = "Ask your provider or platform team.",
	.ask = "Hyper-V does not offer this guest AccessTscInvariantControls, and the guest does "
	       "not use the reference TSC page, so every clock read is a system call. Can it "
	       "run on a host that offers one of them?"};

static const struct advice_row ask_for_invariant_tsc = {.id = "ask-for-invariant-tsc",
	.effort = EFFORT_ASK,
	.when = {.needs = GUEST,
		.unless = ON_XEN | NO_TSC_AT_BOOT | TSC_DISTRUSTED | TSC_ON_HYPERV,
		.applies = needs_invariant_tsc},
	.text = "Do not force the TSC: the CPU does not advertise an invariant TSC to this guest. "
		"Ask your provider or platform team.",
	.ask = "Please offer this guest an invariant TSC (CPUID 0x80000007, EDX bit 8; with "
	       "QEMU: -cpu ...,+invtsc). Without it, every clock read is a system call."};

static const struct advice_row newer_kernel_for_cpu = {.id = "newer-kernel-for-cpu",
	.effort = EFFORT_UPDATE,
	.text = "Try a newer kernel, which may know this CPU's TSC; the kernel log since boot "
		"says more, if it is still available."};

static const struct advice_row kernel_with_kvm_guest = {.id = "kernel-with-kvm-guest",
	.effort = EFFORT_UPDATE,
	.text = "Use a kernel that was built with CONFIG_KVM_GUEST (and CONFIG_PARAVIRT): its vDSO "
		"can read kvm-clock, which the hypervisor offers."};

static const struct advice_row reboot_for_kvm_clock = {.id = "reboot-for-kvm-clock",
	.effort = EFFORT_UNDO,
	.text = "Reboot: the kernel registers kvm-clock again. If it does not, use a kernel that "
		"was built with CONFIG_KVM_GUEST (and CONFIG_PARAVIRT).",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

const struct cause_row cause_selected_rows[] = {
	{.id = "tsc-disabled-at-boot",
		.text = "The TSC is disabled on the kernel command line.",
		.more = BOOT_PARAMETERS,
		.when = {.needs = SECOND_CHOICE | NO_TSC_AT_BOOT},
		.certainty = CERTAINTY_PROVEN,
		.support = support_boot,
		.advice = {&advice_drop_tsc_boot, &advice_drop_boot}},
	{.id = "clocksource-written",
		.write = write_written,
		.when = {.needs = PLAIN,
			.unless = TSC_DISTRUSTED,
			.applies = is_clocksource_written},
		.certainty = CERTAINTY_PROVEN,
		.support = support_written,
		.advice = {&find_clocksource_writer}},
	{.id = "paravirtual-clock-disabled",
		.text = "The kernel command line (nopv) keeps the kernel from using its "
			"hypervisor's clock.",
		.more = BOOT_PARAMETERS,
		.when = {.needs = SECOND_CHOICE | GUEST, .applies = is_paravirtual_off},
		.certainty = CERTAINTY_PROVEN,
		.support = support_boot,
		.advice = {&advice_drop_tsc_boot, &advice_drop_boot}},
	{.id = "kvm-clock-disabled",
		.text = "kvm-clock is disabled on the kernel command line.",
		.when = {.needs = SECOND_CHOICE | GUEST, .applies = is_kvm_clock_disabled},
		.certainty = CERTAINTY_PROVEN,
		.support = support_boot,
		.advice = {&advice_drop_tsc_boot, &advice_drop_boot}},
	{.id = "kvm-clock-unused",
		.text = "The hypervisor offers kvm-clock, but this kernel does not use it: it was "
			"built without CONFIG_KVM_GUEST.",
		.when = {.needs = SECOND_CHOICE, .applies = is_kvm_clock_not_built},
		.certainty = CERTAINTY_LIKELY,
		.support = support_kvm_clock,
		.advice = {&kernel_with_kvm_guest}},
	{.id = "kvm-clock-missing",
		.text = "This kernel was built without CONFIG_KVM_GUEST and cannot use the "
			"kvm-clock that the hypervisor offers, or kvm-clock was removed by a write "
			"to unbind_clocksource.",
		.when = {.needs = SECOND_CHOICE, .applies = is_kvm_clock_missing},
		.certainty = CERTAINTY_POSSIBLE,
		.support = support_kvm_clock,
		.advice = {&reboot_for_kvm_clock}},
	{.id = "tsc-unsynchronized",
		.text = "The kernel found that the TSCs of this machine's CPUs disagree.",
		.when = {.needs = SECOND_CHOICE | TSC_UNSYNCHRONISED},
		.certainty = CERTAINTY_PROVEN,
		.support = support_distrust,
		.advice = {&advice_update_firmware, &advice_move, &advice_ask_about_unstable_tsc}},
	{.id = "tsc-on-hyperv",
		.text = "Hyper-V does not offer an invariant TSC to this guest, so the kernel does "
			"not use the TSC.",
		.more = HYPERV_CLOCKS,
		.when = {.needs = SECOND_CHOICE | TSC_ON_HYPERV, .applies = is_tsc_on_hyperv},
		.certainty = CERTAINTY_PROVEN,
		.support = support_distrust,
		.advice = {&advice_move, &ask_hyperv_for_tsc}},
	{.id = "tsc-uncalibrated",
		.text = "The kernel could not calibrate the TSC and does not use it.",
		.when = {.needs = SECOND_CHOICE, .applies = is_tsc_uncalibrated},
		.certainty = CERTAINTY_POSSIBLE,
		.proves = is_calibration_logged,
		.support = support_calibration,
		.advice = {&set_tsc_rate, &ask_for_tsc_rate}},
	{.id = "tsc-unverified",
		.text = "The kernel has no clock to verify the TSC with, and does not use it.",
		.when = {.needs = SECOND_CHOICE,
			.unless = NO_TSC_AT_BOOT | TSC_DISTRUSTED,
			.applies = is_tsc_unverified},
		.certainty = CERTAINTY_LIKELY,
		.support = support_unverified,
		.advice = {&boot_unverified_tsc}},
	{.id = "tsc-not-invariant",
		.text = "The CPU does not advertise an invariant TSC to this machine.",
		.when = {.unless = TSC_UNBOUND, .applies = is_tsc_not_invariant},
		.certainty = CERTAINTY_LIKELY,
		.support = support_invariance,
		.advice = {&ask_for_invariant_tsc}},
	{.id = "tsc-not-offered",
		.text = "The kernel is too old to know this CPU's invariant TSC, or rejected it in "
			"a log entry that is gone or unreadable.",
		.when = {.needs = SECOND_CHOICE,
			.unless = NO_TSC_AT_BOOT | TSC_DISTRUSTED | TSC_UNCALIBRATED,
			.applies = is_tsc_not_offered},
		.certainty = CERTAINTY_POSSIBLE,
		.support = support_invariance,
		.advice = {&newer_kernel_for_cpu}},
	{.id = "tsc-dropped",
		.text = "The kernel used tsc and dropped it since; the log entry that says why is "
			"gone or unreadable.",
		.when = {.needs = SECOND_CHOICE,
			.unless = NO_TSC_AT_BOOT | TSC_DISTRUSTED | TSC_DELAYED,
			.applies = is_tsc_dropped},
		.certainty = CERTAINTY_LIKELY,
		.support = support_tsc_in_use,
		.advice = {&advice_find_which_clock, &advice_ask_which_clock}},
	{0},
};

/* An unreadable log is not a cause; it comes last. */
const struct cause_row cause_unread_rows[] = {
	{.id = "kernel-log-denied",
		.text = "This user may not read the kernel log, which would say why this "
			"clocksource was chosen.",
		.when = {.needs = SECOND_CHOICE,
			.unless = NO_TSC_AT_BOOT | TSC_DELAYED | TSC_UNCALIBRATED,
			.applies = is_log_denied},
		.certainty = CERTAINTY_PROVEN,
		.support = support_log_denied,
		.advice = {&read_kernel_log}},
	{0},
};

/* ---- a better clocksource that is refused or removed ---- */

/* The last clocksource= of the command line that is not in use and not offered; "" if none. */
static void find_refused(const struct evidence *evidence, char name[CLOCKSOURCE_NAME_SIZE])
{
	struct span words = text_span(evidence->host.boot.value);
	struct span word;

	name[0] = '\0';
	if (!fact_is_known(&evidence->host.boot.fact) ||
		!fact_is_known(&evidence->clocksource.available_fact))
		return;
	while (text_next_word(&words, &word)) {
		if (text_take_prefix(&word, "clocksource="))
			text_copy_span(name, CLOCKSOURCE_NAME_SIZE, word);
	}
	if (clocksource_is(evidence, name) || clocksource_is_offered(evidence, name))
		name[0] = '\0';
}

static bool is_boot_refused(const struct view *view)
{
	char name[CLOCKSOURCE_NAME_SIZE];

	find_refused(view->evidence, name);
	return *name && !is_tsc_unverified(view);
}

static bool is_refused_in_log(const struct view *view)
{
	return log_find(view->evidence, "Override clocksource");
}

static void support_refused(const struct view *view, struct cause *cause)
{
	support_boot(view, cause);
	support_add_log(cause, log_find(view->evidence, "Override clocksource"));
}

static const struct advice_row reboot_for_tsc = {.id = "reboot-for-tsc",
	.effort = EFFORT_UNDO,
	.text = "Reboot: the kernel registers tsc again. Find what wrote to unbind_clocksource, "
		"such as a tuning script, before it does so again.",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

const struct cause_row cause_unused_rows[] = {
	{.id = "boot-clocksource-refused",
		.text = "The clocksource named on the kernel command line was refused: the kernel "
			"does not offer it.",
		.more = BOOT_PARAMETERS,
		.when = {.needs = PLAIN, .applies = is_boot_refused},
		.certainty = CERTAINTY_LIKELY,
		.proves = is_refused_in_log,
		.support = support_refused},
	{.id = "tsc-unbound",
		.text = "The kernel used tsc and stopped without logging a reason: tsc was removed "
			"by a write to unbind_clocksource.",
		.when = {.needs = TSC_UNBOUND},
		.certainty = CERTAINTY_LIKELY,
		.support = support_tsc_in_use,
		.advice = {&reboot_for_tsc}},
	{0},
};
