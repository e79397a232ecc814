/* SPDX-License-Identifier: MIT */
#include "ranking.h"

#include <string.h>

#include "judge/tally.h"

/* Less of a gain is within the noise, and no reason to change a host. */
#define WORTH_A_CHANGE 0.9

uint64_t choice_warps(const struct trial *trial)
{
	uint64_t warps = 0;

	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		if (fact_is_known(&trial->warp.tallies[id].fact))
			warps += trial->warp.tallies[id].warps;
	}
	return warps;
}

double choice_price_ns(const struct trial *trial)
{
	double sum = 0;
	unsigned count = 0;

	for (size_t i = 0; i < trial->evidence.call_count; i++) {
		const struct call_evidence *call = &trial->evidence.calls[i];
		const struct path_evidence *path = &call->path[call_judged_path(call)];

		if (!call->decides || !path->timed)
			continue;
		sum += path->min_ns;
		count++;
	}
	return count ? sum / count : 0;
}

/* Two CPUs that were not compared are as good as not looked at. One alone needs no look. */
static const struct fact *look_for_warps(const struct trial *trial)
{
	const struct warp_tally *tally = &trial->warp.tallies[WARP_MONOTONIC];

	if (!fact_is_known(&trial->warp.fact))
		return &trial->warp.fact;
	if (!fact_is_known(&tally->fact))
		return &tally->fact;
	return trial->warp.cpu_count > 1 ? &tally->apart_fact : &tally->fact;
}

static const struct fact *first_unknown(const struct trial *trial)
{
	const struct fact *facts[] = {
		&trial->evidence.proof.fact, &trial->evidence.timing.fact, look_for_warps(trial)};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (!fact_is_known(facts[i]))
			return facts[i];
	}
	return NULL;
}

enum choice_state choice_judge(const struct trial *trial)
{
	if (!fact_is_known(&trial->switched) || !fact_is_known(&trial->fact))
		return CHOICE_UNTRIED;
	if (choice_warps(trial) > 0)
		return CHOICE_WARPS;
	if (first_unknown(trial) || choice_price_ns(trial) <= 0)
		return CHOICE_UNSURE;
	return CHOICE_SAFE;
}

const char *choice_state_name(enum choice_state state)
{
	static const char *const names[] = {
		[CHOICE_UNTRIED] = "untried",
		[CHOICE_UNSURE] = "unsure",
		[CHOICE_WARPS] = "warps",
		[CHOICE_SAFE] = "safe",
	};

	return names[state];
}

/* What ended the whole trial says more than what the switch came to, unless that failed. */
static const char *untried_reason(const struct trial *trial)
{
	if (trial->switched.state == FACT_FAILED || fact_is_known(&trial->fact))
		return trial->switched.reason;
	return trial->fact.reason;
}

const char *choice_reason(const struct trial *trial)
{
	const struct fact *unknown;

	switch (choice_judge(trial)) {
	case CHOICE_UNTRIED:
		return untried_reason(trial);
	case CHOICE_UNSURE:
		unknown = first_unknown(trial);
		return unknown ? unknown->reason : "the calls could not be timed";
	default:
		return "";
	}
}

static bool is_faster(const struct trial *trial, const struct trial *than)
{
	return choice_price_ns(trial) < choice_price_ns(than);
}

void choice_find(const struct comparison *comparison, const char *current, struct choice *choice)
{
	const struct trial *trials = comparison->trials;

	*choice = (struct choice){CHOICE_NONE, CHOICE_NONE};
	for (size_t i = 0; i < comparison->count; i++) {
		if (strcmp(trials[i].name, current) == 0)
			choice->current = i;
		if (choice_judge(&trials[i]) != CHOICE_SAFE)
			continue;
		if (choice->best == CHOICE_NONE || is_faster(&trials[i], &trials[choice->best]))
			choice->best = i;
	}
	if (choice->best != CHOICE_NONE && choice->current != CHOICE_NONE &&
		choice_judge(&trials[choice->current]) == CHOICE_SAFE &&
		choice_price_ns(&trials[choice->best]) >
			WORTH_A_CHANGE * choice_price_ns(&trials[choice->current]))
		choice->best = choice->current;
}
