/* SPDX-License-Identifier: MIT */
/*
 * Causes in why the kernel does not use the TSC, other than its watchdog's figures; and, in a table
 * of their own, what has become of a clocksource that was better. Most are looked for on x86 alone,
 * on a clocksource that is not chosen for its speed.
 */
#include "rules.h"

#include <string.h>

#include "base/memory.h"

static void cite_calibration(const struct view *v, struct cause *cause)
{
	static const char *const failed[] = {
		"Unable to calibrate against PIT", "HPET/PMTIMER calibration failed"};

	for (size_t i = 0; v->tsc_uncalibrated && i < ARRAY_SIZE(failed); i++)
		cite_line(v, cause, log_find(v->evidence, failed[i]));
	cite_line(v, cause, v->tsc_uncalibrated);
	if (!v->tsc_uncalibrated)
		cite_available(v, cause);
}

/* Finds the line of a kernel that waits for its watchdog, which can compare with jiffies only. */
static const struct kernel_log_line *find_unverified(const struct evidence *evidence)
{
	const struct kernel_log_line *line = log_find(evidence, "Override clocksource tsc");

	return line && strstr(line->text, "not currently HRT compatible") ? line : NULL;
}

static bool is_unverified(const struct view *v)
{
	return v->unsupported_on_x86 && !v->boot_disables_tsc && !v->tsc_distrusted &&
	       !v->tsc_offered && clocksource_counts_ticks(v->evidence->clocksource.current) &&
	       find_unverified(v->evidence);
}

static void cite_unverified(const struct view *v, struct cause *cause)
{
	cite_line(v, cause, find_unverified(v->evidence));
	cite_available(v, cause);
}

/*
 * True if no line is missing between the first about tsc and now: only then does the absence of a
 * line count. A log of KERNEL_LOG_MAX lines has lost some in its middle (collect/kernel_log.c).
 */
static bool is_log_whole(const struct view *v)
{
	const struct kernel_log_evidence *log = &v->evidence->kernel_log;

	return fact_is_known(&log->fact) && log->count < KERNEL_LOG_MAX &&
	       strcmp(log->source, KERNEL_LOG_AT_BOOT) != 0;
}

#define UNBOUND                                                                                    \
	IS(tsc_missing), NOT(tsc_distrusted), NOT(tsc_delay), IS(tsc_in_use), ASK(is_log_whole)

/* native_calibrate_tsc() reads leaf 0x15 on Intel's CPUs only, and no leaf of a hypervisor. */
static const struct advice_row set_tsc_rate = {"set-tsc-rate", RANK_UPDATE, .actor = ACTOR_GUEST,
	.text = "If the TSC's rate is known, give it to the kernel: add tsc_early_khz=RATE, in "
		"kHz, to the kernel command line.",
	.since = "5.8", .boot = "tsc_early_khz=RATE",
	.risk = "If the rate is wrong, or the guest is migrated to a host with another rate, the "
		"clock runs fast or slow."};

/* acrn_get_tsc_khz() is in 6.1 to 7.2, not in 5.10. Linux's support for bhyve has no clock. */
static const struct advice_row kernel_with_acrn = {"kernel-with-acrn", RANK_UPDATE,
	.text = "Use Linux 6.1 or newer, built with CONFIG_ACRN_GUEST: it takes the TSC's rate "
		"from the hypervisor."};

#define BOOT_UNVERIFIED                                                                            \
	"Or, if `vdsocheck warp` finds that the TSCs agree, boot with tsc=nowatchdog: the kernel " \
	"then uses the TSC without the check that it cannot make here."

/* tsc=reliable would also skip the tests of the CPUs' TSCs (arch/x86/kernel/tsc_sync.c). */
static const struct advice_row boot_unverified_tsc = {"boot-unverified-tsc", RANK_UPDATE,
	.actor = ACTOR_GUEST,
	.text = "Give the guest a clock to check the TSC with (HPET, ACPI PM timer, kvm-clock).",
	.boot_text = BOOT_UNVERIFIED, .remarks = {{NOWATCHDOG_REMARK}}, NOWATCHDOG,
	.risk = "The kernel does not detect an unstable TSC."};

