/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck warp`, which is written and never read. A clock or a
 * pair that was not tested keeps its keys: null, with the reason of the run or its own.
 */
#include "document.h"

#include "base/units.h"
#include "model.h"

/* Of what is a part of the run: why the run failed, else why the part did. */
static const struct fact *fact_within(const void *whole, const struct fact *part)
{
	const struct warp_evidence *warp = ((const struct warp_report *)whole)->warp;

	return fact_is_known(&warp->fact) ? part : &warp->fact;
}

/* ---- clocks ---- */

static json_t *clock_name(const void *object, const void *whole)
{
	const struct warp_evidence *warp = ((const struct warp_report *)whole)->warp;
	const struct warp_result *result = object;

	return json_string(warp_clock_name((enum warp_clock_id)(result - warp->results)));
}

static bool has_warps(const void *object)
{
	const struct warp_result *result = object;

	return fact_is_known(&result->fact) && result->warps > 0;
}

static json_t *cpu_reason(const void *object, const void *whole)
{
	(void)whole;
	return has_warps(object) ? json_null() : json_string("absent: no warp was seen");
}

static json_t *apart_reason(const void *object, const void *whole)
{
	const struct warp_result *result = object;
	const struct fact *fact = fact_within(whole, &result->fact);

	return field_reason(fact_is_known(fact) ? &result->apart_fact : fact);
}

static json_t *result_reason(const void *object, const void *whole)
{
	return field_reason(fact_within(whole, &((const struct warp_result *)object)->fact));
}

#define OF struct warp_result
#define WATCHED(name, member) INTEGER(name, member, INT64_MAX), .fact = FACT(fact)

static const struct field result_fields[] = {
	{COMPUTED("clock", FIELD_STRING, clock_name), .options = FIELD_FILLED},
	{WATCHED("reads", reads)},
	{WATCHED("warps", warps)},
	{WATCHED("largest_warp_ns", largest_ns)},
	{INTEGER("earlier_cpu", earlier_cpu, INT32_MAX), .has = has_warps},
	{INTEGER("later_cpu", later_cpu, INT32_MAX), .has = has_warps},
	{COMPUTED("cpu_reason", FIELD_REASON, cpu_reason)},
	{INTEGER("apart_at_most_ns", apart_ns, INT64_MAX), .fact = FACT(apart_fact),
		.whole = FACT(fact)},
	{COMPUTED("apart_reason", FIELD_REASON, apart_reason)},
	{INTEGER("discarded_slices", discarded, UINT32_MAX)},
	{COMPUTED("reason", FIELD_REASON, result_reason)},
	{0},
};

static json_t *clocks(const void *object, const void *whole)
{
	const struct warp_evidence *warp = object;

	return field_list(
		result_fields, warp->results, WARP_CLOCK_COUNT, sizeof(warp->results[0]), whole);
}

/* ---- counters ---- */

static bool is_pair_known(const void *object)
{
	return ((const struct warp_pair *)object)->state == WARP_PAIR_KNOWN;
}

static json_t *pair_reason(const void *object, const void *whole)
{
	(void)whole;
	switch (((const struct warp_pair *)object)->state) {
	case WARP_PAIR_KNOWN:
		return json_null();
	case WARP_PAIR_MOVED:
		return json_string("failed: no single offset fits all readings");
	default:
		return json_string("failed: the two CPUs never ran at the same time");
	}
}

#undef OF
#define OF struct warp_pair

static const struct field pair_fields[] = {
	{INTEGER("cpu", cpu, INT32_MAX)},
	{INTEGER("other_cpu", other_cpu, INT32_MAX)},
	{NS("offset_ns", offset_ns), .options = FIELD_SIGNED, .has = is_pair_known},
	{NS("error_ns", error_ns), .has = is_pair_known},
	{COMPUTED("reason", FIELD_REASON, pair_reason)},
	{0},
};

static json_t *pairs_reason(const void *object, const void *whole)
{
	return field_reason(fact_within(whole, &((const struct warp_evidence *)object)->pair_fact));
}

#undef OF
#define OF struct warp_evidence

static const struct field counters_fields[] = {
	{LIST_AT("pairs", pairs, pair_count, pair_fields), .fact = FACT(pair_fact)},
	{COMPUTED("reason", FIELD_REASON, pairs_reason)},
	{0},
};

/* ---- drift ---- */

static json_t *against(const void *object, const void *whole)
{
	(void)object;
	(void)whole;
	return json_string("CLOCK_MONOTONIC_RAW");
}

static json_t *drift_reason(const void *object, const void *whole)
{
	return field_reason(fact_within(whole, &((const struct warp_drift *)object)->fact));
}

#undef OF
#define OF struct warp_drift

static const struct field drift_fields[] = {
	{REAL("counter_hz", counter_hz, 0), .fact = FACT(fact)},
	{REAL("drift_ppm", drift_ppm, 4), .options = FIELD_SIGNED, .fact = FACT(fact)},
	{REAL("error_ppm", error_ppm, 4), .fact = FACT(fact)},
	{COMPUTED("against", FIELD_STRING, against), .options = FIELD_FILLED},
	{COMPUTED("reason", FIELD_REASON, drift_reason)},
	{0},
};

/* ---- the run ---- */

static json_t *duration(const void *object, const void *whole)
{
	(void)whole;
	return field_real(
		(double)((const struct warp_evidence *)object)->duration_ns / NS_PER_SECOND, 3);
}

static bool is_watched(const void *object)
{
	return fact_is_known(&((const struct warp_evidence *)object)->fact);
}

#undef OF
#define OF struct warp_evidence

static const struct field cpu_element[] = {
	{.key = "", .kind = FIELD_INTEGER, .size = sizeof(int), .most = INT32_MAX},
	{0},
};

static const struct field run_fields[] = {
	{REASON("reason"), .fact = FACT(fact)},
	{FLAG("stopped", stopped)},
	{COMPUTED("duration_seconds", FIELD_REAL, duration), .most = DOCUMENT_NS_MAX,
		.has = is_watched},
	{INTEGER("allowed_cpus", allowed, INT64_MAX)},
	{LIST("cpus", cpus, cpu_count, cpu_element)},
	{COMPUTED("clocks", FIELD_LIST, clocks), .options = FIELD_FILLED, .fields = result_fields},
	{.key = "counters", .kind = FIELD_OBJECT, .fields = counters_fields}, /* of the same */
	{OBJECT("drift", drift, drift_fields)},
	{0},
};

/* ---- the verdict ---- */

static json_t *advice_reason(const void *object, const void *whole)
{
	(void)whole;
	return ((const struct warp_verdict *)object)->advice
	               ? json_null()
	               : json_string("absent: there is nothing to be done");
}

#undef OF
#define OF struct warp_verdict

static const struct field verdict_fields[] = {
	{WORD("verdict", verdict, warp_outcome_names)},
	{INTEGER("exit_status", exit_status, 255)},
	{TEXT("summary", summary), .options = FIELD_FILLED},
	{STRING("rule", rule), .options = FIELD_FILLED},
	{0},
};

static const struct field advice_fields[] = {
	{STRING("advice", advice)},
	{COMPUTED("advice_reason", FIELD_REASON, advice_reason)},
	{0},
};

#undef OF
#define OF struct warp_report

const struct field warp_report_fields[] = {
	{INLINE_AT(moment, moment_fields)},
	{INLINE_AT(verdict, verdict_fields)},
	{INLINE_AT(warp, run_fields)},
	{INLINE_AT(verdict, advice_fields)},
	{0},
};

bool warp_report_json(const void *result, const struct style *style, FILE *out)
{
	const struct document_part parts[] = {{.fields = warp_report_fields, .from = result}, {0}};

	return document_write(WARP_JSON_SCHEMA, parts, style->compact, out);
}
