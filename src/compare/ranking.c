/* SPDX-License-Identifier: MIT */
/*
 * Which clocksource is to be used, from what was measured. A whole host is not changed for a
 * gain that noise could have made: either the class changes, from a system call to the vDSO,
 * or the slowest timing of the candidate is clearly below the fastest of the one in use.
 */
#include <string.h>

#include "base/units.h"
#include "judge.h"
#include "model.h"

/* Beyond the spread of both; tests/compare/noise holds them against equal clocksources. */
#define GAIN_SHARE 0.25
#define GAIN_NS 10.0

/* Fewer timings than these have no spread. */
#define TIMINGS_LEAST 2

uint64_t candidate_warps(const struct candidate *candidate)
{
	uint64_t warps = 0;

	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		if (fact_is_known(&candidate->warp.results[id].fact))
			warps += candidate->warp.results[id].warps;
	}
	return warps;
}

static double extreme_timing_ns(const struct candidate *candidate, bool largest)
{
	double ns = candidate->timing_count ? candidate->timings_ns[0] : 0;

	for (size_t i = 1; i < candidate->timing_count; i++) {
		double timing = candidate->timings_ns[i];

		if (largest ? timing > ns : timing < ns)
			ns = timing;
	}
	return ns;
}

double candidate_cost_ns(const struct candidate *candidate)
{
	return extreme_timing_ns(candidate, false);
}

double candidate_spread_ns(const struct candidate *candidate)
{
	return extreme_timing_ns(candidate, true) - extreme_timing_ns(candidate, false);
}

static const struct fact *first_unknown(const struct candidate *candidate)
{
	const struct warp_result *warp = &candidate->warp.results[WARP_MONOTONIC];
	/* CPUs that were not compared say nothing. A single one has none to be compared with. */
	const struct fact *facts[] = {&candidate->evidence.proof.fact,
		&candidate->evidence.timing.fact, &candidate->warp.fact, &warp->fact,
		candidate->warp.cpu_count > 1 ? &warp->apart_fact : &warp->fact};

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		if (!fact_is_known(facts[i]))
			return facts[i];
	}
	return NULL;
}

enum candidate_state candidate_state(const struct candidate *candidate)
{
	if (!fact_is_known(&candidate->changed))
		return CANDIDATE_VOID;
	if (!fact_is_known(&candidate->switched) || !fact_is_known(&candidate->fact))
		return CANDIDATE_UNTRIED;
	if (candidate_warps(candidate) > 0)
		return CANDIDATE_WARPS;
	if (first_unknown(candidate) || candidate->timing_count < TIMINGS_LEAST)
		return CANDIDATE_UNSURE;
	return CANDIDATE_MEASURED;
}

const char *const candidate_state_names[] = {
	[CANDIDATE_UNTRIED] = "untried",
	[CANDIDATE_VOID] = "void",
	[CANDIDATE_UNSURE] = "unsure",
	[CANDIDATE_WARPS] = "warps",
	[CANDIDATE_MEASURED] = "measured",
	NULL,
};

const char *candidate_reason(const struct candidate *candidate)
{
	const struct fact *unknown;

	switch (candidate_state(candidate)) {
	case CANDIDATE_UNTRIED:
		/* What ended the measurement says more than the switch, unless that failed. */
		if (candidate->switched.state == FACT_FAILED || fact_is_known(&candidate->fact))
			return candidate->switched.reason;
		return candidate->fact.reason;
	case CANDIDATE_VOID:
		return candidate->changed.reason;
	case CANDIDATE_UNSURE:
	case CANDIDATE_WARPS:
		unknown = first_unknown(candidate);
		if (unknown)
			return unknown->reason;
		return candidate->timing_count < TIMINGS_LEAST
		               ? "the calls could not be timed twice"
		               : "";
	default:
		return "";
	}
}

/* Not even sometimes: a clocksource that is served in part is no remedy. */
static bool falls_back(const struct candidate *candidate)
{
	return counts_deciding(&candidate->evidence).entered > 0;
}

enum gain ranking_gain(const struct candidate *in_use, const struct candidate *other)
{
	enum candidate_state state = candidate_state(in_use);
	double cost = candidate_cost_ns(in_use);
	double saved = cost - extreme_timing_ns(other, true);

	if (other == in_use || candidate_state(other) != CANDIDATE_MEASURED)
		return GAIN_NONE;
	if (state == CANDIDATE_WARPS)
		return GAIN_ORDER;
	if (state != CANDIDATE_MEASURED)
		return GAIN_NONE;
	if (falls_back(in_use) && !falls_back(other) && candidate_cost_ns(other) < cost)
		return GAIN_CLASS;
	return saved >= GAIN_NS && saved >= GAIN_SHARE * cost ? GAIN_COST : GAIN_NONE;
}

const char *const ranking_gain_names[] = {
	[GAIN_NONE] = "none",
	[GAIN_COST] = "price",
	[GAIN_CLASS] = "class",
	[GAIN_ORDER] = "order",
	NULL,
};

const char *const ranking_verdict_names[] = {
	[RANKING_UNKNOWN] = "unknown",
	[RANKING_OK] = "ok",
	[RANKING_CHANGE] = "change",
	NULL,
};

/* The cheapest with a gain; of equals the first. `host`: of those that may be advised only. */
static size_t find_gain(const struct run_result *result, const struct evidence *host)
{
	const struct candidate *all = result->candidates;
	size_t best = RANKING_NONE;

	for (size_t i = 1; i < result->count; i++) {
		if (ranking_gain(&all[0], &all[i]) == GAIN_NONE ||
			(host && !advisable_clocksource(host, all[i].name, NULL)))
			continue;
		if (best == RANKING_NONE ||
			candidate_cost_ns(&all[i]) < candidate_cost_ns(&all[best]))
			best = i;
	}
	return best;
}

/* Nothing is recommended after a run that was ended early, or during which others switched. */
static enum ranking_verdict judge(const struct run_result *result, const struct ranking *ranking)
{
	if (result->end != RUN_WHOLE || result->restored != SWITCH_DONE)
		return RANKING_UNKNOWN;
	for (size_t i = 0; i < result->count; i++) {
		if (candidate_state(&result->candidates[i]) == CANDIDATE_VOID)
			return RANKING_UNKNOWN;
	}
	if (ranking->advised != RANKING_NONE)
		return RANKING_CHANGE;
	return candidate_state(&result->candidates[0]) == CANDIDATE_MEASURED ? RANKING_OK
	                                                                     : RANKING_UNKNOWN;
}

void ranking_find(
	const struct run_result *result, const struct evidence *host, struct ranking *ranking)
{
	*ranking = (struct ranking){.fastest = RANKING_NONE, .advised = RANKING_NONE};
	if (result->count == 0)
		return;
	ranking->fastest = find_gain(result, NULL);
	ranking->advised = find_gain(result, host);
	if (ranking->fastest != RANKING_NONE)
		advisable_clocksource(
			host, result->candidates[ranking->fastest].name, &ranking->why_not);
	else if (candidate_state(&result->candidates[0]) == CANDIDATE_MEASURED)
		ranking->fastest = 0;
	ranking->verdict = judge(result, ranking);
}
