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

static bool tsc_disabled_at_boot(const struct view *v)
{
	return v->second_choice && v->boot_disables_tsc;
}

/*
 * The kernel selects the first clocksource of its list unless an order names another: clocksource=
 * at boot, or a write to sysfs (__clocksource_select(), 3.10 to 7.2).
 */
static bool clocksource_written(const struct view *v)
{
	const struct evidence *evidence = v->evidence;
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	return v->unsupported && !v->tsc_distrusted &&
	       clocksource_is_offered(evidence, clocksource->current) &&
	       vclock_name_has_mode(clocksource->available[0]) && !*clocksource->changed_to &&
	       !v->mixed && fact_is_known(&evidence->host.boot.fact) && !v->boot_chose_current &&
	       !boot_has(evidence, "clock=pmtmr");
}

static void write_written(const struct view *v, char text[CAUSE_TEXT_SIZE])
{
	snprintf(text, CAUSE_TEXT_SIZE,
		"The kernel did not select %s, which the vDSO does not support: its name was "
		"written to current_clocksource.",
		v->evidence->clocksource.current);
}

/* The last switch of the log, if it was to the current clocksource. */
static void cite_written(const struct view *v, struct cause *cause)
{
	static const char text[] = "Switched to clocksource ";
	const struct kernel_log_line *last = NULL;

	cite_available(v, cause);
	for (const struct kernel_log_line *line = log_find(v->evidence, text); line;
		line = log_find_after(v->evidence, line, text))
		last = line;
	if (last && strcmp(strstr(last->text, text) + strlen(text),
			    v->evidence->clocksource.current) == 0)
		cite_line(cause, last);
}

/* kvmclock_init(), the Xen HVM, Hyper-V and VMware platforms: detect_hypervisor_vendor() (5.3). */
static bool is_paravirtual_off(const struct view *v)
{
	const struct evidence *evidence = v->evidence;
	bool xen = hypervisor_is(evidence, "xen");

	return (boot_has(evidence, "nopv") || (xen && boot_has(evidence, "xen_nopv"))) &&
	       (xen || hypervisor_is(evidence, "microsoft") ||
		       fact_is_flag(&evidence->host.kvm_clock_offered, true));
}

static bool paravirtual_clock_disabled(const struct view *v)
{
	return v->second_choice && v->guest && is_paravirtual_off(v);
}

static bool kvm_clock_disabled(const struct view *v)
{
	return v->second_choice && v->guest && boot_has(v->evidence, "no-kvmclock");
}

/* A kernel that logged its use was built with it, whatever has become of it since. */
static bool is_kvm_clock_unused(const struct view *v)
{
	const struct evidence *evidence = v->evidence;

	return v->second_choice && fact_is_flag(&evidence->host.kvm_clock_offered, true) &&
	       fact_is_known(&evidence->clocksource.available_fact) &&
	       !clocksource_is_offered(evidence, "kvm-clock") &&
	       !boot_has(evidence, "no-kvmclock") && !is_paravirtual_off(v) &&
	       !log_find(evidence, "kvm-clock: Using");
}

/*
 * The log's beginning may be overwritten, and with it the line that it was in use. A timer is
 * calibrated, or a clocksource selected, within the first second.
 */
static bool kvm_clock_unused(const struct view *v)
{
	const struct kernel_log_evidence *log = &v->evidence->kernel_log;

	return is_kvm_clock_unused(v) && log->count > 0 && log->lines[0].seconds >= 0 &&
	       log->lines[0].seconds < 1;
}

static bool kvm_clock_missing(const struct view *v)
{
	return is_kvm_clock_unused(v) && !kvm_clock_unused(v);
}

static void cite_kvm_clock(const struct view *v, struct cause *cause)
{
	cite(cause, "CPUID: the hypervisor offers kvm-clock");
	cite_kernel(v, cause);
}

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

/* The CPU's own word, where the kernel does not offer the TSC, or runs on Xen's clock. */
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

/* On a running host the copy made at boot is read only where the kernel refuses its log. */
static bool is_log_at_boot(const struct kernel_log_evidence *log)
{
	return fact_is_known(&log->fact) && strcmp(log->source, KERNEL_LOG_AT_BOOT) == 0;
}

static bool kernel_log_denied(const struct view *v)
{
	const struct kernel_log_evidence *log = &v->evidence->kernel_log;

	return v->second_choice && !v->boot_disables_tsc && !v->boot_chose_current &&
	       !v->tsc_distrust && !v->tsc_delay && !v->tsc_uncalibrated &&
	       (log->fact.state == FACT_DENIED || (v->evidence->live && is_log_at_boot(log)));
}

