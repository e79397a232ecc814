/* SPDX-License-Identifier: MIT */
/*
 * The requirements that the caller adds to the verdict: --require and --max-ns. One that cannot be
 * checked is not met.
 */
#include "model.h"

#include <string.h>

#include "base/text.h"

const char *policy_call_name(const struct call_evidence *call)
{
	return strcmp(call->call, "clock_gettime") == 0 ? call->clock : call->call;
}

static bool allows(const struct policy *policy, const char *clocksource)
{
	for (size_t i = 0; i < policy->clocksource_count; i++) {
		if (text_equals(policy->clocksources[i], clocksource))
			return true;
	}
	return false;
}

static void judge_clocksource(const struct policy *policy,
	const struct clocksource_evidence *clocksource, struct requirement *requirement)
{
	const char *changed_to = clocksource->changed_to;
	bool known = fact_is_known(&clocksource->current_fact);
	bool changed = *changed_to && allows(policy, clocksource->current);
	const char *used = changed ? changed_to : clocksource->current;

	requirement->option = "require";
	for (size_t i = 0; i < policy->clocksource_count; i++)
		text_append(requirement->value, sizeof(requirement->value), "%s%.*s", i ? "," : "",
			(int)policy->clocksources[i].length, policy->clocksources[i].at);
	requirement->met = known && allows(policy, used);
	text_append(requirement->reason, sizeof(requirement->reason), "the clocksource %s %s",
		!known    ? "is unknown:"
		: changed ? "changed to"
			  : "is",
		known ? used : clocksource->current_fact.reason);
}

/* Judges the slowest deciding call; one that was not timed may be slower. */
static void judge_time(const struct policy *policy, const struct evidence *evidence,
	struct requirement *requirement)
{
	const struct call_evidence *slowest = NULL, *untimed = NULL;
	double most = 0;

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];
		const struct path_evidence *path = &call->path[call_judged_path(call)];

		if (call->decides && !fact_is_known(&path->fact)) {
			untimed = call;
		} else if (call->decides && path->min_ns > most) {
			slowest = call;
			most = path->min_ns;
		}
	}
	requirement->option = "max-ns";
	text_append(requirement->value, sizeof(requirement->value), "%.15g", policy->max_ns);
	requirement->met = slowest && !untimed && most <= policy->max_ns;
	if (slowest && (requirement->met || most > policy->max_ns))
		text_append(requirement->reason, sizeof(requirement->reason), "%s takes %s ns",
			policy_call_name(slowest), as_ns(most));
	else
		text_append(requirement->reason, sizeof(requirement->reason), "%s was not timed",
			untimed ? policy_call_name(untimed) : "the clock");
}

void policy_judge(const struct policy *policy, const struct evidence *evidence,
	enum verdict_kind verdict, struct outcome *outcome)
{
	*outcome = (struct outcome){.exit_status = (uint32_t)verdict_answers[verdict].status};
	if (policy->clocksource_count)
		judge_clocksource(
			policy, &evidence->clocksource, &outcome->requirements[outcome->count++]);
	if (policy->max_ns > 0)
		judge_time(policy, evidence, &outcome->requirements[outcome->count++]);
	for (size_t i = 0; i < outcome->count; i++)
		outcome->unmet += !outcome->requirements[i].met;
	if (outcome->unmet)
		outcome->exit_status = 1;
}

void policy_add_unmet(
	const struct outcome *outcome, const char *before, const char *after, struct strbuf *sb)
{
	for (size_t i = 0; i < outcome->count; i++) {
		const struct requirement *requirement = &outcome->requirements[i];

		if (!requirement->met)
			strbuf_add(sb, "%s--%s %s is not met: %s%s", before, requirement->option,
				requirement->value, requirement->reason, after);
	}
}
