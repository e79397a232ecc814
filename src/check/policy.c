/* SPDX-License-Identifier: MIT */
/*
 * Judges a policy. Other deciding calls are judged by the rules of the verdict, on a copy of the
 * evidence in which those calls decide.
 */
#include "model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *policy_call_name(const char *call, const char *clock)
{
	return strcmp(call, "clock_gettime") == 0 ? clock : call;
}

bool policy_names(const struct policy *policy, const char *call, const char *clock)
{
	for (size_t i = 0; i < policy->deciding_count; i++) {
		if (strcmp(policy->deciding[i].call, call) == 0 &&
			strcmp(policy->deciding[i].clock, clock) == 0)
			return true;
	}
	return false;
}

bool policy_decides(const struct policy *policy, const struct call_evidence *call)
{
	return policy->deciding_count ? policy_names(policy, call->call, call->clock)
	                              : call->decides;
}

const struct requirement *policy_find(const struct outcome *outcome, enum policy_answer answer)
{
	for (size_t i = 0; i < outcome->count; i++) {
		if (outcome->requirements[i].answer == answer)
			return &outcome->requirements[i];
	}
	return NULL;
}

/* A requirement that is met does not change the status unless it replaces the verdict. */
bool policy_settles(const struct outcome *outcome, const struct requirement *requirement)
{
	static const uint32_t statuses[] = {
		[POLICY_UNDETERMINED] = 2, [POLICY_MET] = 0, [POLICY_NOT_MET] = 1};

	return statuses[requirement->answer] == outcome->exit_status &&
	       (requirement->answer != POLICY_MET || requirement->replaces_verdict);
}

static __attribute__((format(printf, 3, 4))) void set_answer(
	struct requirement *requirement, enum policy_answer answer, const char *format, ...)
{
	va_list arguments;

	requirement->answer = answer;
	va_start(arguments, format);
	vsnprintf(requirement->reason, sizeof(requirement->reason), format, arguments);
	va_end(arguments);
}

/* Adds a name to a list with this separator; what does not fit is left out. */
static void add_name(char list[REQUIREMENT_SIZE], const char *separator, const char *name)
{
	size_t used = strlen(list);

	if (used + strlen(separator) + strlen(name) < REQUIREMENT_SIZE)
		snprintf(list + used, REQUIREMENT_SIZE - used, "%s%s", used ? separator : "", name);
}

/* ---- --require ---- */

static bool allows(const struct policy *policy, const char *clocksource)
{
	for (size_t i = 0; i < policy->clocksource_count; i++) {
		if (strcmp(policy->clocksources[i], clocksource) == 0)
			return true;
	}
	return false;
}

static void judge_clocksource(const struct policy *policy,
	const struct clocksource_evidence *clocksource, struct requirement *requirement)
{
	const char *changed_to = clocksource->changed_to;

	requirement->option = "require";
	for (size_t i = 0; i < policy->clocksource_count; i++)
		add_name(requirement->value, ",", policy->clocksources[i]);
	if (!fact_is_known(&clocksource->current_fact))
		set_answer(requirement, POLICY_UNDETERMINED, "the clocksource is unknown: %s",
			clocksource->current_fact.reason);
	else if (!allows(policy, clocksource->current))
		set_answer(
			requirement, POLICY_NOT_MET, "the clocksource is %s", clocksource->current);
	else if (*changed_to && !allows(policy, changed_to))
		set_answer(
			requirement, POLICY_NOT_MET, "the clocksource changed to %s", changed_to);
	else
		set_answer(requirement, POLICY_MET, "the clocksource is %s", clocksource->current);
}

/* ---- --deciding ---- */

/* Names the deciding calls that entered the kernel; if there are none, the verdict says why. */
static void answer_fallback(const struct evidence *evidence, const struct verdict *verdict,
	struct requirement *requirement)
{
	struct entry_counts counts = counts_deciding(evidence);
	char list[REQUIREMENT_SIZE] = "";

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (call->decides && call->path[call_judged_path(call)].entered)
			add_name(list, " and ", policy_call_name(call->call, call->clock));
	}
	if (*list)
		set_answer(requirement, POLICY_NOT_MET, "%s %sfall%s back to %s", list,
			counts.mixed ? "sometimes " : "", counts.entering == 1 ? "s" : "",
			counts.entering == 1 ? "a system call" : "system calls");
	else
		set_answer(requirement, POLICY_NOT_MET, "%.*s", (int)strcspn(verdict->summary, "."),
			verdict->summary);
}

