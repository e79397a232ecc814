/* SPDX-License-Identifier: MIT */
/*
 * Recommends a clocksource by what was measured. A whole host is not changed for a
 * gain that noise could have made: either the class changes, from a system call to the vDSO,
 * or the slowest timing of the candidate is clearly below the fastest of the one in use.
 */
#include <math.h>

#include "base/memory.h"
#include "judge.h"
#include "model.h"

/* The least gain that counts, beyond the spread; tests/compare/noise tries equal clocksources. */
#define GAIN_SHARE 0.25
#define GAIN_NS 10.0

/* Fewer timings have no spread. */
#define TIMINGS_LEAST 2

/* Returns why the measurement is incomplete; NULL: it is whole. */
static const char *find_gap(const struct candidate *candidate)
{
	const struct warp_result *warp = &candidate->warp.results[WARP_MONOTONIC];
	const struct fact *facts[] = {&candidate->evidence.proof.fact,
		&candidate->evidence.timing.fact, &candidate->warp.fact, &warp->fact,
		/* A single CPU is compared with no other. */
		candidate->warp.cpu_count > 1 ? &warp->apart.fact : &warp->fact};

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		if (!fact_is_known(facts[i]))
			return facts[i]->reason;
	}
	return candidate->timing_count < TIMINGS_LEAST ? "the calls could not be timed twice"
	                                               : NULL;
}

static void conclude_candidate(struct candidate *candidate)
{
	const double *timings = candidate->timings_ns;
	bool is_whole = fact_is_known(&candidate->fact);
	double least = NAN, greatest = NAN;
	const char *gap = find_gap(candidate);

	for (size_t i = 0; is_whole && i < candidate->timing_count; i++) {
		least = fmin(least, timings[i]);
		greatest = fmax(greatest, timings[i]);
	}
	candidate->cost_ns = least;
	candidate->spread_ns = candidate->timing_count > 1 ? greatest - least : NAN;
	candidate->entries = counts_deciding(&candidate->evidence);
	candidate->warps = 0;
	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		const struct warp_result *result = &candidate->warp.results[id];

		candidate->warps += fact_is_known(&result->fact) ? result->warps : 0;
	}
	if (!is_whole) {
		candidate->state = candidate->is_void ? CANDIDATE_VOID : CANDIDATE_UNTRIED;
		candidate->reason = candidate->fact.reason;
	} else {
		candidate->state = candidate->warps > 0 ? CANDIDATE_WARPS
		                   : gap                ? CANDIDATE_UNSURE
		                                        : CANDIDATE_MEASURED;
		candidate->reason = gap ? gap : "";
	}
	if (is_whole && candidate->entries.attempts > 0)
		fact_set_known(&candidate->proven);
	else
		fact_set(&candidate->proven, FACT_FAILED, "%s", candidate->reason);
}

const char *const candidate_state_names[] = {
	[CANDIDATE_UNTRIED] = "not-tested",
	[CANDIDATE_VOID] = "invalidated",
	[CANDIDATE_UNSURE] = "incomplete",
	[CANDIDATE_WARPS] = "warps",
	[CANDIDATE_MEASURED] = "measured",
	NULL,
};

/* A candidate that the vDSO serves only sometimes falls back, too. */
static enum gain find_gain(const struct candidate *in_use, const struct candidate *candidate)
{
	double saved = in_use->cost_ns - (candidate->cost_ns + candidate->spread_ns);

	if (candidate == in_use || candidate->state != CANDIDATE_MEASURED)
		return GAIN_NONE;
	if (in_use->state == CANDIDATE_WARPS)
		return GAIN_ORDER;
	if (in_use->state != CANDIDATE_MEASURED)
		return GAIN_NONE;
	if (in_use->entries.entered && !candidate->entries.entered &&
		candidate->cost_ns < in_use->cost_ns)
		return GAIN_CLASS;
	return saved >= GAIN_NS && saved >= GAIN_SHARE * in_use->cost_ns ? GAIN_COST : GAIN_NONE;
}

const char *const candidate_gain_names[] = {
	[GAIN_NONE] = "none",
	[GAIN_COST] = "cost",
	[GAIN_CLASS] = "vdso",
	[GAIN_ORDER] = "no-warps",
	NULL,
};

const char *const ranking_verdict_names[] = {
	[RANKING_UNKNOWN] = "unknown",
	[RANKING_OK] = "ok",
	[RANKING_CHANGE] = "change",
	NULL,
};

/* Returns the cheapest with a gain, which may be advised on `host` if that is not NULL. */
static const struct candidate *find_best(
	const struct run_result *result, const struct evidence *host)
{
	const struct candidate *best = NULL;

	for (size_t i = 1; i < result->count; i++) {
		const struct candidate *candidate = &result->candidates[i];

		if (candidate->gain != GAIN_NONE && (!best || candidate->cost_ns < best->cost_ns) &&
			(!host || !advisable_why_not(host, candidate->name)))
			best = candidate;
	}
	return best;
}

void ranking_find(struct run_result *result, const struct evidence *host, struct ranking *ranking)
{
	struct candidate *all = result->candidates;
	bool settled = result->end == RUN_WHOLE && result->restored == SWITCH_DONE;

	*ranking = (struct ranking){.verdict = RANKING_UNKNOWN};
	for (size_t i = 0; i < result->count; i++) {
		conclude_candidate(&all[i]);
		all[i].in_use = i == 0;
		all[i].gain = find_gain(&all[0], &all[i]);
		settled = settled && all[i].state != CANDIDATE_VOID;
	}
	ranking->fastest = find_best(result, NULL);
	ranking->advised = find_best(result, host);
	if (ranking->fastest)
		ranking->why_not = advisable_why_not(host, ranking->fastest->name);
	else if (all[0].state == CANDIDATE_MEASURED)
		ranking->fastest = &all[0];
	/* Nothing is recommended after a run that ended early, or in which others switched. */
	if (settled && ranking->advised)
		ranking->verdict = RANKING_CHANGE;
	else if (settled && all[0].state == CANDIDATE_MEASURED)
		ranking->verdict = RANKING_OK;
}
