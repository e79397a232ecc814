/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck warp`, which is written and never read. A clock or a
 * pair that was not tested keeps its keys: null, with the reason of the run or its own.
 */
#include "document.h"

#include "model.h"

/* ---- clocks ---- */

static void print_cpus(const void *object, const void *whole, FILE *out)
{
	const struct warp_result *result = object;

	(void)whole;
	if (!fact_is_known(&result->cpu_fact))
		return;
	fprintf(out, "%d", result->cpu_behind);
	if (result->cpu_ahead != result->cpu_behind)
		fprintf(out, ",%d", result->cpu_ahead);
}

#define OF struct warp_result
#define TESTED(name, member)                                                                       \
	INTEGER(name, member, INT64_MAX), .fact = FACT(fact), .reason = "reason"
#define LARGEST_WARP(name, member)                                                                 \
	INTEGER(name, member, INT32_MAX), .whole = FACT(fact), .fact = FACT(cpu_fact),             \
					  .reason = "cpu_reason"

const struct field warp_clock_fields[] = {
	{STRING("clock", name), .options = FIELD_FILLED, .title = "", .width = 21, .left = true,
		.doc = "name of the clock or counter; vDSO against kernel: CLOCK_MONOTONIC by "
		       "both in turn"},
	{TESTED("reads", reads), .title = "reads", .width = 12,
		.doc = "readings of the clock that were compared"},
	{TESTED("warps", warps), .title = "warps", .width = 12,
		.doc = "readings that were earlier than one already taken"},
	{TESTED("largest_warp_ns", largest_ns), .title = "largest ns", .width = 12,
		.doc = "ns of the largest warp; 0: none"},
	{0},
};

const struct field warp_result_fields[] = {
	{.key = "clock", .kind = FIELD_INLINE, .fields = warp_clock_fields},
	{LARGEST_WARP("cpu_behind", cpu_behind), .title = "CPUs", .width = 11, .cell = print_cpus,
		.doc = "CPU on which the clock was behind in the largest warp"},
	{LARGEST_WARP("cpu_ahead", cpu_ahead),
		.doc = "CPU on which the later time was read before"},
	{REASON("cpu_reason"),
		.doc = "why the CPUs of the largest warp are null; null: a warp was seen"},
	{INTEGER("max_offset_ns", apart.value, INT64_MAX), .fact = FACT(apart.fact),
		.whole = FACT(fact), .reason = "max_offset_reason", .title = "apart ns",
		.width = 11,
		.doc = "upper bound in ns on the offset between the clocks of any two CPUs"},
	{REASON("max_offset_reason"), .doc = "why this bound is null; else null"},
	{INTEGER("discarded_slices", discarded, UINT32_MAX),
		.doc = "slices of the test not counted, because the clock was set"},
	{REASON("reason"), .fact = FACT(fact), .doc = "why the clock was not tested; null: it was"},
	{0},
};

static json_t *clocks(const void *object, const void *whole)
{
	const struct warp_evidence *warp = object;

	return field_list(warp_result_fields, warp->results, WARP_CLOCK_COUNT,
		sizeof(warp->results[0]), whole);
}

/* ---- counters ---- */

static bool is_pair_known(const void *object)
{
	return ((const struct warp_pair *)object)->state == WARP_PAIR_KNOWN;
}

static const char *const pair_reasons[] = {
	[WARP_PAIR_KNOWN] = "",
	[WARP_PAIR_UNSEEN] = "failed: the two CPUs never ran at the same time",
	[WARP_PAIR_MOVED] = "failed: no single offset fits all readings",
	NULL,
};

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
	{WORD("reason", state, pair_reasons), .doc = "why the offset is null; else null"},
	{0},
};

#undef OF
#define OF struct warp_evidence

static const struct field counters_fields[] = {
	{LIST_AT("pairs", pairs, pair_count, pair_fields), .fact = FACT(pair_fact),
		.doc = "every two of the CPUs"},
	{REASON("reason"), .fact = FACT(pair_fact),
		.doc = "why the offsets are null; null: they are known"},
	{0},
};

/* ---- drift ---- */

static json_t *against(const void *object, const void *whole)
{
	(void)object;
	(void)whole;
	return json_string("CLOCK_MONOTONIC_RAW");
}

#undef OF
#define OF struct warp_drift

static const struct field drift_fields[] = {
	{REAL("counter_hz", counter_hz, 0), .fact = FACT(fact),
		.doc = "rate of the CPU's counter in Hz"},
	{REAL("counter_hz_error_ppm", hz_error_ppm, 4), .fact = FACT(fact),
		.doc = "parts per million by which this rate may be wrong at most"},
	{REAL("drift_ppm", drift_ppm, 4), .options = FIELD_SIGNED, .fact = FACT(fact),
		.doc = "parts per million by which the counter ran faster in the second half than "
		       "in the first"},
	{REAL("error_ppm", error_ppm, 4), .fact = FACT(fact),
		.doc = "parts per million by which the drift may be wrong at most"},
	{COMPUTED("against", FIELD_STRING, against), .options = FIELD_FILLED,
		.doc = "clock that the counter was compared with"},
	{REASON("reason"), .fact = FACT(fact), .doc = "why the drift is null; null: it is known"},
	{0},
};

/* ---- the run ---- */

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
	{REAL("duration_s", duration_s, 3), .fact = FACT(fact), .reason = "reason",
		.doc = "seconds that the test took"},
	{INTEGER("allowed_cpus", allowed, INT64_MAX), .doc = "CPUs that this process may run on"},
	{LIST("cpus", cpus, cpu_count, cpu_element), .doc = "CPUs that were tested"},
	{COMPUTED("clocks", FIELD_LIST, clocks), .options = FIELD_FILLED,
		.fields = warp_result_fields, .doc = "clocks that were to be tested"},
	/* The members of this object are those of the run. */
	{.key = "counters",
		.kind = FIELD_OBJECT,
		.fields = counters_fields,
		.doc = "offsets between the counters of the CPUs"},
	{OBJECT("drift", drift, drift_fields),
		.doc = "rate of the counter, and how it changed during the test"},
	{0},
};

/* ---- the verdict ---- */

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
	{STRING("advice", advice), .fact = FACT(advice_fact), .reason = "advice_reason",
		.doc = "what to do"},
	{REASON("advice_reason"), .doc = "why there is no advice; null: there is"},
	{0},
};

#undef OF
#define OF struct warp_report

const struct field warp_report_fields[] = {
	{INLINE_AT(timestamp, timestamp_fields)},
	{INLINE_AT(verdict, verdict_fields)},
	{INLINE_AT(warp, run_fields)},
	{0},
};

bool warp_report_json(const void *result, const struct style *style, FILE *out)
{
	return document_write(WARP_JSON_SCHEMA, warp_report_fields, result, style->compact, out);
}
