/* SPDX-License-Identifier: MIT */
/*
 * Causes in the kernel's own reason to mark the TSC unstable: "Marking TSC unstable due to REASON".
 * The reasons are those of all callers of mark_tsc_unstable() in 3.10 to 7.2, listed with their
 * files in tests/lore/unstable.txt. Only the first call logs one. The watchdog's, which says
 * nothing about which clock was wrong, has a file of its own.
 */
#include "rules.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static const struct {
	const char *words; /* how the reason begins */
	enum unstable_reason reason;
} reasons[] = {
	{"clocksource watchdog", UNSTABLE_BY_WATCHDOG},
	{"check_tsc_sync_source failed", UNSTABLE_WARPED},
	{"TSCs unsynchronized", UNSTABLE_ASSUMED},
	{"Summit based system", UNSTABLE_ASSUMED},
	{"UV BIOS", UNSTABLE_BY_FIRMWARE},
	{"KVM discovered backwards TSC", UNSTABLE_WENT_BACK},
	{"TSC halts in idle", UNSTABLE_HALTS},
	{"TSC halt in AMD C1E", UNSTABLE_HALTS_IN_C1E},
	{"cpufreq changes", UNSTABLE_RATE_CHANGES},
	{"running on Hyper-V", UNSTABLE_ON_HYPERV},
	{"could not calculate TSC", UNSTABLE_UNCALIBRATED},
	{"boot parameter", UNSTABLE_BY_BOOT},
};

const char *unstable_find(const struct evidence *evidence, enum unstable_reason *reason)
{
	static const char marking[] = "Marking TSC unstable due to ";
	const struct kernel_log_line *line = log_find(evidence, marking);
	const char *words;

	*reason = UNSTABLE_UNSAID;
	if (!line)
		return NULL;
	words = strstr(line->text, marking) + strlen(marking);
	*reason = UNSTABLE_OTHERWISE;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (strncmp(words, reasons[i].words, strlen(reasons[i].words)) == 0)
			*reason = reasons[i].reason;
	}
	return words;
}

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
	.text = "Update the firmware. Do not force the TSC: the machine's own firmware says that it "
		"is wrong. If it still does, ask the machine's vendor.",
	.ask = "The firmware reports the TSCs of this machine's chassis as not synchronized, so "
	       "Linux does not use the TSC (\"UV BIOS\"). Is a part faulty, or a newer firmware "
	       "needed?"};

const struct advice_row advice_ask_hyperv_for_tsc = {"ask-hyperv-for-tsc", RANK_ASK,
	.text = "Ask your provider or platform team.",
	.ask = "Hyper-V does not offer this guest AccessTscInvariantControls, and the guest does "
	       "not use the reference TSC page, so every clock read is a system call. Can it run "
	       "on a host that offers one of them?"};

#define ASSUMED "The kernel assumes that the TSCs of this machine's CPUs disagree, since "
#define MEASURED " It has not measured them, as `vdsocheck warp` does."

/* check_tsc_sync_source() compares them at boot, at CPU hotplug and at resume. */
static const struct advice_row start_cold = {"start-cold", RANK_UPDATE, .actor = ACTOR_HOST,
	.text = "Power the machine off, and on after some seconds: TSCs that disagree after a warm "
		"start may agree after a cold one. If they do not, update the firmware. Do not "
		"force the TSC: the kernel's measurements show that it is wrong."};

