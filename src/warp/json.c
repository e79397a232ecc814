/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck warp`, which is written and never read. A clock or a
 * pair that was not tested keeps its keys: null, with the reason of the run or its own.
 */
#include "document.h"

#include "base/units.h"
#include "model.h"

/* The fact of a part of the run: why the run failed, else why the part did. */
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
	{COMPUTED("clock", FIELD_STRING, clock_name), .options = FIELD_FILLED,
		.doc = "name of the clock or counter; vDSO against kernel: CLOCK_MONOTONIC by "
		       "both in turn"},
	{WATCHED("reads", reads), .doc = "readings of the clock that were compared"},
	{WATCHED("warps", warps), .doc = "readings that were earlier than one already taken"},
	{WATCHED("largest_warp_ns", largest_ns), .doc = "ns of the largest warp; 0: none"},
	{INTEGER("cpu_behind", cpu_behind, INT32_MAX), .has = has_warps,
		.doc = "CPU on which the clock was behind in the largest warp; null: see "
		       "cpu_reason"},
	{INTEGER("cpu_ahead", cpu_ahead, INT32_MAX), .has = has_warps,
		.doc = "CPU on which the later time was read before; null: see cpu_reason"},
	{COMPUTED("cpu_reason", FIELD_REASON, cpu_reason),
		.doc = "why the CPUs of the largest warp are null; null: a warp was seen"},
	{INTEGER("max_offset_ns", apart_ns, INT64_MAX), .fact = FACT(apart_fact),
		.whole = FACT(fact),
		.doc = "upper bound in ns on the offset between the clocks of any two CPUs; null: "
		       "see apart_reason"},
	{COMPUTED("apart_reason", FIELD_REASON, apart_reason),
		.doc = "why this bound is null; else null"},
	{INTEGER("discarded_slices", discarded, UINT32_MAX),
		.doc = "slices of the test not counted, because the clock was set"},
	{COMPUTED("reason", FIELD_REASON, result_reason),
		.doc = "why the clock was not tested; null: it was"},
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
	{INTEGER("cpu", cpu, INT32_MAX), .doc = "number of one CPU"},
	{INTEGER("other_cpu", other_cpu, INT32_MAX), .doc = "number of the other CPU"},
	{NS("offset_ns", offset_ns), .options = FIELD_SIGNED, .has = is_pair_known,
		.doc = "ns by which the counter of other_cpu is ahead of that of cpu; null: see "
		       "reason"},
	{NS("error_ns", error_ns), .has = is_pair_known,
		.doc = "ns by which the offset may be wrong at most; null: see reason"},
	{COMPUTED("reason", FIELD_REASON, pair_reason), .doc = "why the offset is null; else null"},
	{0},
};

static json_t *pairs_reason(const void *object, const void *whole)
{
	return field_reason(fact_within(whole, &((const struct warp_evidence *)object)->pair_fact));
}

#undef OF
#define OF struct warp_evidence

static const struct field counters_fields[] = {
	{LIST_AT("pairs", pairs, pair_count, pair_fields), .fact = FACT(pair_fact),
		.doc = "every two of the CPUs"},
	{COMPUTED("reason", FIELD_REASON, pairs_reason),
		.doc = "why the offsets are null; else null"},
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
	{REAL("counter_hz", counter_hz, 0), .fact = FACT(fact),
		.doc = "rate of the CPU's counter in Hz"},
	{REAL("drift_ppm", drift_ppm, 4), .options = FIELD_SIGNED, .fact = FACT(fact),
		.doc = "parts per million by which the counter ran faster in the second half than "
		       "in the first"},
	{REAL("error_ppm", error_ppm, 4), .fact = FACT(fact),
		.doc = "parts per million by which the drift may be wrong at most"},
	{COMPUTED("against", FIELD_STRING, against), .options = FIELD_FILLED,
		.doc = "clock that the counter was compared with"},
	{COMPUTED("reason", FIELD_REASON, drift_reason), .doc = "why the drift is null; else null"},
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
	{REASON("reason"), .fact = FACT(fact),
		.doc = "why nothing was tested; null: something was"},
	{FLAG("stopped", stopped), .doc = "whether the test was stopped before the time asked for"},
	{COMPUTED("duration_s", FIELD_REAL, duration), .most = DOCUMENT_NS_MAX, .has = is_watched,
		.doc = "seconds that the test took; null: see reason"},
	{INTEGER("allowed_cpus", allowed, INT64_MAX), .doc = "CPUs that this process may run on"},
	{LIST("cpus", cpus, cpu_count, cpu_element), .doc = "CPUs that were tested"},
	{COMPUTED("clocks", FIELD_LIST, clocks), .options = FIELD_FILLED, .fields = result_fields,
		.doc = "clocks that were to be tested"},
	/* of the same struct */
	{.key = "counters",
		.kind = FIELD_OBJECT,
		.fields = counters_fields,
		.doc = "offsets between the counters of the CPUs"},
	{OBJECT("drift", drift, drift_fields),
		.doc = "rate of the counter, and how it changed during the test"},
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
	{WORD("verdict", verdict, warp_outcome_names),
		.doc = "ok: no clock ran backwards; warps: one did, or two of them disagree; "
		       "unknown: not tested"},
	{INTEGER("exit_status", exit_status, 255), .doc = "0: ok; 1: warps; 2: unknown"},
	{TEXT("summary", summary), .options = FIELD_FILLED, .doc = "verdict in a sentence"},
	{STRING("rule", rule), .options = FIELD_FILLED,
		.doc = "id of the rule that gave the verdict"},
	{0},
};

static const struct field advice_fields[] = {
	{STRING("advice", advice), .doc = "what to do; null: see advice_reason"},
	{COMPUTED("advice_reason", FIELD_REASON, advice_reason),
		.doc = "why there is no advice; null: there is"},
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
