/* SPDX-License-Identifier: MIT */
/* Says what the kernel did with the CPU's counter, on which programs that read it themselves rely.
 */
#include "view.h"

/* True if the watchdog's figures show a fault of its reference clock, or of the check. */
static bool is_cleared(const struct view *v)
{
	switch (v->watchdog.culprit) {
	case WATCHDOG_REFERENCE:
	case WATCHDOG_CHECK:
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
	if (v->tsc_unsynchronized || v->watchdog.culprit == WATCHDOG_TSC ||
		(v->unstable_reason >= UNSTABLE_BY_FIRMWARE &&
			v->unstable_reason <= UNSTABLE_RATE_CHANGES))
		return COUNTER_FAULTY;
	if (v->boot_disables_tsc)
		return COUNTER_DISABLED;
	if (v->tsc_distrusted || v->tsc_delay)
		return is_cleared(v) ? COUNTER_CLEARED : COUNTER_DISTRUSTED;
	return v->tsc_offered ? COUNTER_OFFERED : COUNTER_NOT_OFFERED;
}
