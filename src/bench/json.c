/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck bench` and of the tables on its screen. The document
 * is written and never read: what was measured is not judged again.
 */
#include "model.h"

#include <math.h>

/* Times have hundredths, since a tenth is 2.5% of a call of 4 ns. */
#define NS_DECIMALS 2
#define SECOND_DECIMALS 6
#define SHARE_DECIMALS 4

/* ---- calls and their times ---- */

static void bench_print_name(const void *object, const void *whole, FILE *out)
{
	const struct bench_subject *subject = object;

	(void)whole;
	fputs(as_call(subject->call, subject->clock), out);
}

#define OF struct bench_subject

static const struct field subject_fields[] = {
	{STRING("call", call), .options = FIELD_FILLED | FIELD_ONCE, .title = "call", .width = 34,
		.left = true, .cell = bench_print_name, .doc = "name of the call"},
	{STRING("clock", clock), .doc = "clock that it reads; null: the call takes none"},
	{WORD("path", path, call_path_names), .options = FIELD_FILLED, .title = "path", .width = 9,
		.left = true,
		.doc = "path of the call: by the vDSO, by libc, or by raw system call"},
	{0},
};

static json_t *time_reason(const void *object, const void *whole)
{
	const struct ns_stats *stats = object;

	(void)whole;
	if (fact_is_known(&stats->fact) && isnan(stats->ns.trimmed_mean))
		return json_string("too few batches for a mean");
	return field_reason(&stats->fact);
}

#undef OF
#define OF struct ns_stats
#define TIME_NS(name, member)                                                                      \
	REAL(name, member, NS_DECIMALS), .fact = FACT(fact), .reason = "reason", .cell_decimals = 1

static const struct field time_fields[] = {
	{TIME_NS("min_ns", ns.minimum), .title = "min", .width = 7,
		.doc = "ns per call, least of the batches"},
	{TIME_NS("median_ns", ns.median), .options = FIELD_SPARE, .title = "median", .width = 7,
		.doc = "ns per call, median of the batches"},
	{TIME_NS("batch_p99_ns", ns.p99), .options = FIELD_SPARE, .title = "99% below", .width = 10,
		.doc = "ns per call, 99th percentile of the batches' averages"},
	{TIME_NS("trimmed_mean_ns", ns.trimmed_mean), .options = FIELD_SPARE, .title = "mean",
		.width = 7, .doc = "ns per call, mean of the batches without outliers"},
	{NATURAL("calls_per_batch", iterations), .doc = "calls in a batch"},
	{NATURAL("batches", batches.begun), .doc = "batches begun"},
	{NATURAL("batches_preempted", batches.preempted),
		.doc = "batches discarded because the process was preempted"},
	{NATURAL("batches_migrated", batches.migrated),
		.doc = "batches discarded because the process moved to another CPU"},
	{NATURAL("batches_stalled", batches.stalled),
		.doc = "batches discarded because they took too long for anything but a stopped "
		       "machine"},
	{NATURAL("samples", ns.count), .doc = "batches that median, percentile and mean rest on"},
	{NATURAL("outliers", ns.outliers), .doc = "samples left out of the mean"},
	{COMPUTED("reason", FIELD_REASON, time_reason), .doc = "why times are null; else null"},
	{0},
};

/* ---- the table ---- */

#undef OF
#define OF struct bench_row

const struct field bench_row_fields[] = {
	{INLINE(subject, subject_fields)},
	{INLINE(stats, time_fields)},
	{REAL_FACT("ratio", ratio, NS_DECIMALS), .reason = NO_REASON, .title = "ratio", .width = 6,
		.cell_decimals = 1,
		.doc = "how many times as long the raw system call takes; null: unknown"},
	{0},
};

/* ---- counts ---- */

#undef OF
#define OF struct bench_run
#define SECONDS(name, member, heading)                                                             \
	REAL(name, member, SECOND_DECIMALS), .title = (heading), .width = 7, .cell_decimals = 3

static void print_calls(const void *object, const void *whole, FILE *out)
{
	(void)whole;
	fputs(as_short((double)((const struct bench_run *)object)->calls), out);
}

const struct field bench_run_fields[] = {
	{INLINE(subject, subject_fields)},
	{NATURAL("calls_requested", wanted), .options = FIELD_FILLED,
		.doc = "calls that were asked for"},
	{NATURAL("calls", calls), .options = FIELD_FILLED, .title = "calls", .width = 5,
		.cell = print_calls, .doc = "calls that were made"},
	{WHOLE("reason", fact), .doc = "why the times are null; else null"},
	{SECONDS("real_s", real_s, "real"), .doc = "seconds that they took by the clock"},
	{SECONDS("user_s", user_s, "user"), .doc = "seconds of CPU time in user space"},
	{SECONDS("sys_s", sys_s, "sys"), .doc = "seconds of CPU time in the kernel"},
	{NS("ns", ns), .options = FIELD_COLUMN, .title = "ns/call", .width = 8},
	{0},
};

/* ---- noise ---- */

#undef OF
#define OF struct noise

static const struct field noise_fields[] = {
	{WHOLE("reason", fact), .doc = "why the noise is unknown; null: it is known"},
	{FLAG("quiet", quiet),
		.doc = "whether the times can be trusted: the answer's median is not far above "
		       "its minimum"},
	{REAL("discarded_share", discarded_share, SHARE_DECIMALS),
		.doc = "share of the batches that were discarded, 0 to 1"},
	{REAL("outlier_share", outlier_share, SHARE_DECIMALS),
		.doc = "share of the samples that were left out of the means, 0 to 1"},
	{REAL("median_excess", median_excess, SHARE_DECIMALS),
		.doc = "median of the calls' medians over their minima, as a share of the minimum"},
	{REAL("answer_excess", answer_excess, SHARE_DECIMALS),
		.doc = "the same of the call that the summary names, the largest of its paths"},
	{0},
};

/* ---- the document ---- */

#undef OF
#define OF struct bench

static const struct field measured_fields[] = {
	{FLAG("stopped", stopped),
		.doc = "whether the benchmark was stopped before it was complete"},
	{NATURAL("cpu", cpu.value), .fact = FACT(cpu.fact), .reason = NO_REASON,
		.doc = "CPU that the table was measured on; null: none, or it could not be pinned"},
	{LIST_AT("calls", rows, row_count, bench_row_fields),
		.doc = "calls by each path, and what they took"},
	{LIST_AT("runs", runs, run_count, bench_run_fields),
		.doc = "long runs of a given number of calls"},
	{REASON("reason"), .fact = FACT(fact),
		.doc = "why nothing was measured; null: something was"},
	{0},
};

#undef OF
#define OF struct bench_report

const struct field bench_fields[] = {
	{REAL("duration_s", time_s, SECOND_DECIMALS), .options = FIELD_FILLED,
		.doc = "seconds planned for the table"},
	{INLINE(evidence, surroundings_fields)},
	{OBJECT("noise", noise, noise_fields), .doc = "how far the times can be trusted"},
	{INLINE_AT(bench, measured_fields)},
	{0},
};
