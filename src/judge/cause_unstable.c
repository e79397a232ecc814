/* SPDX-License-Identifier: MIT */
/*
 * Causes in the kernel's own reason to mark the TSC unstable (see tsc.c). The watchdog's, which
 * says nothing about which clock was wrong, has a file of its own.
 */
#include "rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/*
 * The driver that enters C2 and deeper states marks the TSC: acpi_idle and intel_idle, which both
 * stay away with idle=halt (disabled_by_idle_boot_param(), intel_idle_init(); 3.10 to 7.2).
 */
static const struct advice_row stay_in_c1 = {"stay-in-c1", RANK_UPDATE, .actor = ACTOR_GUEST,
	.text = "Do not force the TSC: it stops while a CPU idles. Use a CPU with an invariant TSC "
		"(nonstop_tsc in /proc/cpuinfo).",
	.boot_text = "Or boot with idle=halt, which keeps the CPUs out of these idle states.",
	.boot = "idle=halt",
	.risk = "An idle machine takes more power, and CPUs may not reach their highest frequency."};

static const struct advice_row disable_c1e = {"disable-c1e", RANK_UPDATE, .actor = ACTOR_FIRMWARE,
	.text = "Disable C1E (\"enhanced halt\") in the firmware's setup and reboot. Do not force "
		"the TSC while it is enabled: it stops while the CPUs idle."};

static const struct advice_row ask_vendor_about_chassis = {"ask-vendor-about-chassis", RANK_ASK,
	.actor = ACTOR_FIRMWARE, .irreversible = true,
	.text = "Update the firmware. Do not force the TSC: the machine's own firmware says that "
		"it is wrong. If it still does, ask the machine's vendor.",
	.ask = "The firmware reports the TSCs of this machine's chassis as not synchronized, so "
	       "Linux does not use the TSC (\"UV BIOS\"). Is a part faulty, or a newer firmware "
	       "needed?"};

const struct advice_row advice_ask_hyperv_for_tsc = {"ask-hyperv-for-tsc", RANK_ASK,
	.text = "Ask your provider or platform team.",
	.ask = "Hyper-V does not offer this guest AccessTscInvariantControls, and the guest does "
	       "not use the reference TSC page, so every clock read is a system call. Can it run "
	       "on a host that offers one of them?"};

static void cite_jump(const struct view *v, struct cause *cause)
{
	cite_line(v, cause, v->watchdog.line);
}

/* Finds the line by which the kernel set a TSC of a guest long after boot, or NULL. */
static const struct kernel_log_line *find_compensation(const struct view *v)
{
	static const char mark[] = "TSC ADJUST compensate";
	const struct kernel_log_line *line = log_find(v->evidence, mark);

	while (line && (!(line->seconds > BOOTED_S) || log_is_after_resume(v, line)))
		line = log_find_after(v->evidence, line, mark);
	return line;
}

#define ASSUMED "The kernel assumes that the TSCs of this machine's CPUs disagree, since "
#define MEASURED " It has not measured them, as `vdsocheck warp` does."

/* check_tsc_sync_source() compares them at boot, at CPU hotplug and at resume. */
static const struct advice_row start_cold = {"start-cold", RANK_UPDATE, .actor = ACTOR_HOST,
	.text = "Power the machine off, and on after some seconds: TSCs that disagree after a warm "
		"start may agree after a cold one. If it had been off before this start, reboot "
		"it: some agree after a warm start alone. If they do not, update the firmware. Do "
		"not force the TSC: the kernel's measurements show that it is wrong."};

