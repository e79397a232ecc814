/* SPDX-License-Identifier: MIT */
/*
 * Causes in a better clocksource that the kernel does not use: it is disabled on the command line,
 * it was asked for and refused, the kernel was built without it, or it was removed.
 */
#include "rules.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

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
		static const char key[] = "clocksource=";

		if (!text_starts(word, key))
			continue;
		word.at += sizeof(key) - 1;
		word.length -= sizeof(key) - 1;
		text_copy_span(name, CLOCKSOURCE_NAME_SIZE, word);
	}
	if (clocksource_is(evidence, name) || clocksource_is_offered(evidence, name))
		name[0] = '\0';
}

static bool is_boot_refused(const struct view *view)
{
	char name[CLOCKSOURCE_NAME_SIZE];

	find_refused(view->evidence, name);
	return view->is_plain && *name;
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

static bool is_kvm_clock_disabled(const struct view *view)
{
	return view_is_second_choice(view) && host_is_guest(view->evidence) &&
	       boot_has(view->evidence, "no-kvmclock");
}

static bool is_kvm_clock_unused(const struct view *view)
{
	const struct evidence *evidence = view->evidence;
	const struct flag_fact *offered = &evidence->host.kvm_clock_offered;

	return view_is_second_choice(view) && fact_is_known(&offered->fact) && offered->value &&
	       fact_is_known(&evidence->clocksource.available_fact) &&
	       !clocksource_is_offered(evidence, "kvm-clock") &&
	       !boot_has(evidence, "no-kvmclock") && !log_find(evidence, "kvm-clock: Using");
}

static void support_kvm_clock(const struct view *view, struct cause *cause)
{
	support_add(cause, "CPUID: the hypervisor offers kvm-clock");
	support_kernel(view, cause);
}

/* "Switched to clocksource tsc" and not "tsc-early". */
static const struct kernel_log_line *tsc_line(const struct view *view)
{
	static const char text[] = "Switched to clocksource tsc";
	const struct kernel_log_line *line = log_find(view->evidence, text);

	while (line && strstr(line->text, text)[sizeof(text) - 1])
		line = log_find_after(view->evidence, line, text);
	return line;
}

bool view_is_tsc_unbound(const struct view *view)
{
	return view_is_second_choice(view) &&
	       fact_is_known(&view->evidence->clocksource.available_fact) &&
	       !clocksource_is_offered(view->evidence, "tsc") && tsc_line(view) &&
	       !log_find_tsc_distrust(view->evidence) && !view_has_tsc_delay(view);
}

static void support_unbound(const struct view *view, struct cause *cause)
{
	const struct kernel_log_line *line = tsc_line(view);

	support_add_log(cause, line);
	support_add_log(cause, log_find_after(view->evidence, line, "Switched to clocksource"));
}

static const struct advice_row kernel_with_kvm_guest = {.id = "kernel-with-kvm-guest",
	.effort = EFFORT_UPDATE,
	.text = "Use a kernel that was built with CONFIG_KVM_GUEST (and CONFIG_PARAVIRT): its vDSO "
		"can read kvm-clock, which the hypervisor offers."};

static const struct advice_row reboot_for_tsc = {.id = "reboot-for-tsc",
	.effort = EFFORT_UNDO,
	.text = "Reboot: the kernel registers tsc again. Find what wrote to unbind_clocksource, "
		"such as a tuning script, before it does so again.",
	.steps = {{NULL, "sudo reboot"}, {NULL, "vdsocheck"}}};

const struct cause_row cause_unused_rows[] = {
	{.id = "boot-clocksource-refused",
		.text = "The clocksource named on the kernel command line was refused: the kernel "
			"does not offer it.",
		.more = "https://docs.kernel.org/admin-guide/kernel-parameters.html",
		.applies = is_boot_refused,
		.certainty = CERTAINTY_LIKELY,
		.proves = is_refused_in_log,
		.support = support_refused},
	{.id = "kvm-clock-disabled",
		.text = "kvm-clock is disabled on the kernel command line.",
		.applies = is_kvm_clock_disabled,
		.certainty = CERTAINTY_PROVEN,
		.support = support_boot,
		.advice = (const struct advice_row *const[]){&advice_drop_boot, NULL}},
	{.id = "kvm-clock-unused",
		.text = "The hypervisor offers kvm-clock, but this kernel does not use it: it was "
			"built without CONFIG_KVM_GUEST.",
		.applies = is_kvm_clock_unused,
		.certainty = CERTAINTY_LIKELY,
		.support = support_kvm_clock,
		.advice = (const struct advice_row *const[]){&kernel_with_kvm_guest, NULL}},
	{.id = "tsc-unbound",
		.text = "The kernel used tsc and has left it without a complaint: it was removed by "
			"a write to unbind_clocksource.",
		.applies = view_is_tsc_unbound,
		.certainty = CERTAINTY_LIKELY,
		.support = support_unbound,
		.advice = (const struct advice_row *const[]){&reboot_for_tsc, NULL}},
	{0},
};
