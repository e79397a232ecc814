/* SPDX-License-Identifier: MIT */
/*
 * Causes in what led the kernel to a slow clocksource: its command line, a write to sysfs, or a
 * kernel that does not use kvm-clock. Why it does not use the TSC has a file of its own.
 */
#include "rules.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* Returns the last switch of the log if it was to the current clocksource, or NULL. */
static const struct kernel_log_line *find_written(const struct evidence *evidence)
{
	const struct kernel_log_line *last = NULL;

	for (const struct kernel_log_line *line = log_find_switch(evidence, NULL); line;
		line = log_find_switch(evidence, line))
		last = line;
	return last && strcmp(log_switched_to(last), evidence->clocksource.current) == 0 ? last
	                                                                                 : NULL;
}

static void cite_kvm_clock(const struct view *v, struct cause *cause)
{
	cite(cause, "CPUID: the hypervisor offers kvm-clock");
	cite_kernel(v, cause);
}

static void cite_flags(const struct view *v, struct cause *cause)
{
	cite(cause, "flags of the TSC in /proc/cpuinfo: %s", v->evidence->host.tsc_flags.value);
}

/* On a running host the copy made at boot is read only where the kernel refuses its log. */
static bool is_log_at_boot(const struct kernel_log_evidence *log)
{
	return fact_is_known(&log->fact) && strcmp(log->source, KERNEL_LOG_AT_BOOT) == 0;
}

static void cite_log_denied(const struct view *v, struct cause *cause)
{
	const struct kernel_log_evidence *log = &v->evidence->kernel_log;

	if (is_log_at_boot(log))
		cite(cause, "%s was read instead: it ends when the system has booted", log->source);
	else
		cite(cause, "%s", log->fact.reason);
}

static const struct advice_row read_kernel_log = {"read-kernel-log", RANK_LOOK,
	.text = "Run vdsocheck as root: the kernel log may say why this clocksource was chosen, "
		"and so may the journal.",
	.on_host = true,
	.steps = {{.command = "sudo vdsocheck"},
		{.command = "sudo journalctl -k -b | grep -iE 'tsc|clocksource'"}}};

static const struct advice_row save_kernel_log = {"save-kernel-log", RANK_LOOK,
	.text = "Save the kernel log as dmesg(1) prints it, and run vdsocheck on that: the log may "
		"say why this clocksource was chosen."};

static const struct advice_row find_clocksource_writer = {"find-clocksource-writer", RANK_LOOK,
	.text = "Find what writes to current_clocksource, such as tuned, systemd-tmpfiles or a "
		"tuning script: it will do so again at the next boot.",
	.on_host = true,
	.steps = {{.command = "sudo grep -rIls current_clocksource /etc /usr/local "
			      "/usr/lib/tmpfiles.d /usr/lib/tuned"}}};

static const struct advice_row kernel_with_kvm_guest = {"kernel-with-kvm-guest", RANK_UPDATE,
	.text = "Use a kernel that was built with CONFIG_KVM_GUEST (and CONFIG_PARAVIRT): its vDSO "
		"can read kvm-clock, which the hypervisor offers."};