/* The test reads both TSCs under a lock that goes between the CPUs (check_tsc_warp()). */
static const struct advice_row reboot_for_small_warp = {"reboot-for-small-warp", RANK_UPDATE,
	.actor = ACTOR_GUEST,
	.text = "Reboot: a warp that is within the error of the kernel's own test may not come "
		"again. Do not force the TSC before `vdsocheck warp` finds that the TSCs agree.",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

static const struct advice_row firmware_for_resume = {"firmware-for-resume", RANK_UPDATE,
	.actor = ACTOR_FIRMWARE, .irreversible = true,
	.text = "Update the firmware: the TSCs disagreed after a suspend, or when a CPU was added. "
		"A reboot gives tsc back until the next one. Do not force the TSC: the kernel's "
		"measurements show that it is wrong."};

static const struct advice_row start_with_all_cpus = {"start-with-all-cpus", RANK_UPDATE,
	.actor = ACTOR_HOST,
	.text = "Restart this guest: the TSCs of its CPUs then start together. Give it all its "
		"CPUs at the start, and add none while it runs.",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

static const struct cause_row tsc_unsynchronized = {"tsc-unsynchronized", GROUP_TSC,
	"The kernel found that the TSCs of this machine's CPUs "
	"disagree." TSC_READERS_AFFECTED,
	.signs = "The kernel log has \"TSC warp\", \"check_tsc_sync_source failed\" or \"inter CPU "
		 "skew\".",
	.certainty = CERTAINTY_PROVEN, .evidence = cite_firmware, .with_switch = true};

/* kvm_track_tsc_matching() takes the stable bit from a guest whose CPUs differ. */
static const struct cause_row kvm_clock_cpu_added = {"kvm-clock-cpu-added", GROUP_KVM,
	"The TSC of a CPU that was added to this running guest differs from the others', so KVM "
	"does not mark its clock stable.",
	.signs = "The clocksource is kvm-clock, and the kernel log has \"TSC warp between CPUs\" "
		 "more than a minute after boot.",
	.certainty = CERTAINTY_LIKELY};

/*
 * tsc_sync.c writes TSC_ADJUST of the CPU, and kvm-clock goes on by the offset from before: in
 * https://lore.kernel.org/kvm/ of March 2021, "fix cpu hang due to tsc adjustment when kvmclock in
 * use", by 289 s.
 */
static const struct cause_row kvm_clock_jumped = {"kvm-clock-jumped", GROUP_KVM,
	"The kernel set the TSC of a CPU that was added to this running guest, so that it agrees "
	"with the others', and kvm-clock jumped by as much.",
	.signs = "The clocksource is kvm-clock, and the kernel log has \"TSC ADJUST compensate\" "
		 "with a difference of a millisecond or more, more than a minute after boot.",
	.certainty = CERTAINTY_LIKELY, .evidence = cite_jump};

/* unsynchronized_tsc(): also for clustered boxes, such as vSMP. */
static const struct cause_row tsc_assumed_unsynchronized = {"tsc-assumed-unsynchronized", GROUP_TSC,
	ASSUMED "they do not advertise a TSC of constant rate, or are in "
		"several chassis." MEASURED,
	.signs = "The kernel log has \"Marking TSC unstable due to TSCs unsynchronized\" or "
		 "\"Summit based system\": the machine has several CPUs, which are not Intel's and "
		 "do not advertise a TSC of constant rate, or several chassis.",
	.certainty = CERTAINTY_PROVEN, .with_switch = true};

static const struct cause_row tsc_unsynchronized_chassis = {"tsc-unsynchronized-chassis", GROUP_TSC,
	"The firmware reports that the TSCs of this machine's chassis are not "
	"synchronized." TSC_READERS_AFFECTED,
	.signs = "The kernel log has \"Marking TSC unstable due to UV BIOS\".",
	.certainty = CERTAINTY_PROVEN, .with_switch = true};

static const struct cause_row tsc_went_back = {"tsc-went-back", GROUP_TSC,
	"KVM found that the TSC of this host went back: CPUs disagree, or it was reset, as by a "
	"suspend, CPU hotplug or the firmware. The guests of this host are affected, too.",
	.signs = "The kernel log of a host of guests has \"Marking TSC unstable due to KVM "
		 "discovered backwards TSC\".",
	.certainty = CERTAINTY_PROVEN, .with_switch = true};

static const struct cause_row tsc_halts_in_idle = {"tsc-halts-in-idle", GROUP_TSC,
	"The TSC of this CPU stops in deep idle states (C2 and "
	"deeper)." TSC_READERS_AFFECTED,
	.signs = "The kernel log has \"Marking TSC unstable due to TSC halts in idle\"; the CPU "
		 "does not have the flag nonstop_tsc.",
	.certainty = CERTAINTY_PROVEN, .with_switch = true};

static const struct cause_row tsc_halts_in_c1e = {"tsc-halts-in-c1e", GROUP_TSC,
	"The TSC of this CPU stops in the idle state C1E, which the firmware has "
	"enabled." TSC_READERS_AFFECTED,
	.signs = "The kernel log has \"Marking TSC unstable due to TSC halt in AMD C1E\".",
	.certainty = CERTAINTY_PROVEN, .with_switch = true};

static const struct cause_row tsc_rate_changes = {"tsc-rate-changes", GROUP_TSC,
	"The rate of this CPU's TSC changes with the CPU's frequency, so the "
	"kernel does not use it." TSC_READERS_AFFECTED,
	.signs = "The kernel log has \"Marking TSC unstable due to cpufreq changes\"; the CPU does "
		 "not have the flag constant_tsc.",
	.certainty = CERTAINTY_PROVEN, .with_switch = true};

/* Before dce7cd62754b, in 5.5, every guest of Hyper-V logged this line. */
static const struct cause_row tsc_on_hyperv = {"tsc-on-hyperv", GROUP_HYPERV,
	"Hyper-V does not offer an invariant TSC to this guest, so the kernel does not use the TSC.",
	.signs = "The kernel log of Linux 5.5 or newer has \"Marking TSC unstable due to running "
		 "on Hyper-V\".",
	.certainty = CERTAINTY_PROVEN, .with_switch = true, .more = HYPERV_CLOCKS};

static const struct cause_row tsc_marked_unstable = {"tsc-marked-unstable", GROUP_TSC,
	"The kernel marked the TSC unstable, for a reason that its log has.",
	.signs = "The kernel log has \"Marking TSC unstable due to\" and a reason that is not the "
		 "clocksource watchdog, such as \"cyrix 5510/5520 detected\".",
	.certainty = CERTAINTY_PROVEN, .with_switch = true};

/* check_tsc_sync_target(): "observed values are ~200 TSC cycles" of overhead (4.14 to 7.3). */
#define WARP_ERROR_CYCLES 200

/* Returns the cycles of "Measured 235 cycles TSC warp between CPUs", or 0. */
static double warp_cycles(const struct kernel_log_line *line)
{
	static const char measured[] = "Measured ";
	const char *at = line ? strstr(line->text, measured) : NULL;

	return at ? strtod(at + strlen(measured), NULL) : 0;
}

/* Returns the seconds of "CPU3 observed 867529151959 warp", 0 without the TSC's rate. */
static double jump_seconds(const struct view *v, const struct kernel_log_line *line)
{
	static const char observed[] = " observed ";
	const char *at = line ? strstr(line->text, observed) : NULL;
	double error, hz = tsc_find_hz(v->evidence, &error);

	return at && hz > 0 ? strtod(at + strlen(observed), NULL) / hz : 0;
}

/* Writes by how much the TSCs disagree, and whether that says anything. */
static void write_warp(const struct view *v, double cycles, char text[CAUSE_TEXT_SIZE])
{
	double error, hz = tsc_find_hz(v->evidence, &error);

	text_append(text, CAUSE_TEXT_SIZE,
		"The kernel found that the TSCs of this machine's CPUs disagree");
	if (cycles > 0)
		text_append(text, CAUSE_TEXT_SIZE, " by %s cycles", as_count((uint64_t)cycles));
	if (cycles > WARP_ERROR_CYCLES && hz > 0)
		text_append(text, CAUSE_TEXT_SIZE, " (%s)", as_seconds(cycles / hz));
	text_append(text, CAUSE_TEXT_SIZE, "%s",
		cycles > 0 && cycles <= WARP_ERROR_CYCLES
			? ", which is within the error of its own test (some 200 cycles)."
			: "." TSC_READERS_AFFECTED);
}

/* A jump of the clock that a program notices. */
#define JUMP_LEAST_S 1e-3

void cause_unstable(const struct view *v, struct cause_list *list)
{
	/* The lines of check_tsc_sync_source(). */
	static const char *const warps[] = {
		"TSC warp between CPUs", "check_tsc_sync_source failed"};
	const struct evidence *evidence = v->evidence;
	bool is_wanted = v->unsupported_on_x86 || v->tsc_lost;
	enum unstable_reason reason = is_wanted ? v->unstable_reason : UNSTABLE_UNSAID;
	const struct kernel_log_line *line = log_find(evidence, "Marking TSC unstable due to ");
	const struct kernel_log_line *warp = log_find_first(evidence, warps, ARRAY_SIZE(warps));
	/* A CPU that was added long after the kernel had started. */
	const struct kernel_log_line *added = warp && warp->seconds > BOOTED_S ? warp : NULL;
	bool is_at_boot = warp && !(warp->seconds > BOOTED_S) && !log_is_after_resume(v, warp);
	double cycles = warp_cycles(log_find(evidence, "cycles TSC warp"));
	bool is_small = cycles > 0 && cycles <= WARP_ERROR_CYCLES;
	const struct kernel_log_line *set = find_compensation(v);
	double jump = jump_seconds(v, set);
	bool has_host = v->guest && !v->on_tcg && !v->lacks_driver && !v->wants_provider;
	/* A constant rate, which an invariant TSC has, is what the kernel trusts. */
	bool asks_for_invariant = has_host && !v->has_switch && !v->may_be_restored && !v->on_xen &&
	                          !tsc_is_invariant(evidence);
	bool has_chassis =
		tsc_has_flag(evidence, "constant_tsc") || log_find(evidence, "Summit based system");
	char other[CAUSE_TEXT_SIZE], warped[CAUSE_TEXT_SIZE] = "", jumped[CAUSE_TEXT_SIZE];
	const struct cause_case cases[] = {
		{&tsc_unsynchronized, .applies = is_wanted && v->tsc_unsynchronized, .text = warped,
			.line = v->tsc_distrust,
			.advice = {{&reboot_for_small_warp,
					   v->machine && is_at_boot && is_small && !v->is_rented},
				{&start_cold, v->machine && is_at_boot && !v->is_rented},
				{&firmware_for_resume,
					v->machine && warp && (!is_at_boot || v->is_rented)},
				{&advice_update_firmware, v->machine && !warp},
				{&start_with_all_cpus, has_host && added},
				{&advice_move, has_host && !v->has_switch},
				{&advice_ask_about_unstable_tsc, has_host}}},
		{&kvm_clock_cpu_added,
			.applies = v->on_kvm_clock && (v->falls_back || !evidence->live) && added,
			.line = added, .advice = {{&start_with_all_cpus, !v->on_tcg}}},
		{&kvm_clock_jumped,
			.applies = v->on_kvm_clock && (v->falls_back || !evidence->live) &&
	                           !added && fabs(jump) >= JUMP_LEAST_S,
			.text = jumped, .line = set,
			.advice = {{&start_with_all_cpus, !v->on_tcg}}},
		{&tsc_assumed_unsynchronized, .applies = reason == UNSTABLE_ASSUMED,
			.text = has_chassis ? ASSUMED "they are in several chassis." MEASURED
	                                    : ASSUMED
	                                "they do not advertise a TSC of constant rate." MEASURED,
			.line = line,
			.advice = {{&advice_ask_for_invariant_tsc, asks_for_invariant}}},
		{&tsc_unsynchronized_chassis, .applies = reason == UNSTABLE_BY_FIRMWARE,
			.line = line, .advice = {{&ask_vendor_about_chassis, true}}},
		{&tsc_went_back, .applies = reason == UNSTABLE_WENT_BACK, .line = line,
			.advice = {{&advice_update_firmware, v->machine},
				{&advice_ask_about_unstable_tsc, has_host}}},
		{&tsc_halts_in_idle, .applies = reason == UNSTABLE_HALTS, .line = line,
			.advice = {{&stay_in_c1, v->machine},
				{&advice_ask_for_invariant_tsc, asks_for_invariant}}},
		{&tsc_halts_in_c1e, .applies = reason == UNSTABLE_HALTS_IN_C1E, .line = line,
			.advice = {{&disable_c1e, v->machine}}},
		{&tsc_rate_changes, .applies = reason == UNSTABLE_RATE_CHANGES, .line = line,
			.advice = {{&advice_ask_for_invariant_tsc, asks_for_invariant}}},
		{&tsc_on_hyperv,
			.applies =
				reason == UNSTABLE_ON_HYPERV && !kernel_is_before(evidence, "5.5"),
			.line = v->tsc_distrust,
			.advice = {{&advice_move, !v->has_switch && !v->lacks_driver},
				{&advice_ask_hyperv_for_tsc, !v->has_switch}}},
		{&tsc_marked_unstable, .applies = reason == UNSTABLE_OTHERWISE, .text = other,
			.line = line},
	};

	write_warp(v, cycles, warped);
	snprintf(jumped, sizeof(jumped),
		"The kernel set the TSC of a CPU that was added to this running guest %s by %s, so "
		"that it agrees with the others', and kvm-clock jumped by as much.",
		jump < 0 ? "back" : "ahead", as_seconds(fabs(jump)));
	snprintf(other, sizeof(other),
		"The kernel marked the TSC unstable, and gives as reason: %s.",
		v->unstable_words ? v->unstable_words : "");
	cause_add(list, v, cases, ARRAY_SIZE(cases));
}
