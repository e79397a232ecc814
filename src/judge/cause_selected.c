/* SPDX-License-Identifier: MIT */
/*
 * Causes in what led the kernel to a slow clocksource: its command line, a write to sysfs, or a
 * kernel that does not use kvm-clock. Why it does not use the TSC has a file of its own.
 */
#include "rules.h"

#include <string.h>

/* Returns the last switch of the log if it was to the current clocksource, or NULL. */
static const struct kernel_log_line *find_switch_to_current(const struct evidence *evidence)
{
	const struct kernel_log_line *last = NULL;

	for (const struct kernel_log_line *line = log_find_switch(evidence, NULL); line;
		line = log_find_switch(evidence, line))
		last = line;
	return last && strcmp(log_switched_to(last), evidence->clocksource.current) == 0 ? last
	                                                                                 : NULL;
}

static void selected_cite_written(const struct view *v, struct cause *cause)
{
	cite_available(v, cause);
	cite_line(v, cause, find_switch_to_current(v->evidence));
}

static void cite_kvm_clock(const struct view *v, struct cause *cause)
{
	if (fact_is_flag(&v->evidence->host.kvm_clock_offered, true))
		cite(cause, "CPUID: the hypervisor offers kvm-clock");
	cite_mode(v, cause);
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
	.where = ON_HOST,
	.steps = {{.command = "sudo vdsocheck"},
		{.command = "sudo journalctl -k -b | grep -iE 'tsc|clocksource'"}}};

static const struct advice_row save_kernel_log = {"save-kernel-log", RANK_LOOK,
	.text = "Save the kernel log as dmesg prints it, not as JSON, a mail or a page, and run "
		"vdsocheck on that.",
	.where = ON_HOST, .steps = {{.command = "sudo dmesg >dmesg"}}};

static const struct advice_row find_clocksource_writer = {"find-clocksource-writer", RANK_LOOK,
	.text = "Find what writes to current_clocksource, such as tuned, systemd-tmpfiles or a "
		"tuning script: it will do so again at the next boot.",
	.where = ON_HOST,
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
	.text = "Use a kernel that was built with CONFIG_HYPERV=y or =m: its vDSO can read "
		"Hyper-V's reference TSC page. Moving the guest to another host does not help."};

static const struct advice_row kernel_with_xen = {"kernel-with-xen", RANK_UPDATE,
	.text = "Use a kernel that was built with CONFIG_XEN and CONFIG_XEN_PVHVM: it can use "
		"Xen's clock, which the vDSO can read where Xen marks the TSC stable."};

static const struct advice_row kernel_with_vmware = {"kernel-with-vmware", RANK_UPDATE,
	.text = "Use a kernel that was built with CONFIG_HYPERVISOR_GUEST: it takes the TSC's rate "
		"from VMware, and does not have the TSC checked by slower clocks."};

/*
 * The kernel selects the first clocksource of its list unless an order names another: clocksource=
 * at boot, or a write to sysfs (__clocksource_select(), 3.10 to 7.2).
 */
static bool selected_is_written(const struct view *v)
{
	const struct clocksource_evidence *clocksource = &v->evidence->clocksource;

	return v->unsupported && !v->tsc_distrusted &&
	       clocksource_is_offered(v->evidence, clocksource->current) &&
	       vclock_name_has_mode(clocksource->available[0]) && !*clocksource->changed_to &&
	       !v->decided.mixed && fact_is_known(&v->evidence->host.boot.fact) &&
	       !v->boot_chose_current;
}

static bool offers_kvm_clock(const struct view *v)
{
	return fact_is_flag(&v->evidence->host.kvm_clock_offered, true);
}

/* With nopv, of 5.3, detect_hypervisor_vendor() skips KVM, Xen HVM, Hyper-V and VMware. */
static bool is_paravirtual_off(const struct view *v)
{
	const struct evidence *evidence = v->evidence;
	bool on_xen = hypervisor_is(evidence, "xen");

	return (boot_takes(evidence, BOOT_HYPERVISOR) ||
		       (on_xen && boot_takes(evidence, BOOT_XEN))) &&
	       (on_xen || hypervisor_is(evidence, "microsoft") || offers_kvm_clock(v));
}

