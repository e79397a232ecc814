/* SPDX-License-Identifier: MIT */
/*
 * Causes in what led the kernel to a slow clocksource: its command line, a write to sysfs, or a
 * kernel that does not use kvm-clock. Why it does not use the TSC has a file of its own.
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

static const struct advice_row read_kernel_log = {.id = "read-kernel-log",
	.rank = RANK_LOOK,
	.on_host = true,
	.text = "Run vdsocheck as root: the kernel log may say why this clocksource was chosen, "
		"and so may the journal.",
	.steps = {{.command = "sudo vdsocheck"},
		{.command = "sudo journalctl -k -b | grep -iE 'tsc|clocksource'"}}};

static const struct advice_row find_clocksource_writer = {.id = "find-clocksource-writer",
	.rank = RANK_LOOK,
	.on_host = true,
	.text = "Find what writes to current_clocksource, such as tuned, systemd-tmpfiles or a "
		"tuning script: it will do so again at the next boot.",
	.steps = {{.command =
			   "sudo grep -rIls current_clocksource /etc /usr/local /usr/lib/tmpfiles.d "
			   "/usr/lib/tuned"}}};

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
