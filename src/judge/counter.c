/* SPDX-License-Identifier: MIT */
/*
 * Judges the CPU's counter for programs that read it themselves: what the kernel did with it and
 * why, and what the platform may do to it.
 */
#include "view.h"

const char *const counter_standing_names[] = {
	[COUNTER_NOT_OFFERED] = "not-offered",
	[COUNTER_IN_USE] = "in-use",
	[COUNTER_OFFERED] = "offered",
	[COUNTER_CLEARED] = "cleared",
	[COUNTER_DISABLED] = "disabled",
	[COUNTER_DISTRUSTED] = "distrusted",
	[COUNTER_FAULTY] = "faulty",
	NULL,
};

/* True if the watchdog's figures show a fault of its reference clock, or of the check. */
static bool is_cleared(const struct view *v)
{
	switch (v->watchdog.culprit) {
	case WATCHDOG_WRAPPED:
	case WATCHDOG_STOPPED:
	case WATCHDOG_MISREAD:
	case WATCHDOG_LOST_TICKS:
	case WATCHDOG_LATE:
	case WATCHDOG_DELAYED_READ:
		return true;
	case WATCHDOG_UNDETERMINED:
		return v->tsc_delay;
	default:
		return false;
	}
}

enum counter_standing counter_standing_find(const struct view *v)
{
	const struct clocksource_evidence *clocksource = &v->evidence->clocksource;

	if (fact_is_known(&clocksource->current_fact) &&
		clocksource_is_own_counter(clocksource->current))
		return COUNTER_IN_USE;
	/* A skew, or a guest that was moved or paused, may lie in either clock. */
	if (v->tsc_unsynchronized || v->watchdog.culprit == WATCHDOG_TSC_JUMPED ||
		v->watchdog.culprit == WATCHDOG_TSC_SLOW ||
		(v->unstable_reason >= UNSTABLE_BY_FIRMWARE &&
			v->unstable_reason <= UNSTABLE_RATE_CHANGES))
		return COUNTER_FAULTY;
	if (v->boot_disables_tsc)
		return COUNTER_DISABLED;
	if (v->tsc_distrusted || v->tsc_delay)
		return is_cleared(v) ? COUNTER_CLEARED : COUNTER_DISTRUSTED;
	return v->tsc_offered ? COUNTER_OFFERED : COUNTER_NOT_OFFERED;
}

void judge_counter(const struct evidence *evidence, struct counter_judgment *judgment)
{
	const struct view view = view_of(evidence), *v = &view;

	*judgment = (struct counter_judgment){.standing = counter_standing_find(v),
		.x86 = host_is_x86(evidence),
		.guaranteed = tsc_is_invariant(evidence),
		.trapped = v->counter_trapped,
		.page_unstable = v->on_kvm_clock && v->page_unstable,
		.may_be_restored = v->may_be_restored,
		.stated_mhz = v->tsc_rates.stated,
		.measured_mhz = v->tsc_rates.measured};
	if (judgment->standing >= COUNTER_CLEARED)
		judgment->line = v->tsc_distrust ? v->tsc_distrust : v->tsc_delay;
	/*
	 * Amazon recommends tsc without a condition. A hypervisor for which the kernel sets
	 * tsc_reliable keeps the rate.
	 */
	judgment->may_be_migrated = v->guest && !v->may_be_restored && !v->ec2_xen &&
	                            !platform_is(evidence, "aws-nitro") &&
	                            !tsc_has_flag(evidence, "tsc_reliable");
}
