/* SPDX-License-Identifier: MIT */
/*
 * Recommends a clocksource by what was measured. A whole host is not changed for a
 * gain that noise could have made: either the class changes, from a system call to the vDSO,
 * or the slowest timing of the candidate is clearly below the fastest of the one in use.
 */
#include <math.h>
#include <string.h>

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
static const char *find_gap(const struct candidate *candidate, const struct number_fact *online)
{
	const struct warp_result *warp = &candidate->warp.results[WARP_MONOTONIC];
	const struct fact *facts[] = {&candidate->evidence.proof.fact,
		&candidate->evidence.timing.fact, &candidate->warp.fact, &warp->fact,
		/* A single CPU is compared with no other. */
		candidate->warp.cpu_count > 1 ? &warp->max_offset.fact : &warp->fact};

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		if (!fact_is_known(facts[i]))
			return facts[i]->reason;
	}
	if (candidate->warp.cpu_count == 1 && !host_has_one_cpu(online))
		return "this process may run on one CPU only, which was compared with no other";
	return candidate->timing_count < TIMINGS_LEAST ? "the calls could not be timed twice"
	                                               : NULL;
}

static void conclude_candidate(struct candidate *candidate, const struct number_fact *online)
{
	const double *timings = candidate->timings_ns;
	bool is_whole = fact_is_known(&candidate->fact);
	double least = NAN, greatest = NAN;
	const char *gap = find_gap(candidate, online);

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
		return GAIN_NO_WARPS;
	if (in_use->state != CANDIDATE_MEASURED)
		return GAIN_NONE;
	if (in_use->entries.entered && !candidate->entries.entered &&
		candidate->cost_ns < in_use->cost_ns)
		return GAIN_VDSO;
	return saved >= GAIN_NS && saved >= GAIN_SHARE * in_use->cost_ns ? GAIN_COST : GAIN_NONE;
}