static const struct advice_row reboot_for_kvm_clock = {"reboot-for-kvm-clock", RANK_UNDO,
	.text = "Reboot: the kernel registers kvm-clock again. If it does not, use a kernel that "
		"was built with CONFIG_KVM_GUEST (and CONFIG_PARAVIRT).",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

static const struct advice_row kernel_with_hyperv = {"kernel-with-hyperv", RANK_UPDATE,
	.text = "Use a kernel that was built with CONFIG_HYPERV=y or =m: its vDSO can read Hyper-V's "
		"reference TSC page. Moving the guest to another host does not help."};

static const struct advice_row kernel_with_xen = {"kernel-with-xen", RANK_UPDATE,
	.text = "Use a kernel that was built with CONFIG_XEN and CONFIG_XEN_PVHVM: it can use Xen's "
		"clock, which the vDSO can read where Xen marks the TSC stable."};

static const struct advice_row kernel_with_vmware = {"kernel-with-vmware", RANK_UPDATE,
	.text = "Use a kernel that was built with CONFIG_HYPERVISOR_GUEST: it takes the TSC's rate "
		"from VMware, and does not have the TSC checked by slower clocks."};

static const struct advice_row reboot_for_paravirtual = {"reboot-for-paravirtual", RANK_UNDO,
	.text = "Reboot: the kernel registers the hypervisor's clock again. Find what wrote to "
		"unbind_clocksource, such as a tuning script, before it does so again.",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

void cause_selected(const struct view *v, struct cause_list *list)
{
	const struct evidence *evidence = v->evidence;
	const struct clocksource_evidence *clocksource = &evidence->clocksource;
	const struct kernel_log_evidence *log = &evidence->kernel_log;
	/*
	 * The kernel selects the first clocksource of its list unless an order names another:
	 * clocksource= at boot, or a write to sysfs (__clocksource_select(), 3.10 to 7.2).
	 */
	bool is_written = v->unsupported && !v->tsc_distrusted &&
	                  clocksource_is_offered(evidence, clocksource->current) &&
	                  vclock_name_has_mode(clocksource->available[0]) &&
	                  !*clocksource->changed_to && !v->decided.mixed &&
	                  fact_is_known(&evidence->host.boot.fact) && !v->boot_chose_current &&
	                  !boot_has(evidence, "clock=pmtmr");
	bool on_xen = hypervisor_is(evidence, "xen");
	bool has_kvm_clock = fact_is_flag(&evidence->host.kvm_clock_offered, true);
	/* With nopv, of 5.3, detect_hypervisor_vendor() skips KVM, Xen HVM, Hyper-V and VMware. */
	bool is_paravirtual_off =
		(boot_has(evidence, "nopv") || (on_xen && boot_has(evidence, "xen_nopv"))) &&
		(on_xen || hypervisor_is(evidence, "microsoft") || has_kvm_clock);
	bool is_kvm_clock_off = boot_has(evidence, "no-kvmclock");
	/* A kernel that logged its use was built with it, whatever has become of it since. */
	bool is_unused = v->second_choice && has_kvm_clock && !v->removed_clock &&
	                 fact_is_known(&clocksource->available_fact) &&
	                 !clocksource_is_offered(evidence, "kvm-clock") && !is_kvm_clock_off &&
	                 !is_paravirtual_off && !log_find(evidence, "kvm-clock: Using");
	/*
	 * The log's beginning may be overwritten, and with it that line. A timer is calibrated, or
	 * a clocksource selected, within the first second.
	 */
	bool has_beginning =
		log_has_boot(evidence) && log->lines[0].seconds >= 0 && log->lines[0].seconds < 1;
	char written[CAUSE_TEXT_SIZE];
	const struct cause_row rows[] = {
		{"tsc-disabled-at-boot", v->second_choice && v->boot_disables_tsc, CERTAINTY_PROVEN,
			cite_boot, "The TSC is disabled on the kernel command line.",
			.signs = "The kernel command line has notsc or tsc=unstable, or the kernel "
				 "log has \"Marking TSC unstable due to boot parameter\".",
			.line = v->tsc_distrust, .more = BOOT_PARAMETERS, ADVICE_DROP_BOOT},
		{"clocksource-written", is_written, CERTAINTY_PROVEN, cite_available, written,
			.signs = "The kernel's first choice of the available clocksources has vDSO "
				 "support, and neither the kernel command line nor the kernel log "
				 "says why it is not in use.",
			.line = find_written(evidence),
			.advice = {{&find_clocksource_writer, true}}},
		{"paravirtual-clock-disabled", v->second_choice && v->guest && is_paravirtual_off,
			CERTAINTY_PROVEN, cite_boot,
			"The kernel command line (nopv) keeps the kernel from using its "
			"hypervisor's clock.",
			.signs = "The kernel command line of a guest has nopv or xen_nopv.",
			.more = BOOT_PARAMETERS, ADVICE_DROP_BOOT},
		{"kvm-clock-disabled", v->second_choice && v->guest && is_kvm_clock_off,
			CERTAINTY_PROVEN, cite_boot,
			"kvm-clock is disabled on the kernel command line.",
			.signs = "The kernel command line of a guest has no-kvmclock.",
			ADVICE_DROP_BOOT},
		{"paravirtual-clock-removed", v->removed_clock, CERTAINTY_LIKELY, cite_available,
			"The kernel used the hypervisor's clock and does not offer it any more: it "
			"was removed by a write to unbind_clocksource.",
			.signs = "The kernel log has \"Switched to clocksource\" with a clock of "
				 "the hypervisor's that is not available any more.",
			.line = v->removed_clock, .with_switch = true,
			.advice = {{&reboot_for_paravirtual, true}}},
		{"hyperv-clock-missing", v->lacks_driver && hypervisor_is(evidence, "microsoft"),
			CERTAINTY_LIKELY, cite_available,
			"This kernel has no clocksource of Hyper-V's: it was built without "
			"CONFIG_HYPERV, or the host offers neither a reference counter nor a "
			"reference TSC page.",
			.signs = "A guest of Hyper-V with Linux 4.12 or newer has no clocksource "
				 "whose name begins with hyperv_, and its kernel log has none.",
			.more = HYPERV_CLOCKS,
			.advice = {{&kernel_with_hyperv, true},
				{&advice_ask_hyperv_for_tsc, !v->has_switch}}},
		{"xen-clock-missing", v->lacks_driver && on_xen, CERTAINTY_LIKELY, cite_available,
			"This kernel has no clocksource of Xen's: it was built without "
			"CONFIG_XEN_PVHVM, or Xen does not offer its clock to this guest.",
			.signs = "A guest of Xen has no clocksource xen, and neither nopv nor "
				 "xen_nopv on its kernel command line.",
			.advice = {{&kernel_with_xen, true}}},
		{"vmware-not-detected", v->lacks_driver && hypervisor_is(evidence, "vmware"),
			CERTAINTY_LIKELY, cite_flags,
			"This kernel does not detect VMware, which guarantees the TSC to its "
			"guests: it was built without CONFIG_HYPERVISOR_GUEST.",
			.signs = "/proc/cpuinfo of a guest of VMware does not have the flag "
				 "tsc_reliable, and the kernel does not use the TSC.",
			.advice = {{&kernel_with_vmware, true}}},
		{"kvm-clock-unused", is_unused && has_beginning, CERTAINTY_LIKELY, cite_kvm_clock,
			"The hypervisor offers kvm-clock, but this kernel does not use it: it was "
			"built without CONFIG_KVM_GUEST.",
			.signs = "CPUID offers kvm-clock, which is not available, and the kernel "
				 "log, from its beginning, does not have \"kvm-clock: Using\".",
			.advice = {{&kernel_with_kvm_guest, true}}},
		{"kvm-clock-missing", is_unused && !has_beginning, CERTAINTY_POSSIBLE,
			cite_kvm_clock,
			"This kernel was built without CONFIG_KVM_GUEST and cannot use the "
			"kvm-clock that the hypervisor offers, or kvm-clock was removed by a write "
			"to unbind_clocksource.",
			.signs = "CPUID offers kvm-clock, which is not available, and the "
				 "beginning of the kernel log is lost or unreadable.",
			.advice = {{&reboot_for_kvm_clock, true}}},
	};

	snprintf(written, sizeof(written),
		"The kernel did not select %s, which the vDSO does not support: its name was "
		"written to current_clocksource.",
		clocksource->current);
	cause_add(list, v, rows, ARRAY_SIZE(rows));
}

static void cite_log(const struct view *v, struct cause *cause)
{
	cite(cause, "%s", v->evidence->kernel_log.fact.reason);
}

/* An unreadable log is not a cause, so it comes last. */
void cause_unread(const struct view *v, struct cause_list *list)
{
	const struct kernel_log_evidence *log = &v->evidence->kernel_log;
	bool is_unexplained = v->second_choice && !v->tsc_avoided && !v->tsc_distrust &&
	                      !v->tsc_delay && !v->tsc_uncalibrated;
	const struct cause_row rows[] = {
		{"kernel-log-denied",
			is_unexplained && (log->fact.state == FACT_DENIED ||
						  (v->evidence->live && is_log_at_boot(log))),
			CERTAINTY_PROVEN, cite_log_denied,
			"This user may not read the kernel log, which would say why this "
			"clocksource was chosen.",
			.signs = "Reading /dev/kmsg is refused, and nothing that could be read "
				 "explains the clocksource.",
			.advice = {{&read_kernel_log, true}}},
		{"kernel-log-unclear", is_unexplained && log->fact.state == FACT_FAILED,
			CERTAINTY_PROVEN, cite_log,
			"The kernel log was not understood; it may say why this clocksource was "
			"chosen.",
			.signs = "The log names the kernel, but none of its lines has a form that "
				 "is known; or reading it failed.",
			.advice = {{&save_kernel_log, true}}},
	};

	cause_add(list, v, rows, ARRAY_SIZE(rows));
}
