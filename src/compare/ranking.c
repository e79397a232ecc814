/* SPDX-License-Identifier: MIT */
/*
 * Recommends a clocksource by what was measured. A whole host is not changed for a
 * gain that noise could have made: either the class changes, from a system call to the vDSO,
 * or the slowest timing of the candidate is clearly below the fastest of the one in use.
 */
#include <math.h>

#include "base/memory.h"
#include "base/text.h"
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
		candidate->state = CANDIDATE_NOT_TESTED;
		candidate->reason = candidate->fact.reason;
	} else {
		candidate->state = candidate->warps > 0 ? CANDIDATE_WARPS
		                   : gap                ? CANDIDATE_INCOMPLETE
		                                        : CANDIDATE_MEASURED;
		candidate->reason = gap ? gap : "";
	}
	if (is_whole && candidate->entries.attempts > 0)
		fact_set_known(&candidate->proven);
	else
		fact_set(&candidate->proven, FACT_FAILED, "%s", candidate->reason);
}

const char *const candidate_state_names[] = {
	[CANDIDATE_NOT_TESTED] = "not-tested",
	[CANDIDATE_INCOMPLETE] = "incomplete",
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
static const struct candidate *find_best(const struct run *run, const struct evidence *host)
{
	const struct candidate *best = NULL;

	for (size_t i = 1; i < run->count; i++) {
		const struct candidate *candidate = &run->candidates[i];

		if (candidate->gain != GAIN_NONE && (!best || candidate->cost_ns < best->cost_ns) &&
			(!host || !advisable_why_not(host, candidate->name)))
			best = candidate;
	}
	return best;
}

/* ---- what is said about it ---- */

static void summarize(struct compare_report *report)
{
	const struct run *run = report->run;
	const struct candidate *in_use = &run->candidates[0], *other = report->advised;
	const char *name = report->original;
	const size_t size = sizeof(report->summary);
	char *text = report->summary;
	size_t measured = 0;
	const char *cost = as_ns(in_use->cost_ns);

	for (size_t i = 0; i < run->count; i++)
		measured += run->candidates[i].state >= CANDIDATE_WARPS;
	if (report->verdict == RANKING_CHANGE && other->gain == GAIN_ORDER)
		snprintf(text, size,
			"change %s, which is in use, to %s: %s ran backwards, %s did not in %g s.",
			name, other->name, name, other->name, report->warp_s);
	else if (report->verdict == RANKING_CHANGE)
		snprintf(text, size,
			"change %s, which is in use, to %s: %s ns per call instead of %s ns%s.",
			name, other->name, as_ns(other->cost_ns), cost,
			other->gain == GAIN_CLASS ? ", served by the vDSO" : "");
	else if (report->verdict == RANKING_OK && report->fastest != in_use)
		snprintf(text, size,
			"keep %s, which is in use: %s ns per call. %s takes %s ns, but is not "
			"recommended here.",
			name, cost, report->fastest->name, as_ns(report->fastest->cost_ns));
	else if (report->verdict == RANKING_OK)
		snprintf(text, size,
			"keep %s, which is in use: %s ns per call; no other clocksource %s.", name,
			cost, measured > 1 ? "is clearly faster" : "could be measured");
	else if (run->end != RUN_WHOLE)
		snprintf(text, size,
			"no recommendation; %s was in use. %zu of %zu clocksources %s measured: "
			"%s.",
			name, measured, run->count, measured == 1 ? "was" : "were",
			run->why.reason);
	else if (run->restored != SWITCH_DONE)
		snprintf(text, size, "no recommendation; %s was in use and is not restored.", name);
	else if (in_use->state == CANDIDATE_WARPS)
		snprintf(text, size,
			"%s, which is in use, ran backwards, and no other clocksource can be "
			"recommended.",
			name);
	else
		snprintf(text, size,
			"no recommendation; %s, which is in use, could not be measured: %s.", name,
			in_use->reason);
}

static void conclude_advice(struct compare_report *report)
{
	struct fact *fact = &report->advice_fact;
	const char *to;

	if (report->verdict == RANKING_UNKNOWN) {
		fact_set(fact, FACT_ABSENT, "the measurement does not allow a recommendation");
	} else if (report->verdict == RANKING_OK && report->why_not) {
		fact_set(fact, FACT_ABSENT, "%s is not recommended, because %s",
			report->fastest->name, report->why_not);
	} else if (report->verdict == RANKING_OK) {
		fact_set(fact, FACT_ABSENT, "no other clocksource is clearly faster");
	} else {
		fact_set_known(fact);
		to = report->advised->name;
		snprintf(report->command, sizeof(report->command), "echo %s | sudo tee %s%s", to,
			report->run->sw->tree, CLOCKSOURCE_CURRENT);
		snprintf(report->undo, sizeof(report->undo), "echo %s | sudo tee %s%s",
			report->original, report->run->sw->tree, CLOCKSOURCE_CURRENT);
		snprintf(report->parameter, sizeof(report->parameter), "clocksource=%s", to);
	}
}

void compare_conclude(struct compare_report *report, const struct evidence *host)
{
	const struct run *run = report->run;
	struct candidate *all = run->candidates;
	bool settled = run->end == RUN_WHOLE && run->restored == SWITCH_DONE;

	for (size_t i = 0; i < run->count; i++) {
		conclude_candidate(&all[i]);
		all[i].in_use = i == 0;
		all[i].gain = find_gain(&all[0], &all[i]);
	}
	report->fastest = find_best(run, NULL);
	report->advised = find_best(run, host);
	if (report->fastest)
		report->why_not = advisable_why_not(host, report->fastest->name);
	else if (all[0].state == CANDIDATE_MEASURED)
		report->fastest = &all[0];
	/* Nothing is recommended after a run that ended early. */
	if (settled && report->advised)
		report->verdict = RANKING_CHANGE;
	else if (settled && all[0].state == CANDIDATE_MEASURED)
		report->verdict = RANKING_OK;
	if (report->fastest)
		fact_set_text(&report->fastest_name, report->fastest->name);
	else
		fact_set(&report->fastest_name.fact, FACT_ABSENT,
			"the clocksource in use could not be measured");
	summarize(report);
	conclude_advice(report);
}
