/* SPDX-License-Identifier: MIT */
/*
 * Causes in the kernel's own reason to mark the TSC unstable (see ask.c). The watchdog's, which
 * says nothing about which clock was wrong, has a file of its own.
 */
#include "rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Finds the line by which the kernel set a TSC of a guest long after boot, or NULL. */
static const struct kernel_log_line *find_compensation(const struct view *v)
{
	static const char mark[] = "TSC ADJUST compensate";
	const struct kernel_log_line *line = log_find(v->evidence, mark);

	while (line && (!(line->seconds > BOOTED_S) || log_is_after_resume(v, line)))
		line = log_find_after(v->evidence, line, mark);
	return line;
}

static void cite_jump(const struct view *v, struct cause *cause)
{
	cite_line(v, cause, v->watchdog.line);
	cite_line(v, cause, find_compensation(v));
}

#define ASSUMED "The kernel assumes that the TSCs of this machine's CPUs disagree, since "
#define MEASURED " It has not measured them, as `vdsocheck warp` does."

/* check_tsc_sync_source() compares them at boot, at CPU hotplug and at resume. */
static const struct advice_row start_cold = {"start-cold", RANK_UPDATE, .actor = ACTOR_HOST,
	.text = "Power the machine off, and on after some seconds: TSCs that disagree after a warm "
		"start may agree after a cold one. If this was a cold start, reboot instead: some "
		"agree only after a warm one. If they never do, update the firmware. Do not force "
		"the TSC: the kernel's measurements show that it is wrong."};

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

/* check_tsc_sync_target(): "observed values are ~200 TSC cycles" of overhead (4.14 to 7.3). */
#define WARP_ERROR_CYCLES 200

/* Returns the cycles of "Measured 235 cycles TSC warp between CPUs", or 0. */
static double warp_cycles(const struct view *v)
{
	const struct kernel_log_line *line = log_find(v->evidence, "cycles TSC warp");
	static const char measured[] = "Measured ";
	const char *at = line ? strstr(line->text, measured) : NULL;

	return at ? strtod(at + strlen(measured), NULL) : 0;
}

/* Returns the seconds of "CPU3 observed 867529151959 warp", 0 without the TSC's rate. */
static double jump_seconds(const struct view *v)
{
	const struct kernel_log_line *line = find_compensation(v);
	static const char observed[] = " observed ";
	const char *at = line ? strstr(line->text, observed) : NULL;
	double error, hz = tsc_find_hz(v->evidence, &error);

	return at && hz > 0 ? strtod(at + strlen(observed), NULL) / hz : 0;
}

/* Writes by how much the TSCs disagree. */
static void write_warp(const struct view *v, char text[CAUSE_FIGURES_SIZE])
{
	double error, hz = tsc_find_hz(v->evidence, &error), cycles = warp_cycles(v);

	if (cycles > 0)
		text_append(text, CAUSE_FIGURES_SIZE, " by %s cycles", as_count((uint64_t)cycles));
	if (cycles > WARP_ERROR_CYCLES && hz > 0)
		text_append(text, CAUSE_FIGURES_SIZE, " (%s)", as_seconds(cycles / hz));
}

static void write_jump(const struct view *v, char text[CAUSE_FIGURES_SIZE])
{
	double jump = jump_seconds(v);

	snprintf(text, CAUSE_FIGURES_SIZE, " %s by %s", jump < 0 ? "back" : "ahead",
		as_seconds(fabs(jump)));
}

static void write_reason(const struct view *v, char text[CAUSE_FIGURES_SIZE])
{
	snprintf(text, CAUSE_FIGURES_SIZE, ": %s", v->unstable_words);
}

/* A jump of the clock that a program notices. */
#define JUMP_LEAST_S 1e-3

static bool has_warped_at_boot(const struct view *v)
{
	return v->tsc_warp && !(v->tsc_warp->seconds > BOOTED_S) &&
	       !log_is_after_resume(v, v->tsc_warp);
}

static bool has_small_warp(const struct view *v)
{
	double cycles = warp_cycles(v);

	return cycles > 0 && cycles <= WARP_ERROR_CYCLES;
}

/* A CPU that was added long after the kernel had started. */
static bool was_cpu_added(const struct view *v)
{
	return v->tsc_warp && v->tsc_warp->seconds > BOOTED_S;
}

static bool has_jumped(const struct view *v)
{
	return !was_cpu_added(v) && fabs(jump_seconds(v)) >= JUMP_LEAST_S;
}

/* A constant rate, which an invariant TSC has, is what the kernel trusts. */
#define LACKS_INVARIANT                                                                            \
	IS(has_host), NOT(has_switch), NOT(may_be_restored), NOT(on_xen), NOT(tsc_invariant)

