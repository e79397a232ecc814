/* SPDX-License-Identifier: MIT */
/*
 * Judges the warps that were found, or not: the first rule that applies decides. The
 * kernel's clocks come before the bare counter, which only some of them are made of.
 */
#include "model.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"

struct rule {
	const char *id;
	enum warp_outcome verdict;
	bool (*applies)(const struct warp_evidence *warp);
	void (*write)(const struct warp_evidence *warp, char *summary, size_t size);
	const char *advice;
};

static bool has_warps(const struct warp_evidence *warp, enum warp_clock_id id)
{
	return fact_is_known(&warp->results[id].fact) && warp->results[id].warps > 0;
}

static bool was_not_tested(const struct warp_evidence *warp)
{
	return !fact_is_known(&warp->fact);
}

static void write_not_tested(const struct warp_evidence *warp, char *summary, size_t size)
{
	snprintf(summary, size, "no clock could be tested: %s.", warp->fact.reason);
}

/* The kernel's clock that went back furthest; WARP_CLOCK_COUNT: none did. */
static enum warp_clock_id worst_clock(const struct warp_evidence *warp)
{
	static const enum warp_clock_id clocks[] = {WARP_MONOTONIC, WARP_REALTIME, WARP_TIMEOFDAY};
	enum warp_clock_id worst = WARP_CLOCK_COUNT;
	int64_t largest = 0;

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (has_warps(warp, clocks[i]) && warp->results[clocks[i]].largest_ns > largest) {
			worst = clocks[i];
			largest = warp->results[worst].largest_ns;
		}
	}
	return worst;
}

static bool runs_backwards(const struct warp_evidence *warp)
{
	return worst_clock(warp) != WARP_CLOCK_COUNT;
}

static void write_backwards(const struct warp_evidence *warp, char *summary, size_t size)
{
	enum warp_clock_id worst = worst_clock(warp);
	const struct warp_result *result = &warp->results[worst];

	if (result->cpu_behind == result->cpu_ahead)
		snprintf(summary, size, "%s ran backwards on CPU %d, by up to %" PRId64 " ns.",
			warp_clock_name(worst), result->cpu_behind, result->largest_ns);
	else
		snprintf(summary, size,
			"%s runs backwards between CPUs: CPU %d was up to %" PRId64
			" ns behind CPU %d.",
			warp_clock_name(worst), result->cpu_behind, result->largest_ns,
			result->cpu_ahead);
}

static bool vdso_disagrees(const struct warp_evidence *warp)
{
	return has_warps(warp, WARP_KERNEL);
}

static void write_disagrees(const struct warp_evidence *warp, char *summary, size_t size)
{
	snprintf(summary, size,
		"the vDSO and the kernel disagree about CLOCK_MONOTONIC, by up to %" PRId64
		" ns: a program that uses both sees time run backwards.",
		warp->results[WARP_KERNEL].largest_ns);
}

static bool counters_disagree(const struct warp_evidence *warp)
{
	return has_warps(warp, WARP_COUNTER);
}

static void write_counters(const struct warp_evidence *warp, char *summary, size_t size)
{
	const struct warp_result *result = &warp->results[WARP_COUNTER];

	snprintf(summary, size,
		"the CPUs' counters (%s) disagree: CPU %d was up to %" PRId64
		" ns behind CPU %d. The kernel's clocks did not run backwards.",
		warp_clock_name(WARP_COUNTER), result->cpu_behind, result->largest_ns,
		result->cpu_ahead);
}

static bool is_single_cpu(const struct warp_evidence *warp)
{
	return warp->cpu_count == 1;
}

static void write_single_cpu(const struct warp_evidence *warp, char *summary, size_t size)
{
	snprintf(summary, size,
		"no clock ran backwards on CPU %d, the only one available; there is nothing to "
		"compare it with.",
		warp->cpus[0]);
}

static bool is_not_read(const struct warp_evidence *warp)
{
	return !fact_is_known(&warp->results[WARP_MONOTONIC].fact);
}

static void write_not_read(const struct warp_evidence *warp, char *summary, size_t size)
{
	snprintf(summary, size, "CLOCK_MONOTONIC could not be read: %s.",
		warp->results[WARP_MONOTONIC].fact.reason);
}

/* Threads that never ran at the same time saw no warp and could not have seen one. */
static bool is_not_compared(const struct warp_evidence *warp)
{
	return !fact_is_known(&warp->results[WARP_MONOTONIC].apart_fact);
}

static void write_not_compared(const struct warp_evidence *warp, char *summary, size_t size)
{
	snprintf(summary, size, "CLOCK_MONOTONIC could not be compared between all CPUs: %s.",
		warp->results[WARP_MONOTONIC].apart_fact.reason);
}

static bool always(const struct warp_evidence *warp)
{
	(void)warp;
	return true;
}

static void write_no_warps(const struct warp_evidence *warp, char *summary, size_t size)
{
	double seconds = (double)warp->duration_ns / NS_PER_SECOND;

	if (seconds < 1)
		snprintf(summary, size, "no clock ran backwards between %zu CPUs in %.0f ms.",
			warp->cpu_count, seconds * MS_PER_SECOND);
	else
		snprintf(summary, size, "no clock ran backwards between %zu CPUs in %.1f s.",
			warp->cpu_count, seconds);
}

/* The first that applies decides. */
static const struct rule rules[] = {
	{"not-tested", WARP_UNKNOWN, was_not_tested, write_not_tested, NULL},
	{"clock-backwards", WARP_WARPS, runs_backwards, write_backwards,
		"Programs on this host see time run backwards. Change the clocksource "
		"(vdsocheck compare shows which of them warp) and test again; if none helps, "
		"report it to your provider or to the vendor of the firmware."},
	{"vdso-disagrees", WARP_WARPS, vdso_disagrees, write_disagrees,
		"A bug in the kernel, or in the emulator that provides this vDSO: report it. "
		"Another clocksource (vdsocheck compare) may avoid it."},
	{"counters-disagree", WARP_WARPS, counters_disagree, write_counters,
		"Do not switch to tsc, which reads this counter: it would run backwards, and so "
		"would programs that read it directly. If tsc is in use, vdsocheck compare shows "
		"which other clocksources do not warp."},
	{"not-read", WARP_UNKNOWN, is_not_read, write_not_read,
		"Run vdsocheck to find out what is wrong with the vDSO."},
	{"one-cpu", WARP_OK, is_single_cpu, write_single_cpu, NULL},
	{"not-compared", WARP_UNKNOWN, is_not_compared, write_not_compared,
		"Test for longer (-d), or when the host is less busy."},
	{"no-warps", WARP_OK, always, write_no_warps, NULL},
};

void warp_judge(const struct warp_evidence *warp, struct warp_verdict *verdict)
{
	const struct rule *rule = rules;

	while (!rule->applies(warp))
		rule++;
	verdict->verdict = rule->verdict;
	verdict->rule = rule->id;
	verdict->advice = rule->advice;
	verdict->exit_status = rule->verdict == WARP_OK ? 0 : rule->verdict == WARP_WARPS ? 1 : 2;
	rule->write(warp, verdict->summary, sizeof(verdict->summary));
}

const char *const warp_outcome_names[] = {
	[WARP_UNKNOWN] = "unknown",
	[WARP_OK] = "ok",
	[WARP_WARPS] = "warps",
	NULL,
};