/* Both are in ACPI's tables; pmtmr= gives the port of a PM timer that is not. */
static const struct advice_row boot_unverified_tsc_of_machine = {"boot-unverified-tsc-of-machine",
	RANK_UPDATE, .actor = ACTOR_FIRMWARE,
	.text = "Enable ACPI and the HPET in the firmware's setup, so that the kernel has a clock "
		"to check the TSC with.",
	.boot_text = BOOT_UNVERIFIED, .remarks = {{NOWATCHDOG_REMARK}}, NOWATCHDOG,
	.risk = "The kernel does not detect an unstable TSC."};

/* The question asks for no clock that is there already. */
static const struct advice_row ask_for_tsc_rate = {"ask-for-tsc-rate", RANK_ASK,
	.text = "Ask your provider or platform team.",
	.ask = "This guest's kernel cannot calibrate its TSC and has to use a slow clocksource. "
	       "Can it be given a timer to calibrate by (HPET, ACPI PM timer, PIT), or on Intel's "
	       "CPUs the rate in CPUID leaf 0x15? What is the rate of its TSC in kHz?",
	.asks = {
		{"This guest's kernel could not calibrate its TSC, although it has a timer to "
		 "calibrate it by, and has to use a slow clocksource. Is its TSC scaled or "
		 "intercepted? What is its rate in kHz, and can an Intel CPU have it in CPUID leaf "
		 "0x15?",
			IF(ANY(HAS(clocksource_is_offered, "hpet"),
				HAS(clocksource_is_offered, "acpi_pm")))}}};

#define INVARIANT_BIT "Please offer this guest an invariant TSC (CPUID 0x80000007, EDX bit 8"
#define WITHOUT_IT "). Without it, every clock read is a system call."

/* QEMU is named where the hypervisor may be QEMU. */
const struct advice_row advice_ask_for_invariant_tsc = {"ask-for-invariant-tsc", RANK_ASK,
	.text = "Do not force the TSC: the CPU does not advertise an invariant TSC to this guest. "
		"Ask your provider or platform team.",
	.ask = INVARIANT_BIT WITHOUT_IT,
	.asks = {{INVARIANT_BIT "; with QEMU: -cpu ...,+invtsc" WITHOUT_IT,
		IF(ANY(HAS(hypervisor_is, "kvm"), HAS(hypervisor_is, "qemu"),
			HAS(hypervisor_is, "vm-other")))}}};

static const struct advice_row newer_kernel_for_cpu = {"newer-kernel-for-cpu", RANK_UPDATE,
	.text = "Try a newer kernel, which may know this CPU's TSC; the kernel log since boot says "
		"more, if it is still available."};

static const struct advice_row find_in_kernel_log = {"find-in-kernel-log", RANK_LOOK,
	.text = "Look into the kernel log since boot, which says why the kernel does not use the "
		"TSC, and give it to vdsocheck, too.",
	.where = ON_HOST,
	.steps = {{.command = "sudo journalctl -k -b | grep -iE 'tsc|clocksource'"}}};

#define TRUSTED NOT(boot_disables_tsc), NOT(tsc_distrusted)

/*
 * On jiffies the tick is periodic. Then the kernel selects and lists a TSC that it has registered,
 * even one that nothing can verify (clocksource_find_best() and available_clocksource_show() of
 * kernel/time/clocksource.c, 3.10 to 7.2): one that is not listed was never registered.
 */
static bool is_uncalibrated(const struct view *v)
{
	return (v->unsupported_on_x86 && v->tsc_uncalibrated) ||
	       (v->tsc_missing && clocksource_counts_ticks(v->evidence->clocksource.current) &&
		       !v->boot_disables_tsc && !v->tsc_distrusted &&
		       !log_find(v->evidence, "clocksource tsc") &&
		       !fact_is_flag(&v->evidence->host.invariant_tsc, false));
}

/* The cause is the same in the kernel's own words. */
#define SAID                                                                                       \
	ANY(EQ(unstable_reason, UNSTABLE_ASSUMED), EQ(unstable_reason, UNSTABLE_HALTS),            \
		EQ(unstable_reason, UNSTABLE_RATE_CHANGES))

/* The flags are the kernel's own: it knows what it does not use, for a reason that it logs. */
#define KNOWN_TSC HAS(tsc_has_flag, "constant_tsc"), HAS(tsc_has_flag, "nonstop_tsc")
#define KNOWN                                                                                      \
	"The kernel knows this CPU's invariant TSC (its flags are constant_tsc and nonstop_tsc) "  \
	"and "