static const struct advice_row start_with_all_cpus = {"start-with-all-cpus", RANK_UPDATE,
	.actor = ACTOR_HOST,
	.text = "Restart this guest: the TSCs of its CPUs then start together. Give it all its CPUs "
		"at the start, and add none while it runs.",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

/* Finds a line of check_tsc_sync_source(). */
static const struct kernel_log_line *find_warp(const struct evidence *evidence)
{
	const struct kernel_log_line *line = log_find(evidence, "TSC warp between CPUs");

	return line ? line : log_find(evidence, "check_tsc_sync_source failed");
}

/* Finds the warp that a CPU showed which was added long after the kernel had started. */
static const struct kernel_log_line *find_added_cpu(const struct evidence *evidence)
{
	const struct kernel_log_line *line = find_warp(evidence);

	return line && line->seconds > BOOTED_S ? line : NULL;
}

void cause_unstable(const struct view *v, struct cause_list *list)
{
	const struct evidence *evidence = v->evidence;
	bool is_wanted = v->second_choice || v->tsc_lost;
	enum unstable_reason reason = is_wanted ? v->unstable_reason : UNSTABLE_UNSAID;
	const struct kernel_log_line *line = log_find(evidence, "Marking TSC unstable due to ");
	const struct kernel_log_line *added = find_added_cpu(evidence);
	const struct kernel_log_line *warp = find_warp(evidence);
	bool is_at_boot = warp && !(warp->seconds > BOOTED_S) && !log_is_after_resume(v, warp);
	bool has_host = v->guest && !v->on_tcg && !v->lacks_driver;
	/* A constant rate, which an invariant TSC has, is what the kernel trusts. */
	bool asks_for_invariant = has_host && !v->has_switch && !v->may_be_restored && !v->on_xen &&
	                          !tsc_is_invariant(evidence);
	bool has_chassis =
		tsc_has_flag(evidence, "constant_tsc") || log_find(evidence, "Summit based system");
	char other[CAUSE_TEXT_SIZE];
	const struct cause_row rows[] = {
		{"tsc-unsynchronized", is_wanted && v->tsc_unsynchronized, CERTAINTY_PROVEN, NULL,
			"The kernel found that the TSCs of this machine's CPUs "
			"disagree." TSC_READERS_AFFECTED,
			.signs = "The kernel log has \"TSC warp\", \"check_tsc_sync_source "
				 "failed\" or \"inter CPU skew\".",
			.line = v->tsc_distrust, .with_switch = true,
			.advice = {{&start_cold, !v->guest && is_at_boot},
				{&advice_update_firmware, !v->guest && !is_at_boot},
				{&advice_move, has_host && !v->has_switch},
				{&advice_ask_about_unstable_tsc, has_host}}},
		/* kvm_track_tsc_matching() takes the stable bit from a guest whose CPUs differ. */
		{"kvm-clock-cpu-added",
			v->on_kvm_clock && (v->falls_back || !evidence->live) && added,
			CERTAINTY_LIKELY, NULL,
			"The TSC of a CPU that was added to this running guest differs from the "
			"others', so KVM does not mark its clock stable.",
			.signs = "The clocksource is kvm-clock, and the kernel log has \"TSC warp "
				 "between CPUs\" more than a minute after boot.",
			.line = added, .advice = {{&start_with_all_cpus, !v->on_tcg}}},
		/* unsynchronized_tsc(): also for clustered boxes, such as vSMP. */
		{"tsc-assumed-unsynchronized", reason == UNSTABLE_ASSUMED, CERTAINTY_PROVEN, NULL,
			has_chassis ? ASSUMED "they are in several chassis." MEASURED
				    : ASSUMED
				"they do not advertise a TSC of constant rate." MEASURED,
			.means = ASSUMED "they do not advertise a TSC of constant rate, or are in "
					 "several chassis." MEASURED,
			.signs =
				"The kernel log has \"Marking TSC unstable due to TSCs "
				"unsynchronized\" or \"Summit based system\": the machine has several CPUs, which are not "
				"Intel's and do not advertise a TSC of constant rate, or several "
				"chassis.",
			.line = line, .with_switch = true,
			.advice = {{&advice_ask_for_invariant_tsc, asks_for_invariant}}},
		{"tsc-unsynchronized-chassis", reason == UNSTABLE_BY_FIRMWARE, CERTAINTY_PROVEN,
			NULL,
			"The firmware reports that the TSCs of this machine's chassis are not "
			"synchronized." TSC_READERS_AFFECTED,
			.signs = "The kernel log has \"Marking TSC unstable due to UV BIOS\".",
			.line = line, .with_switch = true,
			.advice = {{&ask_vendor_about_chassis, true}}},
		{"tsc-went-back", reason == UNSTABLE_WENT_BACK, CERTAINTY_PROVEN, NULL,
			"KVM found that the TSC of this host went back: CPUs disagree, or it was "
			"reset, as by a suspend, CPU hotplug or the firmware. The guests of this "
			"host are affected, too.",
			.signs = "The kernel log of a host of guests has \"Marking TSC unstable "
				 "due to KVM discovered backwards TSC\".",
			.line = line, .with_switch = true,
			.advice = {{&advice_update_firmware, !v->guest},
				{&advice_ask_about_unstable_tsc, has_host}}},
		{"tsc-halts-in-idle", reason == UNSTABLE_HALTS, CERTAINTY_PROVEN, NULL,
			"The TSC of this CPU stops in deep idle states (C2 and "
			"deeper)." TSC_READERS_AFFECTED,
			.signs = "The kernel log has \"Marking TSC unstable due to TSC halts in "
				 "idle\"; the CPU does not have the flag nonstop_tsc.",
			.line = line, .with_switch = true,
			.advice = {{&stay_in_c1, !v->guest},
				{&advice_ask_for_invariant_tsc, asks_for_invariant}}},
		{"tsc-halts-in-c1e", reason == UNSTABLE_HALTS_IN_C1E, CERTAINTY_PROVEN, NULL,
			"The TSC of this CPU stops in the idle state C1E, which the firmware has "
			"enabled." TSC_READERS_AFFECTED,
			.signs = "The kernel log has \"Marking TSC unstable due to TSC halt in AMD "
				 "C1E\".",
			.line = line, .with_switch = true, .advice = {{&disable_c1e, !v->guest}}},
		{"tsc-rate-changes", reason == UNSTABLE_RATE_CHANGES, CERTAINTY_PROVEN, NULL,
			"The rate of this CPU's TSC changes with the CPU's frequency, so the "
			"kernel does not use it." TSC_READERS_AFFECTED,
			.signs = "The kernel log has \"Marking TSC unstable due to cpufreq "
				 "changes\"; the CPU does not have the flag constant_tsc.",
			.line = line, .with_switch = true,
			.advice = {{&advice_ask_for_invariant_tsc, asks_for_invariant}}},
		/* Before dce7cd62754b, in 5.5, every guest of Hyper-V logged this line. */
		{"tsc-on-hyperv", reason == UNSTABLE_ON_HYPERV && !kernel_is_before(evidence, 5, 5),
			CERTAINTY_PROVEN, NULL,
			"Hyper-V does not offer an invariant TSC to this guest, so the kernel does "
			"not use the TSC.",
			.signs = "The kernel log of Linux 5.5 or newer has \"Marking TSC unstable "
				 "due to running on Hyper-V\".",
			.more = HYPERV_CLOCKS, .line = v->tsc_distrust, .with_switch = true,
			.advice = {{&advice_move, !v->has_switch && !v->lacks_driver},
				{&advice_ask_hyperv_for_tsc, !v->has_switch}}},
		{"tsc-marked-unstable", reason == UNSTABLE_OTHERWISE, CERTAINTY_PROVEN, NULL, other,
			.means = "The kernel marked the TSC unstable, for a reason that its log "
				 "has.",
			.signs = "The kernel log has \"Marking TSC unstable due to\" and a reason "
				 "that is not the clocksource watchdog, such as \"cyrix 5510/5520 "
				 "detected\".",
			.line = line, .with_switch = true},
	};

	snprintf(other, sizeof(other),
		"The kernel marked the TSC unstable, and gives as reason: %s.",
		v->unstable_words ? v->unstable_words : "");
	cause_add(list, v, rows, ARRAY_SIZE(rows));
}
