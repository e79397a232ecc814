/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck compare`, which is written and never read. Keys are
 * added, never renamed. What is worked out for a row of a list is put into a struct made for it
 * first, where a negative number is one that is not known.
 */
#include <stdlib.h>

#include "base/text.h"
#include "document.h"
#include "judge.h"
#include "model.h"

#define COUNT(name, member) INTEGER(name, member, INT64_MAX), .options = FIELD_NEGATIVE_NONE
#define KNOWN_NS(name, member) NS(name, member), .options = FIELD_NEGATIVE_NONE

/* ---- the calls of a candidate ---- */

struct shown_call {
	const char *call, *clock;
	double ns[PATH_COUNT];
	int64_t entered, attempts;
	struct fact whole; /* known: none of its values is null */
};

#define OF struct shown_call

static const struct field call_fields[] = {
	{STRING("call", call), .options = FIELD_FILLED},
	{STRING("clock", clock)},
	{KNOWN_NS("vdso_ns", ns[PATH_VDSO])},
	{KNOWN_NS("libc_ns", ns[PATH_LIBC])},
	{KNOWN_NS("syscall_ns", ns[PATH_SYSCALL])},
	{COUNT("entered_kernel", entered)},
	{COUNT("attempts", attempts)},
	{REASON("reason"), .fact = FACT(whole)},
	{0},
};

static struct shown_call shown_call(
	const struct evidence *evidence, const struct call_evidence *call)
{
	const struct path_evidence *judged = &call->path[call_judged_path(call)];
	struct shown_call row = {.call = call->call,
		.clock = call->clock,
		.entered = judged->attempts ? (int64_t)judged->entered : -1,
		.attempts = judged->attempts ? (int64_t)judged->attempts : -1};
	bool complete = judged->attempts > 0;

	for (int path = 0; path < PATH_COUNT; path++) {
		row.ns[path] = call->path[path].timed ? call->path[path].min_ns : -1;
		complete &= call->path[path].timed;
	}
	if (!fact_is_known(&evidence->timing.fact))
		row.whole = evidence->timing.fact;
	else if (!fact_is_known(&evidence->proof.fact))
		row.whole = evidence->proof.fact;
	else if (complete)
		fact_set_known(&row.whole);
	else
		fact_set(&row.whole, FACT_ABSENT, "the call does not exist by every path here");
	return row;
}

/* ---- its clocks ---- */

static json_t *clock_name(const void *object, const void *whole)
{
	const struct warp_evidence *warp = whole;
	const struct warp_result *result = object;

	return json_string(warp_clock_name((enum warp_clock_id)(result - warp->results)));
}

#undef OF
#define OF struct warp_result
#define WATCHED(name, member) INTEGER(name, member, INT64_MAX), .fact = FACT(fact)

static const struct field clock_fields[] = {
	{COMPUTED("clock", FIELD_STRING, clock_name), .options = FIELD_FILLED},
	{WATCHED("reads", reads), .reason = "reason"},
	{WATCHED("warps", warps)},
	{WATCHED("largest_warp_ns", largest_ns)},
	{INTEGER("apart_at_most_ns", apart_ns, INT64_MAX), .fact = FACT(apart_fact),
		.whole = FACT(fact), .reason = "reason"},
	{REASON("reason")},
	{0},
};

/* ---- candidates ---- */

struct source_row {
	const struct candidate *candidate;
	const char *name, *reason;
	enum candidate_state state;
	enum gain gain;
	bool in_use, tried;
	double cost_ns, spread_ns;
	int64_t entered, attempts, warps, warp_cpus;
};

static const struct field timing_element[] = {
	{.key = "", .kind = FIELD_REAL, .decimals = 1, .most = DOCUMENT_NS_MAX},
	{0},
};

static json_t *source_timings(const void *object, const void *whole)
{
	const struct candidate *candidate = ((const struct source_row *)object)->candidate;

	(void)whole;
	return field_list(timing_element, candidate->timings_ns, candidate->timing_count,
		sizeof(candidate->timings_ns[0]), NULL);
}

static json_t *source_calls(const void *object, const void *whole)
{
	const struct evidence *evidence = &((const struct source_row *)object)->candidate->evidence;
	struct shown_call rows[CALL_MAX];
	size_t count = 0;

	(void)whole;
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (evidence->calls[i].decides)
			rows[count++] = shown_call(evidence, &evidence->calls[i]);
	}
	return field_list(call_fields, rows, count, sizeof(rows[0]), NULL);
}

/* CANDIDATE_CLOCKS: all after the counter. */
static json_t *source_clocks(const void *object, const void *whole)
{
	const struct warp_evidence *warp = &((const struct source_row *)object)->candidate->warp;

	(void)whole;
	return field_list(clock_fields, &warp->results[WARP_COUNTER + 1],
		WARP_CLOCK_COUNT - WARP_COUNTER - 1, sizeof(warp->results[0]), warp);
}

#undef OF
#define OF struct source_row

static const struct field source_fields[] = {
	{STRING("name", name), .options = FIELD_FILLED},
	{WORD("state", state, candidate_state_names)},
	{FLAG("in_use", in_use)},
	{WORD("gain", gain, ranking_gain_names)},
	{KNOWN_NS("price_ns", cost_ns)},
	{KNOWN_NS("spread_ns", spread_ns)},
	{COMPUTED("looks_ns", FIELD_LIST, source_timings), .fields = timing_element,
		.given = GIVEN(tried)},
	{COUNT("entered_kernel", entered)},
	{COUNT("attempts", attempts)},
	{COUNT("warps", warps)},
	{COUNT("warp_cpus", warp_cpus)},
	{COMPUTED("calls", FIELD_LIST, source_calls), .fields = call_fields, .given = GIVEN(tried)},
	{COMPUTED("clocks", FIELD_LIST, source_clocks), .fields = clock_fields,
		.given = GIVEN(tried)},
	{STRING("reason", reason)},
	{0},
};

static struct source_row source_row(const struct run_result *result, size_t place)
{
	const struct candidate *candidate = &result->candidates[place];
	enum candidate_state state = candidate_state(candidate);
	struct entry_counts counts = counts_deciding(&candidate->evidence);
	bool tried = state != CANDIDATE_UNTRIED && state != CANDIDATE_VOID;
	bool proven = tried && counts.attempts > 0;
	bool watched = tried && fact_is_known(&candidate->warp.fact);

	return (struct source_row){.candidate = candidate,
		.name = candidate->name,
		.state = state,
		.gain = ranking_gain(&result->candidates[0], candidate),
		.reason = candidate_reason(candidate),
		.in_use = place == 0,
		.tried = tried,
		.cost_ns = tried && candidate->timing_count ? candidate_cost_ns(candidate) : -1,
		.spread_ns =
			tried && candidate->timing_count > 1 ? candidate_spread_ns(candidate) : -1,
		.entered = proven ? (int64_t)counts.entered : -1,
		.attempts = proven ? (int64_t)counts.attempts : -1,
		.warps = watched ? (int64_t)candidate_warps(candidate) : -1,
		.warp_cpus = watched ? (int64_t)candidate->warp.cpu_count : -1};
}

/* ---- NTP ---- */

#undef OF
#define OF struct ntp_state

static const struct field ntp_fields[] = {
	{FLAG("synchronized", synchronized), .fact = FACT(fact), .reason = "reason"},
	{FLAG("leap_second_pending", leap_pending), .fact = FACT(fact)},
	{INTEGER("offset_ns", offset_ns, INT64_MAX), .options = FIELD_SIGNED, .fact = FACT(fact)},
	{INTEGER("max_error_us", max_error_us, INT64_MAX), .fact = FACT(fact)},
	{REASON("reason")},
	{0},
};

/* ---- the document ---- */

static json_t *sources(const void *object, const void *whole)
{
	const struct run_result *result = object;
	struct source_row *rows = calloc(result->count + 1, sizeof(*rows));
	json_t *list = NULL;

	for (size_t i = 0; rows && i < result->count; i++)
		rows[i] = source_row(result, i);
	if (rows)
		list = field_list(source_fields, rows, result->count, sizeof(*rows), whole);
	free(rows);
	return list;
}

#undef OF
#define OF struct run_result

static const struct field result_fields[] = {
	{KNOWN("restored", restored_fact)},
	{REASON("restored_reason"), .fact = FACT(restored_fact)},
	{OBJECT("ntp_before", before, ntp_fields)},
	{OBJECT("ntp_after", after, ntp_fields)},
	{COMPUTED("sources", FIELD_LIST, sources), .options = FIELD_FILLED,
		.fields = source_fields},
	{REASON("reason"), .fact = FACT(why)},
	{0},
};

#undef OF
#define OF struct ranking

static const struct field verdict_fields[] = {
	{WORD("verdict", verdict, ranking_verdict_names)},
	{0},
};

struct shown_advice {
	const char *to;
	char command[CURRENT_PATH_SIZE + 64], parameter[64], undo[CURRENT_PATH_SIZE + 64];
};

#undef OF
#define OF struct shown_advice

static const struct field advice_fields[] = {
	{STRING("to", to)},
	{TEXT("command", command)},
	{TEXT("kernel_parameter", parameter)},
	{TEXT("undo", undo)},
	{0},
};

/* A report, with what is worked out for the document. */
struct shown_report {
	struct compare_report report;
	char summary[COMPARE_SUMMARY_SIZE];
	const char *fastest, *fastest_reason;
	bool advises;
	struct shown_advice advice;
	char advice_reason[COMPARE_SUMMARY_SIZE];
};

#undef OF
#define OF struct shown_report

const struct field compare_report_fields[] = {
	{INLINE_AT(report.moment, moment_fields)},
	{INLINE_AT(report.ranking, verdict_fields)},
	{INTEGER("exit_status", report.exit_status, 255)},
	{TEXT("summary", summary), .options = FIELD_FILLED},
	{STRING("original", report.original)},
	{STRING("fastest", fastest)},
	{STRING("fastest_reason", fastest_reason)},
	{REAL("duration_s", report.warp_s, 3)},
	{INLINE_AT(report.result, result_fields)},
	{.key = "advice",
		.kind = FIELD_OBJECT,
		.fields = advice_fields,
		MEMBER(advice),
		.given = GIVEN(advises)},
	{TEXT("advice_reason", advice_reason)},
	{0},
};

static void show_advice(const struct compare_report *report, struct shown_report *shown)
{
	const struct ranking *ranking = report->ranking;
	const struct candidate *candidates = report->result->candidates;
	struct shown_advice *advice = &shown->advice;

	shown->advises = ranking->verdict == RANKING_CHANGE;
	if (shown->advises) {
		advice->to = candidates[ranking->advised].name;
		snprintf(advice->command, sizeof(advice->command), "echo %s | sudo tee %s%s",
			advice->to, report->tree, CLOCKSOURCE_CURRENT);
		snprintf(advice->undo, sizeof(advice->undo), "echo %s | sudo tee %s%s",
			report->original, report->tree, CLOCKSOURCE_CURRENT);
		snprintf(
			advice->parameter, sizeof(advice->parameter), "clocksource=%s", advice->to);
	} else if (ranking->verdict == RANKING_UNKNOWN) {
		text_copy(shown->advice_reason, sizeof(shown->advice_reason),
			"absent: the measurement does not allow a recommendation");
	} else if (ranking->why_not) {
		snprintf(shown->advice_reason, sizeof(shown->advice_reason),
			"absent: %s is not recommended, because %s",
			candidates[ranking->fastest].name, ranking->why_not);
	} else {
		text_copy(shown->advice_reason, sizeof(shown->advice_reason),
			"absent: no other clocksource is clearly faster");
	}
}

bool compare_json(const void *result, const struct style *style, FILE *out)
{
	const struct compare_report *report = result;
	size_t fastest = report->ranking->fastest;
	struct shown_report shown = {.report = *report};
	const struct document_part parts[] = {
		{.fields = compare_report_fields, .from = &shown}, {0}};

	if (fastest == RANKING_NONE)
		shown.fastest_reason = "absent: the clocksource in use could not be measured";
	else
		shown.fastest = report->result->candidates[fastest].name;
	compare_summary(report, shown.summary, sizeof(shown.summary));
	show_advice(report, &shown);
	return document_write(COMPARE_SCHEMA, parts, style->compact, out);
}
