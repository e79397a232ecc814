/* SPDX-License-Identifier: MIT */
/* Concludes what a run of compare says: the numbers of each candidate, and the answer. */

#include "judge.h"
#include "model.h"

static struct real_fact find_time(const struct candidate *candidate, bool by_syscall)
{
	const struct evidence *evidence = &candidate->evidence;
	const struct call_evidence *call = clock_gettime_of(evidence, "CLOCK_MONOTONIC");
	const struct path_evidence *path =
		!call ? NULL : &call->path[by_syscall ? PATH_SYSCALL : call_judged_path(call)];

	if (!fact_is_known(&candidate->fact))
		return (struct real_fact){.fact = candidate->fact};
	if (!fact_is_known(&evidence->timing.fact) || !path)
		return (struct real_fact){.fact = evidence->timing.fact};
	return (struct real_fact){.fact = path->fact, .value = path->min_ns};
}

static void conclude_candidate(struct candidate *candidate)
{
	candidate->cost_ns = find_time(candidate, false);
	candidate->syscall_ns = find_time(candidate, true);
	candidate->entries = counts_deciding(&candidate->evidence);
	candidate->proven =
		!fact_is_known(&candidate->fact) ? candidate->fact : candidate->evidence.proof.fact;
	if (fact_is_known(&candidate->proven) && !candidate->entries.attempts)
		fact_set(&candidate->proven, FACT_ABSENT, "no deciding call is available");
	candidate->reason = !fact_is_known(&candidate->proven) ? candidate->proven.reason
	                    : !fact_is_known(&candidate->cost_ns.fact)
	                            ? candidate->cost_ns.fact.reason
	                            : "";
}

enum { UNKNOWN, OK };

const struct answer compare_answers[] = {
	[UNKNOWN] = {"unknown", COLOR_MAGENTA, 2, "ended early, not restored, or refused to run"},
	[OK] = {"ok", COLOR_GREEN, 0, "measured and restored"},
	{0},
};

void compare_conclude(struct compare *compare)
{
	const struct run *run = &compare->run;
	const char *name = compare->sw.original;
	size_t measured = 0;

	for (size_t i = 0; i < run->count; i++) {
		conclude_candidate(&run->candidates[i]);
		measured += !*run->candidates[i].reason;
	}
	if (run->restored != SWITCH_DONE)
		report_answer(&compare->report, &compare_answers[UNKNOWN], NULL, NULL,
			"%s was in use and is not restored; %zu of %zu clocksources were measured.",
			name, measured, run->count);
	else if (!fact_is_known(&run->why) || !measured)
		report_answer(&compare->report, &compare_answers[UNKNOWN], NULL, NULL,
			"%zu of %zu clocksources were measured: %s. %s is in use again.", measured,
			run->count,
			fact_is_known(&run->why) ? run->candidates[0].reason : run->why.reason,
			name);
	else
		report_answer(&compare->report, &compare_answers[OK], NULL, NULL,
			"%zu of %zu clocksources were measured, and %s is in use again.", measured,
			run->count, name);
}