/* A log that exists and was not read comes first: it may say why. */
#define LOG_UNREAD ANY(STATE(kernel_log, FACT_DENIED), STATE(kernel_log, FACT_FAILED))
#define LOG_READ NOT_ALL(LOG_UNREAD)

/* The reason would be in it; of one that is whole the report has the lines. */
#define LOG_WHOLE ASK(log_has_beginning), ASK(is_log_whole)

/* True if the last clocksource= of the command line is neither in use nor offered. */
static bool is_choice_refused(const struct view *v)
{
	const struct evidence *evidence = v->evidence;
	char name[CLOCKSOURCE_NAME_SIZE];

	return v->unsupported && !is_unverified(v) && boot_find_choice(evidence, name) &&
	       !clocksource_is(evidence, name) && clocksource_is_missing(evidence, name);
}

const struct cause_row causes_tsc[] = {
	{"tsc-uncalibrated", GROUP_TSC, CERTAINTY_POSSIBLE, IF(ASK(is_uncalibrated)),
		"The kernel could not calibrate the TSC and does not use it.",
		.signs = "The kernel log has \"could not calculate TSC\" or \"No reference "
			 "(HPET/PMTIMER) available\"; or the clocksource is jiffies, and tsc is "
			 "not available without a reason in the log.",
		.proven = IF(IS(tsc_uncalibrated)), .evidence = cite_calibration,
		.advice = {{&kernel_with_acrn, IF(HAS(hypervisor_is, "acrn"))},
			{&set_tsc_rate, IF(NOT(clocks_disabled), NOT(wants_provider))},
			{&ask_for_tsc_rate, IF(NOT(clocks_disabled), NOT(wants_provider))}}},
	{"tsc-unverified", GROUP_TSC, CERTAINTY_LIKELY, IF(ASK(is_unverified)),
		"The kernel has no clock to verify the TSC with, and does not use it.",
		.signs = "The clocksource is jiffies, and the kernel log has \"Override "
			 "clocksource tsc is not currently HRT compatible\".",
		.evidence = cite_unverified,
		.advice = {{&boot_unverified_tsc, IF(IS(guest), NOT(clocks_disabled))},
			{&boot_unverified_tsc_of_machine, IF(IS(machine), NOT(clocks_disabled))}}},
	/* The flag counts where the kernel does not offer tsc, or runs on Xen's clock. */
	{"tsc-not-invariant", GROUP_TSC, CERTAINTY_LIKELY,
		IF(FACT_IS(host.invariant_tsc, false), NOT_ALL(UNBOUND), NOT_ALL(SAID),
			ANY(ALL(IS(falls_back), IS(on_xen)),
				ALL(IS(unsupported_on_x86), NOT(tsc_offered)))),
		"The CPU does not advertise an invariant TSC to this machine.",
		.signs = "CPUID 0x80000007, EDX bit 8, is not set, and the clocksource is xen, or "
			 "tsc is not available.",
		.details = {"CPU: {cpu}, TSC not invariant"},
		/* It helps a guest that nothing else keeps from the TSC. */
		.advice = {{&advice_ask_for_invariant_tsc,
			IF(IS(guest), NOT(has_switch), NOT(may_be_restored), NOT(on_xen), TRUSTED,
				NOT(lacks_driver))}}},
	{"tsc-not-offered", GROUP_TSC, CERTAINTY_POSSIBLE,
		IF(IS(tsc_missing), TRUSTED, NOT(tsc_delay), ASK_NOT(is_uncalibrated),
			ASK_NOT(is_unverified), NOT(tsc_in_use), FACT_IS(host.invariant_tsc, true)),
		"The kernel is too old to know this CPU's invariant TSC, or it rejected the TSC, "
		"and the log entry is gone or cannot be read.",
		.texts = {{KNOWN "does not offer it; its log does not say why.",
				  IF(KNOWN_TSC, LOG_WHOLE)},
			{KNOWN "rejected it, which its log since boot would explain.",
				IF(KNOWN_TSC)},
			{"The kernel rejected this CPU's invariant TSC, which its log would show, "
			 "or is too old to know it.",
				IF(LOG_UNREAD)}},
		.signs = "CPUID has an invariant TSC, tsc is not available, and the kernel log "
			 "does not say why.",
		.details = {"CPU: {cpu}, TSC invariant"},
		.advice = {{&find_in_kernel_log,
				   IF(KNOWN_TSC, LOG_READ, NOT(vdso_disabled), NOT_ALL(LOG_WHOLE))},
			{&newer_kernel_for_cpu, IF(NOT_ALL(KNOWN_TSC), LOG_READ)}}},
	/* A TSC that was in use shows that this kernel knows it. */
	{"tsc-dropped", GROUP_TSC, CERTAINTY_LIKELY,
		IF(IS(tsc_missing), TRUSTED, NOT(tsc_delay), IS(tsc_in_use), ASK_NOT(is_log_whole)),
		"The kernel used tsc and has dropped it since; the log entry that says why is "
		"gone or unreadable.",
		.signs = "The kernel log has \"Switched to clocksource tsc\", tsc is not "
			 "available any more, and lines of the log are lost or unreadable.",
		.line = MEMBER(tsc_in_use), .with_switch = true,
		.advice = {{&advice_restart_for_tsc, IF(IS(tsc_lost), NOT(on_dom0))},
			{&advice_find_which_clock, IF(IS(machine))},
			{&advice_ask_which_clock, IF(IS(guest), NOT(tsc_lost))}}},
	/*
         * tsc_clocksource_reliable ends check_tsc_sync_target() and the watchdog (tsc.c, 3.10 to
         * 7.3).
         */
	{"tsc-untested", GROUP_TSC, CERTAINTY_PROVEN,
		IF(ANY(EQ(verdict, VERDICT_OK), EQ(expected, VERDICT_OK)), NOT(guest),
			HAS(clocksource_is, "tsc"), HAS(boot_has, "tsc=reliable"),
			HAS_NOT(tsc_has_flag, "tsc_reliable")),
		"tsc=reliable keeps the kernel from comparing the TSCs of the CPUs when they "
		"start, and from checking the TSC later. `vdsocheck warp` compares them: remove "
		"the parameter if they disagree, or if nothing calls for it.",
		.signs = "The clocksource is tsc, the kernel command line has tsc=reliable, and "
			 "no hypervisor guarantees the TSC (flag tsc_reliable).",
		.evidence = cite_boot, .more = BOOT_PARAMETERS},
	/*
         * tsc_verify_tsc_adjust(), tsc_sanitize_first_cpu(), tsc_store_and_check_tsc_adjust() (4.10
         * to 7.3). After a kexec it may be what the kernel before had set.
         */
	{"tsc-written-by-firmware", GROUP_TSC, CERTAINTY_LIKELY,
		IF(IS(machine), IS(tsc_written),
			ANY(HAS(clocksource_is, "tsc"),
				ALL(IS(unsupported_on_x86), IS(tsc_distrusted)))),
		"The machine's firmware, or a program that writes the CPU's registers, wrote the "
		"TSC of a CPU (register TSC_ADJUST), which the kernel corrected. It may happen "
		"again: `vdsocheck warp` compares the TSCs.",
		.signs = "The kernel log of a machine has \"TSC ADJUST\" with \"force to 0\", "
			 "\"differs\" or \"synchronize\".",
		.line = MEMBER(tsc_written),
		.advice = {{&advice_update_firmware, IF(NOT(tsc_unsynchronized))}}},
	{"boot-clocksource-refused", GROUP_ANY, CERTAINTY_LIKELY, IF(ASK(is_choice_refused)),
		"The clocksource named on the kernel command line was refused: the kernel does "
		"not offer it.",
		.signs = "The last clocksource= of the kernel command line is neither in use nor "
			 "available; the kernel log may have \"Override clocksource\".",
		.proven = IF(HAS(log_has, "Override clocksource")), .log = "Override clocksource",
		.evidence = cite_boot, .more = BOOT_PARAMETERS},
	{"tsc-unbound", GROUP_TSC, CERTAINTY_LIKELY, IF(UNBOUND),
		"The kernel used tsc and stopped using it without logging a reason: tsc was "
		"removed by a write to unbind_clocksource.",
		.signs = "The kernel log is complete and has \"Switched to clocksource tsc\", but "
			 "nothing against the TSC, and tsc is not available any more.",
		.line = MEMBER(tsc_in_use), .with_switch = true,
		.advice = {{&advice_reboot_after_unbind, ALWAYS}}},
	{0},
};
