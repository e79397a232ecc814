/* SPDX-License-Identifier: MIT */
/*
 * Finds what the kernel's log says about the host itself: its hypervisor and the boot parameters.
 * They are for a log that comes without the files of the host, or with masked ones.
 */
#include "parts.h"

#include "base/memory.h"

/*
 * The lines in which the kernel names its hypervisor, by their beginning and the name in the rest
 * ("": any). Sources: detect_hypervisor_vendor() of arch/x86/kernel/cpu/hypervisor.c with the names
 * of all its struct hypervisor_x86 (vmware.c, mshyperv.c, acrn.c, kvm.c, jailhouse.c, xen/;
 * bhyve.c since 6.18), default_banner() of paravirt.c with those of all pv_info.name, the drivers
 * of their clocks, arch/s390/kernel/setup.c, and the models of QEMU's and Xen's device trees on
 * arm; 3.10 to 7.3. "Booting paravirtualized kernel on bare hardware" is what a guest whose kernel
 * lacks the support logs, too.
 */
static const struct {
	const char *begins, *name;
	const char *word; /* NULL: it says nothing */
} lines[] = {
	{"Booting paravirtualized kernel on ", "bare hardware", NULL},
	{"Booting paravirtualized kernel on ", "KVM", "kvm"},
	{"Booting paravirtualized kernel on ", "Xen", "xen"},
	{"Booting paravirtualized kernel on ", "VMware", "vmware"},
	{"Booting paravirtualized kernel on ", "Hyper-V", "microsoft"},
	{"Booting kernel on Xen", "", "xen"},
	{"Hypervisor detected: ", "KVM", "kvm"},
	{"Hypervisor detected: ", "Xen", "xen"},
	{"Hypervisor detected: ", "VMware", "vmware"},
	{"Hypervisor detected: ", "Microsoft", "microsoft"},
	{"Hypervisor detected: ", "ACRN", "acrn"},
	{"Hypervisor detected: ", "bhyve", "bhyve"},
	{"Hypervisor detected: ", "Bhyve", "bhyve"},
	{"Hypervisor detected: ", "", "vm-other"}, /* Jailhouse, and later ones */
	{"kvm-clock: ", "", "kvm"},
	{"clocksource: kvm-clock: ", "", "kvm"},
	{"Xen version: ", "", "xen"},
	{"clocksource: xen: ", "", "xen"},
	{"vmware: ", "", "vmware"},
	{"TSC freq read from hypervisor", "", "vmware"}, /* 3.10 to 4.4 */
	{"Hyper-V: ", "", "microsoft"},
	{"HyperV: ", "", "microsoft"}, /* 3.14 to 4.4 */
	{"clocksource: hyperv_clocksource", "", "microsoft"},
	{"tsc: Marking TSC unstable due to running on Hyper-V", "", "microsoft"},
	{"Linux is running under KVM", "", "kvm"},
	{"Linux is running as a z/VM", "", "zvm"},
	{"Machine model: linux,dummy-virt", "", "qemu"},
	{"Machine model: XENVM", "", "xen"},
};

static const char *log_find_word(struct span text)
{
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct span rest = text;

		if (text_take_prefix(&rest, lines[i].begins) && text_starts(rest, lines[i].name))
			return lines[i].word;
	}
	return NULL;
}

static void take_hypervisor(struct text_fact *hypervisor, struct span text)
{
	const char *word = log_find_word(text);

	/* The first one is the most precise but for this word, and says more than no name. */
	if (!fact_is_known(&hypervisor->fact) || fact_is_text(hypervisor, "vm-other")) {
		if (word)
			fact_set_text(hypervisor, word);
	}
	if (fact_is_known(&hypervisor->fact) || !text_take_prefix(&text, "DMI: "))
		return;
	word = hypervisor_find_in_dmi_line(text);
	fact_set_found(hypervisor, word,
		"the kernel log has the firmware's names, and none is a "
		"hypervisor's");
}

/* The kernel cuts a longer one, or continues it in a line of its own (6.19 and newer). */
#define COMMAND_LINE_MOST 900

static void take_boot(struct text_fact *boot, struct span text)
{
	if (fact_is_known(&boot->fact) ||
		(!text_take_prefix(&text, "Command line: ") &&
			!text_take_prefix(&text, "Kernel command line: ")))
		return;
	if (text.length > COMMAND_LINE_MOST || !text_trim(text).length ||
		text_take_suffix(&text, "\\") ||
		!kernel_pick_parameters(text, boot->value, sizeof(boot->value)))
		fact_set(&boot->fact, FACT_FAILED, "the command line in the kernel log is cut");
	else
		fact_set_known(&boot->fact);
}

void log_host_take(struct kernel_log_evidence *log, struct span text)
{
	take_hypervisor(&log->hypervisor, text);
	take_boot(&log->boot, text);
}

void host_collect_log(struct host_evidence *host, const struct kernel_log_evidence *log)
{
	const struct text_fact *named = &log->hypervisor;
	bool is_vague = fact_is_text(&host->hypervisor, "vm-other") ||
	                (fact_is_text(&host->hypervisor, "qemu") && fact_is_text(named, "kvm"));

	if (fact_is_known(&named->fact) && (!fact_is_known(&host->hypervisor.fact) || is_vague)) {
		host->hypervisor = *named;
		if (fact_is_text(&host->platform, "bare-metal"))
			fact_set(&host->platform.fact, FACT_ABSENT, "a hypervisor is in the log");
	} else if (host->hypervisor.fact.state == FACT_UNREAD && named->fact.state == FACT_ABSENT) {
		host->hypervisor = *named;
	}
	if (!fact_is_known(&host->boot.fact) && fact_is_known(&log->boot.fact))
		host->boot = log->boot;
}