#define DISAGREE "The kernel found that the TSCs of this machine's CPUs disagree{figures}"

const struct cause_row causes_unstable[] = {
	{"tsc-unsynchronized", GROUP_TSC, CERTAINTY_PROVEN,
		IF(IS(tsc_wanted), IS(tsc_unsynchronized)), DISAGREE "." TSC_READERS_AFFECTED,
		.texts = {{DISAGREE
			", which is within the error of its own test (some 200 cycles).",
			IF(ASK(has_small_warp))}},
		.figures = write_warp,
		.signs = "The kernel log has \"TSC warp\", \"check_tsc_sync_source failed\" or "
			 "\"inter CPU skew\".",
		.line = MEMBER(tsc_distrust), .with_switch = true, .evidence = cite_firmware,
		.advice = {{&reboot_for_small_warp, IF(IS(machine), ASK(has_warped_at_boot),
							    ASK(has_small_warp), NOT(is_rented))},
			{&start_cold, IF(IS(machine), ASK(has_warped_at_boot), NOT(is_rented))},
			{&firmware_for_resume,
				IF(IS(machine), IS(tsc_warp),
					ANY(ASK_NOT(has_warped_at_boot), IS(is_rented)))},
			{&advice_update_firmware, IF(IS(machine), NOT(tsc_warp))},
			{&start_with_all_cpus, IF(IS(has_host), ASK(was_cpu_added))},
			{&advice_move, IF(IS(has_host), NOT(has_switch))},
			{&advice_ask_about_unstable_tsc, IF(IS(has_host))}}},
	/* kvm_track_tsc_matching() takes the stable bit from a guest whose CPUs differ. */
	{"kvm-clock-cpu-added", GROUP_KVM, CERTAINTY_LIKELY,
		IF(IS(on_kvm_clock), ANY(IS(falls_back), IS(captured)), ASK(was_cpu_added)),
		"The TSC of a CPU that was added to this running guest differs from the others', "
		"so KVM does not mark its clock stable.",
		.signs = "The clocksource is kvm-clock, and the kernel log has \"TSC warp between "
			 "CPUs\" more than a minute after boot.",
		.line = MEMBER(tsc_warp), .advice = {{&start_with_all_cpus, IF(NOT(on_tcg))}}},
	/*
         * tsc_sync.c writes TSC_ADJUST of the CPU, and kvm-clock goes on by the offset from before:
         * by 289 s in "fix cpu hang due to tsc adjustment when kvmclock in use" of March 2021
         * (https://lore.kernel.org/kvm/).
         */
	{"kvm-clock-jumped", GROUP_KVM, CERTAINTY_LIKELY,
		IF(IS(on_kvm_clock), ANY(IS(falls_back), IS(captured)), ASK(has_jumped)),
		"The kernel set the TSC of a CPU that was added to this running guest{figures}, so "
		"that it agrees with the others', and kvm-clock jumped by as much.",
		.figures = write_jump,
		.signs = "The clocksource is kvm-clock, and the kernel log has \"TSC ADJUST "
			 "compensate\" with a difference of a millisecond or more, more than a "
			 "minute after boot.",
		.evidence = cite_jump, .advice = {{&start_with_all_cpus, IF(NOT(on_tcg))}}},
	/* unsynchronized_tsc(): also for clustered boxes, such as vSMP. */
	{"tsc-assumed-unsynchronized", GROUP_TSC, CERTAINTY_PROVEN,
		IF(IS(tsc_wanted), EQ(unstable_reason, UNSTABLE_ASSUMED)),
		ASSUMED
		"they do not advertise a TSC of constant rate, or are in several chassis." MEASURED,
		.texts = {{ASSUMED "they are in several chassis." MEASURED,
				  IF(ANY(HAS(tsc_has_flag, "constant_tsc"),
					  HAS(log_has, "Summit based system")))},
			{ASSUMED "they do not advertise a TSC of constant rate." MEASURED, ALWAYS}},
		.signs = "The kernel log has \"Marking TSC unstable due to TSCs unsynchronized\" "
			 "or \"Summit based system\": the machine has several CPUs, which are not "
			 "Intel's and do not advertise a TSC of constant rate, or several chassis.",
		.line = MEMBER(tsc_marking), .with_switch = true,
		.advice = {{&advice_ask_for_invariant_tsc, IF(LACKS_INVARIANT)}}},
	{"tsc-unsynchronized-chassis", GROUP_TSC, CERTAINTY_PROVEN,
		IF(IS(tsc_wanted), EQ(unstable_reason, UNSTABLE_BY_FIRMWARE)),
		"The firmware reports that the TSCs of this machine's chassis are not "
		"synchronized." TSC_READERS_AFFECTED,
		.signs = "The kernel log has \"Marking TSC unstable due to UV BIOS\".",
		.line = MEMBER(tsc_marking), .with_switch = true,
		.advice = {{&ask_vendor_about_chassis, ALWAYS}}},
	{"tsc-went-back", GROUP_TSC, CERTAINTY_PROVEN,
		IF(IS(tsc_wanted), EQ(unstable_reason, UNSTABLE_WENT_BACK)),
		"KVM found that the TSC of this host went back: CPUs disagree, or it was reset, "
		"as by a suspend, CPU hotplug or the firmware. The guests of this host are "
		"affected, too.",
		.signs = "The kernel log of a host of guests has \"Marking TSC unstable due to "
			 "KVM discovered backwards TSC\".",
		.line = MEMBER(tsc_marking), .with_switch = true,
		.advice = {{&advice_update_firmware, IF(IS(machine))},
			{&advice_ask_about_unstable_tsc, IF(IS(has_host))}}},
	{"tsc-halts-in-idle", GROUP_TSC, CERTAINTY_PROVEN,
		IF(IS(tsc_wanted), EQ(unstable_reason, UNSTABLE_HALTS)),
		"The TSC of this CPU stops in deep idle states (C2 and deeper)." TSC_READERS_AFFECTED,
		.signs = "The kernel log has \"Marking TSC unstable due to TSC halts in idle\"; "
			 "the CPU does not have the flag nonstop_tsc.",
		.line = MEMBER(tsc_marking), .with_switch = true,
		.advice = {{&stay_in_c1, IF(IS(machine))},
			{&advice_ask_for_invariant_tsc, IF(LACKS_INVARIANT)}}},
	{"tsc-halts-in-c1e", GROUP_TSC, CERTAINTY_PROVEN,
		IF(IS(tsc_wanted), EQ(unstable_reason, UNSTABLE_HALTS_IN_C1E)),
		"The TSC of this CPU stops in the idle state C1E, which the firmware has enabled." TSC_READERS_AFFECTED,
		.signs = "The kernel log has \"Marking TSC unstable due to TSC halt in AMD C1E\".",
		.line = MEMBER(tsc_marking), .with_switch = true,
		.advice = {{&disable_c1e, IF(IS(machine))}}},
	{"tsc-rate-changes", GROUP_TSC, CERTAINTY_PROVEN,
		IF(IS(tsc_wanted), EQ(unstable_reason, UNSTABLE_RATE_CHANGES)),
		"The rate of this CPU's TSC changes with the CPU's frequency, so the kernel does "
		"not use it." TSC_READERS_AFFECTED,
		.signs = "The kernel log has \"Marking TSC unstable due to cpufreq changes\"; the "
			 "CPU does not have the flag constant_tsc.",
		.line = MEMBER(tsc_marking), .with_switch = true,
		.advice = {{&advice_ask_for_invariant_tsc, IF(LACKS_INVARIANT)}}},
	/* Before dce7cd62754b, in 5.5, every guest of Hyper-V logged this line. */
	{"tsc-on-hyperv", GROUP_HYPERV, CERTAINTY_PROVEN,
		IF(IS(tsc_wanted), EQ(unstable_reason, UNSTABLE_ON_HYPERV),
			HAS_NOT(kernel_is_before, "5.5")),
		"Hyper-V does not offer an invariant TSC to this guest, so the kernel does not "
		"use the TSC.",
		.signs = "The kernel log of Linux 5.5 or newer has \"Marking TSC unstable due to "
			 "running on Hyper-V\".",
		.line = MEMBER(tsc_distrust), .with_switch = true, .more = HYPERV_CLOCKS,
		.advice = {{&advice_move, IF(NOT(has_switch), NOT(lacks_driver))},
			{&advice_ask_hyperv_for_tsc, IF(NOT(has_switch))}}},
	{"tsc-marked-unstable", GROUP_TSC, CERTAINTY_PROVEN,
		IF(IS(tsc_wanted), EQ(unstable_reason, UNSTABLE_OTHERWISE)),
		"The kernel marked the TSC unstable, for a reason that it logged{figures}.",
		.figures = write_reason,
		.signs = "The kernel log has \"Marking TSC unstable due to\" and a reason that is "
			 "not the clocksource watchdog, such as \"cyrix 5510/5520 detected\".",
		.line = MEMBER(tsc_marking), .with_switch = true},
	{0},
};
