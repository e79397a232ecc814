/* SPDX-License-Identifier: MIT */
/*
 * Judges the warps that were found, or not: the first rule that applies decides. The
 * kernel's clocks come before the bare counter, which only some of them are made of.
 */
#include "model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/time.h"

static __attribute__((format(printf, 5, 6))) void conclude(struct warp_verdict *verdict,
	enum warp_outcome outcome, const char *rule, const char *advice, const char *format, ...)
{
	va_list arguments;

	verdict->verdict = outcome;
	verdict->rule = rule;
	verdict->advice = advice;
	if (advice)
		fact_set_known(&verdict->advice_fact);
	else
		fact_set(&verdict->advice_fact, FACT_ABSENT, "there is nothing to be done");
	verdict->exit_status = outcome == WARP_OK ? 0 : outcome == WARP_WARPS ? 1 : 2;
	va_start(arguments, format);
	vsnprintf(verdict->summary, sizeof(verdict->summary), format, arguments);
	va_end(arguments);
}

static bool has_warps(const struct warp_result *result)
{
	return fact_is_known(&result->fact) && result->warps > 0;
}

/* The kernel's clock that went back furthest; NULL: none did. */
static const struct warp_result *worst_clock(const struct warp_evidence *warp)
{
	static const enum warp_clock_id clocks[] = {WARP_MONOTONIC, WARP_REALTIME, WARP_TIMEOFDAY};
	const struct warp_result *worst = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		const struct warp_result *result = &warp->results[clocks[i]];

		if (has_warps(result) && (!worst || result->largest_ns > worst->largest_ns))
			worst = result;
	}
	return worst;
}

void warp_judge(const struct warp_evidence *warp, struct warp_verdict *verdict)
{
	static const char again[] = "Test for longer (-d), or when the host is less busy.";
	static const char *const go_back =
		"Programs on this host see time run backwards. Change the clocksource (vdsocheck "
		"compare shows which of them warp) and test again; if none helps, report it to "
		"your provider or to the vendor of the firmware.";
	const struct warp_result *worst = worst_clock(warp);
	const struct warp_result *counter = &warp->results[WARP_COUNTER];
	const struct warp_result *kernel = &warp->results[WARP_KERNEL];
	const struct warp_result *monotonic = &warp->results[WARP_MONOTONIC];

	if (!fact_is_known(&warp->fact))
		conclude(verdict, WARP_UNKNOWN, "not-tested", NULL, "no clock could be tested: %s.",
			warp->fact.reason);
	else if (worst && worst->cpu_behind == worst->cpu_ahead)
		conclude(verdict, WARP_WARPS, "clock-backwards", go_back,
			"%s ran backwards on CPU %d, by up to %" PRId64 " ns.", worst->name,
			worst->cpu_behind, worst->largest_ns);
	else if (worst)
		conclude(verdict, WARP_WARPS, "clock-backwards", go_back,
			"%s runs backwards between CPUs: CPU %d was up to %" PRId64
			" ns behind CPU %d.",
			worst->name, worst->cpu_behind, worst->largest_ns, worst->cpu_ahead);
	else if (has_warps(kernel))
		conclude(verdict, WARP_WARPS, "vdso-disagrees",
			"A bug in the kernel, or in the emulator that provides this vDSO: report "
			"it. Another clocksource (vdsocheck compare) may avoid it.",
			"the vDSO and the kernel disagree about CLOCK_MONOTONIC, by up to %" PRId64
			" ns: a program that uses both sees time run backwards.",
			kernel->largest_ns);
	else if (has_warps(counter))
		conclude(verdict, WARP_WARPS, "counters-disagree",
			"Do not switch to tsc, which reads this counter: it would run backwards, "
			"and so would programs that read it directly. If tsc is in use, vdsocheck "
			"compare shows which other clocksources do not warp.",
			"the CPUs' counters (%s) disagree: CPU %d was up to %" PRId64
			" ns behind CPU %d. The kernel's clocks did not run backwards.",
			counter->name, counter->cpu_behind, counter->largest_ns,
			counter->cpu_ahead);
	else if (!fact_is_known(&monotonic->fact))
		conclude(verdict, WARP_UNKNOWN, "not-read",
			monotonic->fact.state == FACT_UNREAD
				? again
				: "Run vdsocheck to find out what is wrong with the vDSO.",
			"CLOCK_MONOTONIC could not be read: %s.", monotonic->fact.reason);
	else if (warp->cpu_count == 1)
		conclude(verdict, WARP_OK, "one-cpu", NULL,
			"no clock ran backwards on CPU %d, the only one available; there is "
			"nothing to compare it with.",
			warp->cpus[0]);
	/* Threads that never ran at the same time saw no warp and could not have seen one. */
	else if (!fact_is_known(&monotonic->apart.fact))
		conclude(verdict, WARP_UNKNOWN, "not-compared", again,
			"CLOCK_MONOTONIC could not be compared between all CPUs: %s.",
			monotonic->apart.fact.reason);
	else if (warp->duration_s < 1)
		conclude(verdict, WARP_OK, "no-warps", NULL,
			"no clock ran backwards between %zu CPUs in %.0f ms.", warp->cpu_count,
			warp->duration_s * MS_PER_SECOND);
	else
		conclude(verdict, WARP_OK, "no-warps", NULL,
			"no clock ran backwards between %zu CPUs in %.1f s.", warp->cpu_count,
			warp->duration_s);
}

const char *const warp_outcome_names[] = {
	[WARP_UNKNOWN] = "unknown",
	[WARP_OK] = "ok",
	[WARP_WARPS] = "warps",
	NULL,
};
