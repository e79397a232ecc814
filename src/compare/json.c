/* SPDX-License-Identifier: MIT */
#include "document/json_value.h"
#include "judge/tally.h"
#include "report.h"

static bool is_timed(const struct call_evidence *call)
{
	for (int path = 0; path < PATH_COUNT; path++) {
		if (!call->path[path].timed)
			return false;
	}
	return true;
}

/* Why one of a call's values is null. */
static json_t *call_reason(const struct evidence *evidence, const struct call_evidence *call)
{
	if (!fact_is_known(&evidence->timing.fact))
		return json_value_reason(&evidence->timing.fact);
	if (!fact_is_known(&evidence->proof.fact))
		return json_value_reason(&evidence->proof.fact);
	if (is_timed(call) && call->path[call_judged_path(call)].attempts > 0)
		return NULL;
	return json_string("absent: the call cannot be made in every way here");
}

static json_t *call_object(const struct evidence *evidence, const struct call_evidence *call)
{
	static const char *const keys[] = {
		[PATH_VDSO] = "vdso_ns", [PATH_LIBC] = "libc_ns", [PATH_SYSCALL] = "syscall_ns"};
	const struct path_evidence *judged = &call->path[call_judged_path(call)];
	json_t *object = json_object();

	json_value_set(object, "call", json_string(call->call));
	json_value_set(object, "clock", json_value_text(call->clock));
	for (int path = 0; path < PATH_COUNT; path++)
		json_value_set(object, keys[path],
			json_value_real(call->path[path].timed, call->path[path].min_ns, 1));
	json_value_set(object, "entered_kernel",
		json_value_integer(judged->attempts > 0, judged->entered));
	json_value_set(
		object, "attempts", json_value_integer(judged->attempts > 0, judged->attempts));
	json_value_set(object, "reason", call_reason(evidence, call));
	return object;
}

static json_t *calls_array(const struct trial *trial)
{
	json_t *list = json_array();

	for (size_t i = 0; i < trial->evidence.call_count; i++) {
		if (trial->evidence.calls[i].decides)
			json_array_append_new(
				list, call_object(&trial->evidence, &trial->evidence.calls[i]));
	}
	return list;
}

static json_t *warp_object(enum warp_clock_id id, const struct warp_tally *tally)
{
	bool known = fact_is_known(&tally->fact);
	json_t *object = json_object();

	json_value_set(object, "clock", json_string(warp_clock_name(id)));
	json_value_set(object, "reads", json_value_integer(known, (int64_t)tally->reads));
	json_value_set(object, "warps", json_value_integer(known, (int64_t)tally->warps));
	json_value_set(object, "largest_warp_ns", json_value_integer(known, tally->largest_ns));
	json_value_set(object, "apart_at_most_ns",
		json_value_integer(known && fact_is_known(&tally->apart_fact), tally->apart_ns));
	json_value_set(
		object, "reason", json_value_reason(known ? &tally->apart_fact : &tally->fact));
	return object;
}

static json_t *warps_array(const struct trial *trial)
{
	json_t *list = json_array();

	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		if (TRIAL_CLOCKS & WARP_CLOCK(id))
			json_array_append_new(list,
				warp_object((enum warp_clock_id)id, &trial->warp.tallies[id]));
	}
	return list;
}

static json_t *trial_object(const struct compare_report *report, size_t place)
{
	const struct trial *trial = &report->comparison->trials[place];
	enum choice_state state = choice_judge(trial);
	struct tally tally = tally_deciding(&trial->evidence);
	bool tried = state != CHOICE_UNTRIED;
	json_t *object = json_object();

	json_value_set(object, "name", json_string(trial->name));
	json_value_set(object, "state", json_string(choice_state_name(state)));
	json_value_set(object, "best", json_boolean(place == report->choice->best));
	json_value_set(object, "in_use", json_boolean(place == report->choice->current));
	json_value_set(object, "mean_ns",
		json_value_real(tried && choice_price_ns(trial) > 0, choice_price_ns(trial), 1));
	json_value_set(object, "entered_kernel",
		json_value_integer(tried && tally.attempts > 0, tally.entered));
	json_value_set(object, "attempts",
		json_value_integer(tried && tally.attempts > 0, tally.attempts));
	json_value_set(object, "warps",
		json_value_integer(
			tried && fact_is_known(&trial->warp.fact), (int64_t)choice_warps(trial)));
	json_value_set(object, "calls", tried ? calls_array(trial) : NULL);
	json_value_set(object, "clocks", tried ? warps_array(trial) : NULL);
	json_value_set(object, "reason", json_value_text(choice_reason(trial)));
	return object;
}

static json_t *trials_array(const struct compare_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->comparison->count; i++)
		json_array_append_new(list, trial_object(report, i));
	return list;
}

static json_t *best_name(const struct compare_report *report)
{
	if (report->choice->best == CHOICE_NONE)
		return NULL;
	return json_string(report->comparison->trials[report->choice->best].name);
}

/* What is to be done, where something is. */
static json_t *advice_object(const struct compare_report *report)
{
	const struct choice *choice = report->choice;
	const char *name;
	json_t *object;

	if (choice->best == CHOICE_NONE || choice->current == CHOICE_NONE ||
		choice->best == choice->current)
		return NULL;
	name = report->comparison->trials[choice->best].name;
	object = json_object();
	json_value_set(object, "command", json_sprintf(COMPARE_REPORT_COMMAND, name));
	json_value_set(object, "kernel_parameter", json_sprintf(COMPARE_REPORT_PARAMETER, name));
	return object;
}

static json_t *advice_reason(const struct compare_report *report)
{
	const struct choice *choice = report->choice;

	if (choice->best == CHOICE_NONE)
		return json_string("absent: none was found to be safe");
	if (choice->current == CHOICE_NONE)
		return json_string("absent: the one in use was not tried");
	if (choice->best == choice->current)
		return json_string("absent: the fastest safe one is in use");
	return NULL;
}

bool compare_report_json(const struct compare_report *report, FILE *out)
{
	const struct comparison *comparison = report->comparison;
	char summary[COMPARE_SUMMARY_SIZE];
	json_t *root = json_object();

	compare_report_summary(report, summary, sizeof(summary));
	json_value_set(root, "schema", json_string(COMPARE_JSON_SCHEMA));
	json_value_set(root, "version", json_string(VDSOCHECK_VERSION));
	json_value_set_moment(root, report->moment);
	json_value_set(root, "exit_status", json_integer(report->exit_status));
	json_value_set(root, "summary", json_string(summary));
	json_value_set(root, "original", json_string(report->original));
	json_value_set(root, "best", best_name(report));
	json_value_set(root, "best_reason",
		report->choice->best == CHOICE_NONE
			? json_string("absent: none was found to be safe")
			: NULL);
	json_value_set(root, "restored", json_boolean(fact_is_known(&comparison->restored)));
	json_value_set(root, "restored_reason", json_value_reason(&comparison->restored));
	json_value_set(root, "sources", trials_array(report));
	json_value_set(root, "advice", advice_object(report));
	json_value_set(root, "advice_reason", advice_reason(report));
	json_value_set(root, "reason", json_value_reason(&comparison->why));
	return json_value_write(root, out);
}
