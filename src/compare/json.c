/* SPDX-License-Identifier: MIT */
/* The document of `vdsocheck compare`. Keys are added, never renamed. */
#include "document/json_value.h"
#include "judge/tally.h"
#include "model.h"

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
	return json_string("absent: the call does not exist by every path here");
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

static json_t *calls_array(const struct candidate *candidate)
{
	json_t *list = json_array();

	for (size_t i = 0; i < candidate->evidence.call_count; i++) {
		if (candidate->evidence.calls[i].decides)
			json_array_append_new(list,
				call_object(&candidate->evidence, &candidate->evidence.calls[i]));
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

static json_t *warps_array(const struct candidate *candidate)
{
	json_t *list = json_array();

	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		if (CANDIDATE_CLOCKS & WARP_CLOCK(id))
			json_array_append_new(list,
				warp_object((enum warp_clock_id)id, &candidate->warp.tallies[id]));
	}
	return list;
}

static json_t *looks_array(const struct candidate *candidate)
{
	json_t *list = json_array();

	for (size_t i = 0; i < candidate->look_count; i++)
		json_array_append_new(list, json_value_real(true, candidate->looks_ns[i], 1));
	return list;
}

static json_t *candidate_object(const struct compare_report *report, size_t place)
{
	const struct candidate *candidate = &report->result->candidates[place];
	enum candidate_state state = candidate_state(candidate);
	struct tally tally = tally_deciding(&candidate->evidence);
	bool tried = state != CANDIDATE_UNTRIED && state != CANDIDATE_VOID;
	bool watched = tried && fact_is_known(&candidate->warp.fact);
	json_t *object = json_object();

	json_value_set(object, "name", json_string(candidate->name));
	json_value_set(object, "state", json_string(candidate_state_name(state)));
	json_value_set(object, "in_use", json_boolean(place == 0));
	json_value_set(object, "gain",
		json_string(ranking_gain_name(
			ranking_gain(&report->result->candidates[0], candidate))));
	json_value_set(object, "price_ns",
		json_value_real(tried && candidate->look_count, candidate_price_ns(candidate), 1));
	json_value_set(object, "spread_ns",
		json_value_real(
			tried && candidate->look_count > 1, candidate_spread_ns(candidate), 1));
	json_value_set(object, "looks_ns", tried ? looks_array(candidate) : NULL);
	json_value_set(object, "entered_kernel",
		json_value_integer(tried && tally.attempts > 0, tally.entered));
	json_value_set(object, "attempts",
		json_value_integer(tried && tally.attempts > 0, tally.attempts));
	json_value_set(
		object, "warps", json_value_integer(watched, (int64_t)candidate_warps(candidate)));
	json_value_set(object, "warp_cpus",
		json_value_integer(watched, (int64_t)candidate->warp.cpu_count));
	json_value_set(object, "calls", tried ? calls_array(candidate) : NULL);
	json_value_set(object, "clocks", tried ? warps_array(candidate) : NULL);
	json_value_set(object, "reason", json_value_text(candidate_reason(candidate)));
	return object;
}

static json_t *candidates_array(const struct compare_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->result->count; i++)
		json_array_append_new(list, candidate_object(report, i));
	return list;
}

static json_t *name_at(const struct compare_report *report, size_t place)
{
	return place == RANKING_NONE ? NULL : json_string(report->result->candidates[place].name);
}

static json_t *command(const struct compare_report *report, const char *name)
{
	return json_sprintf("echo %s | sudo tee %s", name, report->path);
}

static json_t *advice_object(const struct compare_report *report)
{
	const char *name;
	json_t *object;

	if (report->ranking->verdict != RANKING_CHANGE)
		return NULL;
	name = report->result->candidates[report->ranking->advised].name;
	object = json_object();
	json_value_set(object, "to", json_string(name));
	json_value_set(object, "command", command(report, name));
	json_value_set(object, "kernel_parameter", json_sprintf("clocksource=%s", name));
	json_value_set(object, "undo", command(report, report->original));
	return object;
}

static json_t *advice_reason(const struct compare_report *report)
{
	const struct ranking *ranking = report->ranking;
	const struct run_result *result = report->result;

	if (ranking->verdict == RANKING_CHANGE)
		return NULL;
	if (ranking->verdict == RANKING_UNKNOWN)
		return json_string("absent: the measurement does not allow a recommendation");
	if (ranking->why_not)
		return json_sprintf("absent: %s is not recommended, because %s",
			result->candidates[ranking->fastest].name, ranking->why_not);
	return json_string("absent: no other clocksource is clearly faster");
}

static json_t *ntp_object(const struct ntp_state *state)
{
	bool known = fact_is_known(&state->fact);
	json_t *object = json_object();

	json_value_set(object, "synchronized", known ? json_boolean(state->synchronized) : NULL);
	json_value_set(
		object, "leap_second_pending", known ? json_boolean(state->leap_pending) : NULL);
	json_value_set(object, "offset_ns", json_value_integer(known, state->offset_ns));
	json_value_set(object, "max_error_us", json_value_integer(known, state->max_error_us));
	json_value_set(object, "reason", json_value_reason(&state->fact));
	return object;
}

bool compare_json(const void *subject, const struct style *style, FILE *out)
{
	const struct compare_report *report = subject;
	const struct run_result *result = report->result;
	const struct ranking *ranking = report->ranking;
	char summary[COMPARE_SUMMARY_SIZE];
	json_t *root = json_value_root();

	(void)style;
	compare_summary(report, summary, sizeof(summary));
	json_value_set(root, "schema", json_string(COMPARE_SCHEMA));
	json_value_set(root, "version", json_string(VDSOCHECK_VERSION));
	json_value_set(root, "command", json_string("compare"));
	json_value_set_moment(root, report->moment);
	json_value_set(root, "verdict", json_string(ranking_verdict_name(ranking->verdict)));
	json_value_set(root, "exit_status", json_integer(report->exit_status));
	json_value_set(root, "summary", json_string(summary));
	json_value_set(root, "original", json_string(report->original));
	json_value_set(root, "fastest", name_at(report, ranking->fastest));
	json_value_set(root, "fastest_reason",
		ranking->fastest == RANKING_NONE
			? json_string("absent: the clocksource in use could not be measured")
			: NULL);
	json_value_set(root, "duration_s", json_value_real(true, (double)report->warp_ns / 1e9, 3));
	json_value_set(root, "restored", json_boolean(result->restored == SWITCH_DONE));
	json_value_set(root, "restored_reason", json_value_reason(&result->restored_fact));
	json_value_set(root, "ntp_before", ntp_object(&result->before));
	json_value_set(root, "ntp_after", ntp_object(&result->after));
	json_value_set(root, "sources", candidates_array(report));
	json_value_set(root, "advice", advice_object(report));
	json_value_set(root, "advice_reason", advice_reason(report));
	json_value_set(root, "reason", json_value_reason(&result->why));
	return json_value_write(root, out);
}