const char *const candidate_gain_names[] = {
	[GAIN_NONE] = "none",
	[GAIN_COST] = "cost",
	[GAIN_VDSO] = "vdso",
	[GAIN_NO_WARPS] = "no-warps",
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

/* ---- the answer ---- */

enum { UNKNOWN, OK, CHANGE };

const struct answer compare_answers[] = {
	[UNKNOWN] = {"unknown", COLOR_MAGENTA, 2, "no recommendation or refused to run"},
	[OK] = {"ok", COLOR_GREEN, 0, "keep the clocksource in use"},
	[CHANGE] = {"change", COLOR_YELLOW, 1, "another one is recommended"},
	{0},
};

static size_t count_measured(const struct run *run)
{
	size_t measured = 0;

	for (size_t i = 0; i < run->count; i++)
		measured += run->candidates[i].state >= CANDIDATE_WARPS;
	return measured;
}

/* Nothing is recommended after a run that ended early. */
static void judge(struct compare *compare)
{
	const struct run *run = &compare->run;
	const struct candidate *in_use = run->candidates, *to = compare->advised;
	const struct answer *unknown = &compare_answers[UNKNOWN], *ok = &compare_answers[OK];
	const char *name = compare->sw.original, *cost = as_ns(in_use->cost_ns);
	struct report *report = &compare->report;
	size_t measured = count_measured(run);

	if (!fact_is_known(&run->why))
		report_answer(report, unknown, NULL, NULL,
			"no recommendation; %s was in use. %zu of %zu clocksources %s measured: "
			"%s.",
			name, measured, run->count, measured == 1 ? "was" : "were",
			run->why.reason);
	else if (run->restored != SWITCH_DONE)
		report_answer(report, unknown, NULL, NULL,
			"no recommendation; %s was in use and is not restored.", name);
	else if (to && to->gain == GAIN_NO_WARPS)
		report_answer(report, &compare_answers[CHANGE], NULL, NULL,
			"change %s, which is in use, to %s: %s ran backwards, %s did not in %g s.",
			name, to->name, name, to->name, compare->warp_s);
	else if (to)
		report_answer(report, &compare_answers[CHANGE], NULL, NULL,
			"change %s, which is in use, to %s: %s ns per call instead of %s ns%s.",
			name, to->name, as_ns(to->cost_ns), cost,
			to->gain == GAIN_VDSO ? ", served by the vDSO" : "");
	else if (in_use->state == CANDIDATE_WARPS)
		report_answer(report, unknown, NULL, NULL,
			"%s, which is in use, ran backwards, and no other clocksource can be "
			"recommended.",
			name);
	else if (in_use->state != CANDIDATE_MEASURED)
		report_answer(report, unknown, NULL, NULL,
			"no recommendation; %s, which is in use, could not be measured: %s.", name,
			in_use->reason);
	else if (compare->fastest != in_use)
		report_answer(report, ok, NULL, NULL,
			"keep %s, which is in use: %s ns per call. %s takes %s ns, but is not "
			"recommended here.",
			name, cost, compare->fastest->name, as_ns(compare->fastest->cost_ns));
	else
		report_answer(report, ok, NULL, NULL,
			"keep %s, which is in use: %s ns per call; no other clocksource %s.", name,
			cost, measured > 1 ? "is clearly faster" : "could be measured");
}

static void advise(struct compare *compare)
{
	const struct answer *answer = compare->report.answer;
	struct fact *fact = &compare->report.advice_fact;
	const char *tree = compare->tree, *to, *migration;

	if (answer == &compare_answers[UNKNOWN]) {
		fact_set(fact, FACT_ABSENT, "the measurement does not allow a recommendation");
		return;
	}
	if (answer == &compare_answers[OK] && compare->why_not) {
		fact_set(fact, FACT_ABSENT, "%s is not recommended, because %s",
			compare->fastest->name, compare->why_not);
		return;
	}
	if (answer == &compare_answers[OK]) {
		fact_set(fact, FACT_ABSENT, "no other clocksource %s",
			count_measured(&compare->run) > 1 ? "is clearly faster"
							  : "could be measured");
		return;
	}
	fact_set_known(fact);
	to = compare->advised->name;
	migration = strcmp(to, "tsc") == 0 ? tsc_migration_risk(&compare->host) : NULL;
	snprintf(compare->command, sizeof(compare->command), "echo %s | sudo tee %s%s", to, tree,
		CLOCKSOURCE_CURRENT);
	snprintf(compare->undo, sizeof(compare->undo), "echo %s | sudo tee %s%s",
		compare->sw.original, tree, CLOCKSOURCE_CURRENT);
	snprintf(compare->parameter, sizeof(compare->parameter), "clocksource=%s", to);
	snprintf(compare->risk, sizeof(compare->risk),
		"no warp in %g s does not prove that there are none: run vdsocheck warp -d 600 "
		"first.%s%s",
		compare->warp_s, migration ? " " : "", migration ? migration : "");
}

void compare_conclude(struct compare *compare)
{
	const struct run *run = &compare->run;
	struct candidate *all = run->candidates;

	for (size_t i = 0; i < run->count; i++) {
		conclude_candidate(&all[i], &compare->host.host.cpu_count);
		all[i].in_use = i == 0;
		all[i].gain = find_gain(&all[0], &all[i]);
	}
	compare->fastest = find_best(run, NULL);
	compare->advised = find_best(run, &compare->host);
	if (compare->fastest)
		compare->why_not = advisable_why_not(&compare->host, compare->fastest->name);
	else if (all[0].state == CANDIDATE_MEASURED)
		compare->fastest = &all[0];
	if (compare->fastest)
		fact_set_text(&compare->fastest_name, compare->fastest->name);
	else
		fact_set(&compare->fastest_name.fact, FACT_ABSENT,
			"the clocksource in use could not be measured");
	judge(compare);
	if (compare->rehearsal)
		text_append(compare->report.summary, REPORT_SENTENCE_SIZE,
			" This was a rehearsal: all rows measure the clock of this host, which did "
			"not change.");
	advise(compare);
}