/* A kernel that logged its support was built with it, whatever has become of the clock since. */
static bool is_kvm_clock_unused(const struct view *v)
{
	const struct evidence *evidence = v->evidence;

	return v->unsupported_on_x86 && offers_kvm_clock(v) && !v->removed_clock &&
	       clocksource_is_missing(evidence, "kvm-clock") && !v->boot_disables_kvm_clock &&
	       !is_paravirtual_off(v) && !log_shows_kvm_guest(evidence);
}

const struct cause_row causes_selected[] = {
	{"tsc-disabled-at-boot", GROUP_TSC, CERTAINTY_PROVEN,
		IF(IS(unsupported_on_x86), IS(boot_disables_tsc)),
		"The TSC is disabled on the kernel command line.",
		.signs = "The kernel command line has notsc or tsc=unstable, or the kernel log "
			 "has \"Marking TSC unstable due to boot parameter\".",
		.line = MEMBER(tsc_distrust), .evidence = cite_boot, .more = BOOT_PARAMETERS,
		DROP_BOOT},
	{"clocks-disabled-at-boot", GROUP_ANY, CERTAINTY_LIKELY, IF(IS(clocks_disabled)),
		"The kernel command line disables the HPET or the ACPI PM timer. The kernel "
		"calibrates and checks the TSC with them, none is left, and a count of ticks is "
		"the clock.",
		.signs = "The kernel command line has acpi=off, nohpet, hpet=disable or pmtmr=0, "
			 "neither hpet nor acpi_pm is available, and the clocksource is jiffies "
			 "or pit.",
		.evidence = cite_boot, .more = BOOT_PARAMETERS, DROP_BOOT},
	{"clocksource-written", GROUP_ANY, CERTAINTY_LIKELY, IF(ASK(selected_is_written)),
		"The kernel did not select {from}, which the vDSO does not support: its name was "
		"written to current_clocksource.",
		.signs = "The kernel's first choice of the available clocksources has vDSO "
			 "support, and neither the kernel command line nor the kernel log says "
			 "why it is not in use.",
		/* A container's /proc/cmdline may be another file. */
		.proven = IF(NOT_ALL(STATE(host.container, FACT_KNOWN))),
		.evidence = selected_cite_written, .advice = {{&find_clocksource_writer, ALWAYS}}},
	{"paravirtual-clock-disabled", GROUP_ANY, CERTAINTY_PROVEN,
		IF(IS(unsupported_on_x86), IS(guest), ASK(is_paravirtual_off)),
		"The kernel command line (nopv) keeps the kernel from using its hypervisor's "
		"clock.",
		.signs = "The kernel command line of a guest has nopv or xen_nopv.",
		.evidence = cite_boot, .more = BOOT_PARAMETERS, DROP_BOOT},
	{"kvm-clock-disabled", GROUP_KVM, CERTAINTY_PROVEN,
		IF(IS(unsupported_on_x86), IS(guest), IS(boot_disables_kvm_clock)),
		"kvm-clock is disabled on the kernel command line.",
		.signs = "The kernel command line of a guest has no-kvmclock.",
		.evidence = cite_boot, DROP_BOOT},
	{"paravirtual-clock-removed", GROUP_ANY, CERTAINTY_LIKELY, IF(IS(removed_clock)),
		"The kernel used the hypervisor's clock and does not offer it any more: it was "
		"removed by a write to unbind_clocksource.",
		.signs = "The kernel log has \"Switched to clocksource\" with a clock of the "
			 "hypervisor's that is not available any more.",
		.line = MEMBER(removed_clock), .with_switch = true, .evidence = cite_available,
		.advice = {{&advice_reboot_after_unbind, ALWAYS}}},
	{"hyperv-clock-missing", GROUP_HYPERV, CERTAINTY_LIKELY,
		IF(IS(lacks_driver), HAS(hypervisor_is, "microsoft")),
		"This kernel has no clocksource of Hyper-V's: it was built without CONFIG_HYPERV, "
		"or the host offers neither a reference counter nor a reference TSC page.",
		.signs = "A guest of Hyper-V with Linux 4.12 or newer has no clocksource whose "
			 "name begins with hyperv_, and its kernel log has none.",
		.evidence = cite_available, .more = HYPERV_CLOCKS,
		.advice = {{&kernel_with_hyperv, ALWAYS},
			{&advice_ask_hyperv_for_tsc, IF(NOT(has_switch))}}},
	{"xen-clock-missing", GROUP_XEN, CERTAINTY_LIKELY,
		IF(IS(lacks_driver), HAS(hypervisor_is, "xen")),
		"This kernel has no clocksource of Xen's: it was built without CONFIG_XEN_PVHVM, "
		"or Xen does not offer its clock to this guest.",
		.signs = "A guest of Xen has no clocksource xen, and neither nopv nor xen_nopv on "
			 "its kernel command line.",
		.log = "Xen doesn't support pvclock on HVM", .evidence = cite_available,
		.advice = {{&kernel_with_xen, ALWAYS}}},
	{"vmware-not-detected", GROUP_TSC, CERTAINTY_LIKELY,
		IF(IS(lacks_driver), HAS(hypervisor_is, "vmware")),
		"This kernel does not detect VMware, which guarantees the TSC to its guests: it "
		"was built without CONFIG_HYPERVISOR_GUEST.",
		.signs = "/proc/cpuinfo of a guest of VMware does not have the flag tsc_reliable, "
			 "and the kernel does not use the TSC.",
		.details = {"flags of the TSC in /proc/cpuinfo: {flags}"},
		.advice = {{&kernel_with_vmware, ALWAYS}}},
	{"kvm-clock-unused", GROUP_KVM, CERTAINTY_LIKELY,
		IF(ANY(ALL(ASK(is_kvm_clock_unused), ASK(log_has_beginning)),
			ALL(IS(lacks_driver), HAS_NOT(hypervisor_is, "xen"),
				HAS_NOT(hypervisor_is, "microsoft"),
				HAS_NOT(hypervisor_is, "vmware")))),
		"This kernel does not use kvm-clock, which KVM offers to its guests: it was built "
		"without CONFIG_KVM_GUEST.",
		.signs = "A guest of KVM does not have kvm-clock available, and the kernel log, "
			 "from its beginning, has neither \"kvm-clock: Using\" nor \"Hypervisor "
			 "detected: KVM\".",
		.evidence = cite_kvm_clock, .details = {"kernel: {kernel}"},
		.advice = {{&kernel_with_kvm_guest, ALWAYS}}},
	/* The log's beginning may be overwritten, and with it the line. */
	{"kvm-clock-missing", GROUP_KVM, CERTAINTY_POSSIBLE,
		IF(ASK(is_kvm_clock_unused), ASK_NOT(log_has_beginning)),
		"This kernel was built without CONFIG_KVM_GUEST and cannot use the kvm-clock that "
		"the hypervisor offers, or kvm-clock was removed by a write to unbind_clocksource.",
		.signs = "CPUID offers kvm-clock, which is not available, and the beginning of "
			 "the kernel log is lost or unreadable.",
		.evidence = cite_kvm_clock, .details = {"kernel: {kernel}"},
		.advice = {{&reboot_for_kvm_clock, ALWAYS}}},
	{0},
};

