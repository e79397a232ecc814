/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck compare`, which is written and never read. Keys are
 * added, never renamed.
 */
#include "document.h"
#include "judge.h"
#include "model.h"

#define COUNT(name, member) INTEGER(name, member, INT64_MAX)

/* ---- the calls of a candidate; `whole` is its evidence ---- */

static json_t *call_entered(const void *object, const void *whole)
{
	const struct call_evidence *call = object;
	const struct path_evidence *path = &call->path[call_judged_path(call)];

	(void)whole;
	return path->attempts ? json_integer(path->entered) : json_null();
}

static json_t *call_attempts(const void *object, const void *whole)
{
	const struct call_evidence *call = object;
	const struct path_evidence *path = &call->path[call_judged_path(call)];

	(void)whole;
	return path->attempts ? json_integer(path->attempts) : json_null();
}

static json_t *call_reason(const void *object, const void *whole)
{
	const struct evidence *evidence = whole;
	const struct call_evidence *call = object;
	bool complete = call->path[call_judged_path(call)].attempts > 0;

	for (int path = 0; path < PATH_COUNT; path++)
		complete &= call->path[path].timed;
	if (!fact_is_known(&evidence->timing.fact))
		return field_reason(&evidence->timing.fact);
	if (!fact_is_known(&evidence->proof.fact))
		return field_reason(&evidence->proof.fact);
	return complete ? json_null()
	                : json_string("absent: the call is not available by every path");
}

#define OF struct call_evidence
#define TIMED(name, member) NS(name, member.min_ns), .given = GIVEN(member.timed)
#define COMPUTED_COUNT(name, function) COMPUTED(name, FIELD_INTEGER, function), .most = INT64_MAX

static const struct field call_fields[] = {
	{TEXT("call", call), .options = FIELD_FILLED},
	{TEXT("clock", clock)},
	{TIMED("vdso_ns", path[PATH_VDSO])},
	{TIMED("libc_ns", path[PATH_LIBC])},
	{TIMED("syscall_ns", path[PATH_SYSCALL])},
	{COMPUTED_COUNT("entered_kernel", call_entered)},
	{COMPUTED_COUNT("attempts", call_attempts)},
	{COMPUTED("reason", FIELD_REASON, call_reason)},
	{0},
};

/* ---- its clocks; `whole` is the test for warps ---- */

static json_t *clock_name(const void *object, const void *whole)
{
	const struct warp_evidence *warp = whole;
	const struct warp_result *result = object;

	return json_string(warp_clock_name((enum warp_clock_id)(result - warp->results)));
}

#undef OF
#define OF struct warp_result
#define WATCHED(name, member) COUNT(name, member), .fact = FACT(fact)

static const struct field clock_fields[] = {
	{COMPUTED("clock", FIELD_STRING, clock_name), .options = FIELD_FILLED},
	{WATCHED("reads", reads), .reason = "reason"},
	{WATCHED("warps", warps)},
	{WATCHED("largest_warp_ns", largest_ns)},
	{COUNT("apart_at_most_ns", apart_ns), .fact = FACT(apart_fact), .whole = FACT(fact),
		.reason = "reason"},
	{REASON("reason")},
	{0},
};

/* ---- candidates ---- */

static json_t *candidate_timings(const void *object, const void *whole);
static json_t *candidate_calls(const void *object, const void *whole);
static json_t *candidate_clocks(const void *object, const void *whole);

static const struct field timing_element[] = {
	{.key = "", .kind = FIELD_REAL, .decimals = 1, .most = DOCUMENT_NS_MAX},
	{0},
};

static bool was_tried(const void *object)
{
	return fact_is_known(&((const struct candidate *)object)->tried);
}

#undef OF
#define OF struct candidate
#define COMPUTED_LIST(name, function, rows)                                                        \
	COMPUTED(name, FIELD_LIST, function), .fields = (rows), .has = was_tried

static const struct field candidate_fields[] = {
	{TEXT("name", name), .options = FIELD_FILLED},
	{WORD("state", state, candidate_state_names)},
	{FLAG("in_use", in_use)},
	{WORD("gain", gain, candidate_gain_names)},
	{NS("price_ns", cost_ns), .fact = FACT(cost_fact)},
	{NS("spread_ns", spread_ns), .fact = FACT(spread_fact)},
	{COMPUTED_LIST("looks_ns", candidate_timings, timing_element)},
	{COUNT("entered_kernel", entries.entered), .fact = FACT(proven)},
	{COUNT("attempts", entries.attempts), .fact = FACT(proven)},
	{COUNT("warps", warps), .fact = FACT(warp.fact), .whole = FACT(tried)},
	{COUNT("warp_cpus", warp.cpu_count), .fact = FACT(warp.fact), .whole = FACT(tried)},
	{COMPUTED_LIST("calls", candidate_calls, call_fields)},
	{COMPUTED_LIST("clocks", candidate_clocks, clock_fields)},
	{STRING("reason", reason)},
	{0},
};

static json_t *candidate_timings(const void *object, const void *whole)
{
	const struct candidate *candidate = object;

	(void)whole;
	return field_list(timing_element, candidate->timings_ns, candidate->timing_count,
		sizeof(candidate->timings_ns[0]), NULL);
}

static json_t *candidate_calls(const void *object, const void *whole)
{
	const struct evidence *evidence = &((const struct candidate *)object)->evidence;

	(void)whole;
	return field_list(call_fields, evidence->calls, evidence->call_count,
		sizeof(evidence->calls[0]), evidence);
}

/* CANDIDATE_CLOCKS: all after the counter. */
static json_t *candidate_clocks(const void *object, const void *whole)
{
	const struct warp_evidence *warp = &((const struct candidate *)object)->warp;

	(void)whole;
	return field_list(clock_fields, &warp->results[WARP_COUNTER + 1],
		WARP_CLOCK_COUNT - WARP_COUNTER - 1, sizeof(warp->results[0]), warp);
}

/* ---- the run ---- */

#undef OF
#define OF struct ntp_state

static const struct field ntp_fields[] = {
	{FLAG("synchronized", synchronized), .fact = FACT(fact), .reason = "reason"},
	{FLAG("leap_second_pending", leap_pending), .fact = FACT(fact)},
	{COUNT("offset_ns", offset_ns), .options = FIELD_SIGNED, .fact = FACT(fact)},
	{COUNT("max_error_us", max_error_us), .fact = FACT(fact)},
	{REASON("reason")},
	{0},
};

#undef OF
#define OF struct run_result

static const struct field result_fields[] = {
	{KNOWN("restored", restored_fact)},
	{REASON("restored_reason"), .fact = FACT(restored_fact)},
	{OBJECT("ntp_before", before, ntp_fields)},
	{OBJECT("ntp_after", after, ntp_fields)},
	{LIST_AT("sources", candidates, count, candidate_fields)},
	{REASON("reason"), .fact = FACT(why)},
	{0},
};

/* ---- the document ---- */

#undef OF
#define OF struct ranking

static const struct field ranking_fields[] = {
	{WORD("verdict", verdict, ranking_verdict_names)},
	{0},
};

#undef OF
#define OF struct compare_advice

static const struct field advice_fields[] = {
	{STRING("to", to)},
	{TEXT("command", command)},
	{TEXT("kernel_parameter", parameter)},
	{TEXT("undo", undo)},
	{0},
};

#undef OF
#define OF struct compare_report

static json_t *fastest(const void *object, const void *whole)
{
	const struct compare_report *report = object;
	size_t place = report->ranking->fastest;

	(void)whole;
	return place == RANKING_NONE ? json_null()
	                             : json_string(report->result->candidates[place].name);
}

static json_t *fastest_reason(const void *object, const void *whole)
{
	const struct compare_report *report = object;

	(void)whole;
	return report->ranking->fastest == RANKING_NONE
	               ? json_string("absent: the clocksource in use could not be measured")
	               : json_null();
}

static bool has_advice(const void *object)
{
	return ((const struct compare_report *)object)->advice.to;
}

const struct field compare_report_fields[] = {
	{INLINE_AT(moment, moment_fields)},
	{INLINE_AT(ranking, ranking_fields)},
	{INTEGER("exit_status", exit_status, 255)},
	{TEXT("summary", summary), .options = FIELD_FILLED},
	{STRING("original", original)},
	{COMPUTED("fastest", FIELD_STRING, fastest)},
	{COMPUTED("fastest_reason", FIELD_STRING, fastest_reason)},
	{REAL("duration_s", warp_s, 3)},
	{INLINE_AT(result, result_fields)},
	{.key = "advice",
		.kind = FIELD_OBJECT,
		.fields = advice_fields,
		MEMBER(advice),
		.has = has_advice},
	{TEXT("advice_reason", advice_reason)},
	{0},
};

bool compare_json(const void *result, const struct style *style, FILE *out)
{
	const struct document_part parts[] = {
		{.fields = compare_report_fields, .from = result}, {0}};

	return document_write(COMPARE_SCHEMA, parts, style->compact, out);
}