static void judge_deciding(const struct policy *policy, const struct evidence *evidence,
	struct requirement *requirement)
{
	struct evidence as_required = *evidence;
	struct verdict verdict;

	requirement->option = "deciding";
	requirement->replaces_verdict = true;
	for (size_t i = 0; i < policy->deciding_count; i++) {
		const char *name =
			policy_call_name(policy->deciding[i].call, policy->deciding[i].clock);

		add_name(requirement->value, ",", name);
		if (evidence->call_count && !*requirement->reason &&
			!call_evidence_of(
				evidence, policy->deciding[i].call, policy->deciding[i].clock))
			set_answer(requirement, POLICY_UNDETERMINED, "%s was not measured", name);
	}
	if (*requirement->reason)
		return;
	for (size_t i = 0; i < as_required.call_count; i++)
		as_required.calls[i].decides = policy_decides(policy, &evidence->calls[i]);
	verdict_find(&as_required, &verdict);
	if (verdict.kind == VERDICT_OK)
		set_answer(requirement, POLICY_MET, "served by the vDSO");
	else if (verdict.kind == VERDICT_FALLBACK)
		answer_fallback(&as_required, &verdict, requirement);
	else if (verdict.kind == VERDICT_SLOW)
		set_answer(requirement, POLICY_NOT_MET,
			"reading the CPU's counter takes as long as a system call");
	else
		set_answer(requirement,
			verdict.kind == VERDICT_WRONG ? POLICY_NOT_MET : POLICY_UNDETERMINED,
			"%.*s", (int)strlen(verdict.summary) - 1, verdict.summary);
}

/* ---- --max-ns ---- */

/*
 * Judges the slowest deciding call. A call that was not timed leaves the answer undetermined,
 * unless another is too slow.
 */
static void judge_time(const struct policy *policy, const struct evidence *evidence,
	struct requirement *requirement)
{
	const struct call_evidence *slowest = NULL, *untimed = NULL;
	double most = 0;
	char ns[32];

	requirement->option = "max-ns";
	snprintf(requirement->value, sizeof(requirement->value), "%" PRIu64, policy->max_ns);
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];
		const struct path_evidence *path = &call->path[call_judged_path(call)];

		if (!policy_decides(policy, call))
			continue;
		if (!fact_is_known(&path->fact)) {
			untimed = call;
		} else if (path->min_ns > most) {
			slowest = call;
			most = path->min_ns;
		}
	}
	if (!slowest || (untimed && most <= (double)policy->max_ns))
		set_answer(requirement, POLICY_UNDETERMINED, "%s was not timed",
			untimed ? policy_call_name(untimed->call, untimed->clock) : "the clock");
	else
		set_answer(requirement, most > (double)policy->max_ns ? POLICY_NOT_MET : POLICY_MET,
			"%s takes %s ns", policy_call_name(slowest->call, slowest->clock),
			format_ns(most, ns));
}

/* ---- all of it ---- */

void policy_judge(const struct policy *policy, const struct evidence *evidence,
	enum verdict_kind verdict, struct outcome *outcome)
{
	*outcome = (struct outcome){
		.exit_status = policy->deciding_count ? 0 : (uint32_t)verdict_exit_status(verdict)};
	if (policy->clocksource_count)
		judge_clocksource(
			policy, &evidence->clocksource, &outcome->requirements[outcome->count++]);
	if (policy->deciding_count)
		judge_deciding(policy, evidence, &outcome->requirements[outcome->count++]);
	if (policy->max_ns)
		judge_time(policy, evidence, &outcome->requirements[outcome->count++]);
	if (policy_find(outcome, POLICY_NOT_MET))
		outcome->exit_status = 1;
	else if (outcome->exit_status == 0 && policy_find(outcome, POLICY_UNDETERMINED))
		outcome->exit_status = 2;
}