static bool is_log_denied(const struct view *v)
{
	const struct kernel_log_evidence *log = &v->evidence->kernel_log;

	return log->fact.state == FACT_DENIED || (!v->captured && is_log_at_boot(log));
}

#define NO_REASON_SEEN                                                                             \
	IS(unsupported_on_x86), NOT(tsc_avoided), NOT(tsc_distrust), NOT(tsc_delay),               \
		NOT(tsc_uncalibrated)

/* An unreadable log is not a cause, so it comes last. */
const struct cause_row causes_unread[] = {
	{"kernel-log-denied", GROUP_ANY, CERTAINTY_PROVEN, IF(NO_REASON_SEEN, ASK(is_log_denied)),
		"This user may not read the kernel log, which would say why this clocksource was "
		"chosen.",
		.signs = "Reading /dev/kmsg is refused, and nothing that could be read explains "
			 "the clocksource.",
		.evidence = cite_log_denied, .advice = {{&read_kernel_log, ALWAYS}}},
	{"kernel-log-unclear", GROUP_ANY, CERTAINTY_PROVEN,
		IF(NO_REASON_SEEN, STATE(kernel_log, FACT_FAILED)),
		"The kernel log was not understood; it may say why this clocksource was chosen.",
		.signs = "The log names the kernel, but none of its lines has a form that is "
			 "known; or reading it failed.",
		.details = {"{log}"}, .advice = {{&save_kernel_log, ALWAYS}}},
	{0},
};