static void cite_log_denied(const struct view *v, struct cause *cause)
{
	const struct kernel_log_evidence *log = &v->evidence->kernel_log;

	if (is_log_at_boot(log))
		cite(cause, "%s was read instead: it ends when the system has booted", log->source);
	else
		cite(cause, "%s", log->fact.reason);
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

static const struct advice_row read_kernel_log = {.id = "read-kernel-log",
	.rank = RANK_LOOK,
	.on_host = true,
	.text = "Run vdsocheck as root: the kernel log may say why this clocksource was chosen, "
		"and so may the journal.",
	.steps = {{.command = "sudo vdsocheck"},
		{.command = "sudo journalctl -k -b | grep -iE 'tsc|clocksource'"}}};

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
	.remarks = {{5, 2, NULL, "tsc=nowatchdog needs Linux 5.2 or newer, or a backport."}},
	.boot = "tsc=nowatchdog",
	.risk = "The kernel does not detect an unstable TSC."};

static const struct advice_row find_clocksource_writer = {.id = "find-clocksource-writer",
	.rank = RANK_LOOK,
	.on_host = true,
	.text = "Find what writes to current_clocksource, such as tuned, systemd-tmpfiles or a "
		"tuning script: it will do so again at the next boot.",
	.steps = {{.command =
			   "sudo grep -rIls current_clocksource /etc /usr/local /usr/lib/tmpfiles.d "
			   "/usr/lib/tuned"}}};

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

static const struct advice_row kernel_with_kvm_guest = {.id = "kernel-with-kvm-guest",
	.rank = RANK_UPDATE,
	.text = "Use a kernel that was built with CONFIG_KVM_GUEST (and CONFIG_PARAVIRT): its vDSO "
		"can read kvm-clock, which the hypervisor offers."};

static const struct advice_row reboot_for_kvm_clock = {.id = "reboot-for-kvm-clock",
	.rank = RANK_UNDO,
	.text = "Reboot: the kernel registers kvm-clock again. If it does not, use a kernel that "
		"was built with CONFIG_KVM_GUEST (and CONFIG_PARAVIRT).",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

const struct cause_row cause_selected_rows[] = {
	{.id = "tsc-disabled-at-boot",
		.text = "The TSC is disabled on the kernel command line.",
		.more = BOOT_PARAMETERS,
		.applies = tsc_disabled_at_boot,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_boot,
		.advice = {&advice_drop_tsc_boot, &advice_drop_boot}},
	{.id = "clocksource-written",
		.write = write_written,
		.applies = clocksource_written,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_written,
		.advice = {&find_clocksource_writer}},
	{.id = "paravirtual-clock-disabled",
		.text = "The kernel command line (nopv) keeps the kernel from using its "
			"hypervisor's clock.",
		.more = BOOT_PARAMETERS,
		.applies = paravirtual_clock_disabled,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_boot,
		.advice = {&advice_drop_tsc_boot, &advice_drop_boot}},
	{.id = "kvm-clock-disabled",
		.text = "kvm-clock is disabled on the kernel command line.",
		.applies = kvm_clock_disabled,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_boot,
		.advice = {&advice_drop_tsc_boot, &advice_drop_boot}},
	{.id = "kvm-clock-unused",
		.text = "The hypervisor offers kvm-clock, but this kernel does not use it: it was "
			"built without CONFIG_KVM_GUEST.",
		.applies = kvm_clock_unused,
		.certainty = CERTAINTY_LIKELY,
		.evidence = cite_kvm_clock,
		.advice = {&kernel_with_kvm_guest}},
	{.id = "kvm-clock-missing",
		.text = "This kernel was built without CONFIG_KVM_GUEST and cannot use the "
			"kvm-clock that the hypervisor offers, or kvm-clock was removed by a write "
			"to unbind_clocksource.",
		.applies = kvm_clock_missing,
		.certainty = CERTAINTY_POSSIBLE,
		.evidence = cite_kvm_clock,
		.advice = {&reboot_for_kvm_clock}},
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

/* An unreadable log is not a cause; it comes last. */
const struct cause_row cause_unread_rows[] = {
	{.id = "kernel-log-denied",
		.text = "This user may not read the kernel log, which would say why this "
			"clocksource was chosen.",
		.applies = kernel_log_denied,
		.certainty = CERTAINTY_PROVEN,
		.evidence = cite_log_denied,
		.advice = {&read_kernel_log}},
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
