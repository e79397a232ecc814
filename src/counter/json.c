/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck counter`, which is written and never read, and its
 * metrics in Prometheus's text format.
 */
#include <math.h>

#include "document.h"
#include "model.h"

static void print_mhz(const void *object, const void *whole, FILE *out)
{
	const struct rate *rate = object;
	char mhz[48];

	(void)whole;
	if (fact_is_known(&rate->fact))
		fputs(format_mhz(rate->hz, 6, mhz), out);
}

/* Rounds up: no error is 0. */
static void print_error(const void *object, const void *whole, FILE *out)
{
	const struct rate *rate = object;

	(void)whole;
	if (fact_is_known(&rate->fact))
		fprintf(out, "%.1f", ceil(rate->error_ppm * 10) / 10);
}

/* `whole` is the first rate that is known; what both errors explain is no difference. */
static void print_off(const void *object, const void *whole, FILE *out)
{
	const struct rate *rate = object, *first = whole;

	if (rate != first && fact_is_known(&rate->fact))
		fprintf(out, rate_difference(rate, first) > 0 ? "%.1f" : "within", rate->off_ppm);
}

#define OF struct rate

const struct field rate_fields[] = {
	{STRING("source", source), .options = FIELD_FILLED, .title = "rate", .width = 33,
		.left = true, .doc = "where the rate comes from"},
	{REAL("hz", hz, 0), .fact = FACT(fact), .title = "MHz", .width = 15, .cell = print_mhz,
		.doc = "rate of the counter in Hz"},
	{REAL("error_ppm", error_ppm, 3), .fact = FACT(fact), .title = "+/- ppm", .width = 11,
		.cell = print_error,
		.doc = "parts per million by which it may be wrong, by the resolution of its source"},
	{REAL("off_ppm", off_ppm, 3), .options = FIELD_SIGNED, .fact = FACT(fact),
		.title = "off ppm", .width = 12, .cell = print_off,
		.doc = "parts per million by which it is more than the first rate that is known"},
	{REASON("reason"), .fact = FACT(fact), .doc = "why the rate is null; null: it is known"},
	{0},
};

#undef OF
#define OF struct counter_view

static const struct field view_fields[] = {
	{WORD("kernel", standing, counter_standing_names),
		.doc = "what the kernel did with the counter: in-use, offered; dropped and cleared "
		       "(the log shows that it was sound), distrusted or faulty; disabled at boot; "
		       "not-offered"},
	{FLAG("guaranteed", guaranteed),
		.doc = "whether the CPU or the hypervisor guarantees an invariant TSC"},
	{FLAG("trapped", trapped), .doc = "whether each read is intercepted or emulated"},
	{0},
};

#undef OF
#define OF struct counter_note

static const struct field note_fields[] = {
	{STRING("id", id), .options = FIELD_FILLED, .doc = "id of the note"},
	{TEXT("text", text), .options = FIELD_FILLED,
		.doc = "what is worth knowing, in a sentence"},
	{0},
};

#undef OF
#define OF struct counter_verdict

static const struct field verdict_fields[] = {
	{WORD("verdict", outcome, counter_outcome_names),
		.doc = "safe: programs may read the counter themselves; unsafe: they must not; "
		       "unknown: undetermined"},
	{INTEGER("exit_status", exit_status, 255), .doc = "0: safe; 1: unsafe; 2: unknown"},
	{TEXT("summary", summary), .options = FIELD_FILLED, .doc = "verdict in a sentence"},
	{STRING("rule", rule), .options = FIELD_FILLED,
		.doc = "id of the rule that gave the verdict"},
	{STRING("until", until),
		.doc = "what ends a safe verdict on this platform; null: nothing known"},
	{INLINE(view, view_fields)},
	{LIST("notes", notes, note_count, note_fields), .doc = "what is worth knowing besides"},
	{0},
};

#undef OF
#define OF struct counter_evidence

static const struct field evidence_fields[] = {
	{NS("read_ns", host.timing.counter_ns), .fact = FACT(host.timing.counter_fact),
		.reason = "read_reason", .doc = "ns per read of the counter"},
	{REASON("read_reason")},
	{TEXT("counter", host.timing.counter), .doc = "name of the counter; null: none known"},
	{REAL("duration_s", warp.duration_s, 3), .fact = FACT(warp.fact),
		.reason = "duration_reason", .doc = "seconds that the CPUs were compared"},
	{REASON("duration_reason")},
	{FLAG("stopped", warp.stopped),
		.doc = "whether the test was stopped before the time asked for"},
	{INTEGER("allowed_cpus", warp.allowed, INT64_MAX),
		.doc = "CPUs that this process may run on"},
	{INTEGER("tested_cpus", warp.cpu_count, INT64_MAX), .doc = "CPUs that were compared"},
	{INTEGER("warps", warp.results[WARP_COUNTER].warps, INT64_MAX),
		.fact = FACT(warp.results[WARP_COUNTER].fact), .reason = "warps_reason",
		.doc = "readings that were earlier than one already taken"},
	{REASON("warps_reason")},
	{INTEGER("max_offset_ns", warp.results[WARP_COUNTER].apart.value, INT64_MAX),
		.whole = FACT(warp.results[WARP_COUNTER].fact),
		.fact = FACT(warp.results[WARP_COUNTER].apart.fact), .reason = "max_offset_reason",
		.doc = "upper bound in ns on the offset between the counters of any two CPUs"},
	{REASON("max_offset_reason")},
	{0},
};

#undef OF
#define OF struct counter_report

const struct field counter_report_fields[] = {
	{INLINE_AT(timestamp, timestamp_fields)},
	{INLINE(verdict, verdict_fields)},
	{REAL("hz", verdict.hz.value, 0), .fact = FACT(verdict.hz.fact),
		.doc = "rate of the counter in Hz: the first of the rates that is known; null: none"},
	{LIST("rates", rates, rate_count, rate_fields), .doc = "the rate by each source"},
	{INLINE_AT(evidence, evidence_fields)},
	{0},
};

bool counter_report_json(const void *result, const struct style *style, FILE *out)
{
	return document_write(
		COUNTER_JSON_SCHEMA, counter_report_fields, result, style->compact, out);
}

/* An unknown rate has no sample, as in the metrics of check. */
bool counter_report_prometheus(const void *result, const struct style *style, FILE *out)
{
	const struct counter_report *report = result;

	(void)style;
	fputs("# HELP vdsocheck_tsc_verdict Whether programs may read the TSC themselves: 1 for "
	      "the verdict, 0 for the others.\n# TYPE vdsocheck_tsc_verdict gauge\n",
		out);
	for (unsigned i = 0; counter_outcome_names[i]; i++)
		fprintf(out, "vdsocheck_tsc_verdict{verdict=\"%s\"} %d\n", counter_outcome_names[i],
			i == (unsigned)report->verdict.outcome);
	if (fact_is_known(&report->verdict.hz.fact))
		fprintf(out,
			"# HELP vdsocheck_tsc_hertz Rate of the CPU's counter.\n# TYPE "
			"vdsocheck_tsc_hertz gauge\nvdsocheck_tsc_hertz %.0f\n",
			report->verdict.hz.value);
	return true;
}
