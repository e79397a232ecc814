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

#define COUNT(name, member) INTEGER(name, member, INT64_MAX), .options = FIELD_FILLED
#define CPU(name, member) INTEGER(name, member.value, INT32_MAX), .fact = FACT(member.fact)

/* ---- calls and their times ---- */

static void print_name(const void *object, const void *whole, FILE *out)
{
	const struct bench_subject *subject = object;

	(void)whole;
	fputs(as_call(subject->call, subject->clock), out);
}

#define OF struct bench_subject

static const struct field subject_fields[] = {
	{STRING("call", call), .options = FIELD_FILLED | FIELD_ONCE, .title = "call", .width = 34,
		.left = true, .cell = print_name, .doc = "name of the call"},
	{STRING("clock", clock), .doc = "clock that it reads; null: the call takes none"},
	{WORD("path", path, call_path_names), .options = FIELD_FILLED, .title = "by", .width = 9,
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
	REAL(name, member, NS_DECIMALS), .fact = FACT(fact), .cell_decimals = 1

static const struct field time_fields[] = {
	{TIME_NS("min_ns", ns.minimum), .title = "min", .width = 7,
		.doc = "ns per call, least of the batches"},
	{TIME_NS("median_ns", ns.median), .options = FIELD_SPARE, .title = "median", .width = 7,
		.doc = "ns per call, median of the batches"},
	{TIME_NS("batch_p99_ns", ns.p99), .options = FIELD_SPARE, .title = "batch p99", .width = 10,
		.doc = "ns per call, 99th percentile of the batches' averages"},
	{TIME_NS("trimmed_mean_ns", ns.trimmed_mean), .options = FIELD_SPARE, .title = "mean",
		.width = 7, .doc = "ns per call, mean of the batches without outliers"},
	{COUNT("calls_per_batch", iterations), .doc = "calls in a batch"},
	{COUNT("batches", batches.begun), .doc = "batches begun"},
	{COUNT("batches_preempted", batches.preempted),
		.doc = "batches discarded because the process was preempted"},
	{COUNT("batches_migrated", batches.migrated),
		.doc = "batches discarded because the process moved to another CPU"},
	{COUNT("batches_stalled", batches.stalled),
		.doc = "batches discarded because they took too long for anything but a stopped "
		       "machine"},
	{COUNT("samples", ns.count), .doc = "batches that median, percentile and mean rest on"},
	{COUNT("outliers", ns.outliers), .doc = "samples left out of the mean"},
	{COMPUTED("reason", FIELD_REASON, time_reason), .doc = "why times are null; else null"},
	{0},
};

/* ---- the table ---- */

#undef OF
#define OF struct bin

static const struct field bin_fields[] = {
	{REAL("from_ns", from_ns, NS_DECIMALS), .options = FIELD_FILLED,
		.doc = "lower end of the bin in ns"},
	{REAL("to_ns", to_ns, NS_DECIMALS), .doc = "upper end of the bin in ns; null: it has none"},
	{COUNT("calls", calls), .doc = "calls that took this long"},
	{0},
};

#undef OF
#define OF struct bench_row
#define CALL_NS(name, member, what)                                                                \
	REAL(name, histogram.member, NS_DECIMALS), .fact = FACT(histogram.fact),                   \
						   .doc = what "; null: none was timed alone"

const struct field bench_row_fields[] = {
	{INLINE(subject, subject_fields)},
	{CPU("cpu", cpu), .doc = "CPU that the call was measured on; null: it could not be pinned"},
	{INLINE(stats, time_fields)},
	{REAL("ratio", ratio.value, NS_DECIMALS), .fact = FACT(ratio.fact), .title = "ratio",
		.width = 6, .cell_decimals = 1,
		.doc = "how many times as long the raw system call takes; null: unknown"},
	{CALL_NS("call_p50_ns", p50_ns, "ns of single calls, 50th percentile")},
	{CALL_NS("call_p90_ns", p90_ns, "ns of single calls, 90th percentile")},
	{CALL_NS("call_p99_ns", p99_ns, "ns of single calls, 99th percentile")},
	{CALL_NS("call_p999_ns", p999_ns, "ns of single calls, 99.9th percentile")},
	{CALL_NS("call_max_ns", max_ns, "ns of the longest single call")},
	{CALL_NS("call_step_ns", step_ns, "ns that the counter moves by, the error of these")},
	{LIST("histogram", histogram.bins, histogram.count, bin_fields),
		.fact = FACT(histogram.fact),
		.doc = "bins that single calls fell into; null: none was timed alone"},
	{0},
};

#undef OF
#define OF struct bench_baseline

const struct field bench_baseline_fields[] = {
	{STRING("id", id), .options = FIELD_FILLED, .doc = "stable id of what was measured"},
	{STRING("text", text), .options = FIELD_FILLED, .title = "baselines", .width = 43,
		.left = true, .doc = "what was measured, for people"},
	{INLINE(stats, time_fields)},
	{0},
};

/* ---- the breakdown ---- */

#undef OF
#define OF struct breakdown
#define PART(name, member, why)                                                                    \
	REAL(name, member.value, NS_DECIMALS), .fact = FACT(member.fact), .reason = (why)

static const struct field breakdown_fields[] = {
	{PART("syscall_ns", syscall, "syscall_reason"),
		.doc = "ns per clock_gettime(CLOCK_MONOTONIC) by raw system call"},
	{PART("syscall_entry_ns", entry, "syscall_reason"),
		.doc = "ns of it to enter the kernel and return"},
	{PART("syscall_kernel_ns", kernel, "syscall_reason"),
		.doc = "ns of it in the kernel, the rest"},
	{REASON("syscall_reason"), .doc = "why parts of the system call are null; else null"},
	{PART("vdso_ns", vdso, "vdso_reason"),
		.doc = "ns per clock_gettime(CLOCK_MONOTONIC) by the vDSO"},
	{PART("vdso_counter_ns", counter, "vdso_reason"),
		.doc = "ns of it to read the CPU's counter"},
	{PART("vdso_order_ns", order, "vdso_reason"),
		.doc = "ns of it to wait for earlier instructions"},
	{PART("vdso_arithmetic_ns", arithmetic, "vdso_reason"),
		.doc = "ns of it to convert ticks, the rest"},
	{REASON("vdso_reason"), .doc = "why parts of the vDSO's call are null; else null"},
	{0},
};

/* ---- counts, threads ---- */

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
	{CPU("cpu", cpu), .doc = "CPU that the calls were made on; null: not pinned"},
	{COUNT("calls_requested", wanted), .doc = "calls that were asked for"},
	{COUNT("calls", calls), .title = "calls", .width = 5, .cell = print_calls,
		.doc = "calls that were made"},
	{WHOLE("reason", fact), .doc = "why the times are null; else null"},
	{SECONDS("real_s", real_s, "real"), .doc = "seconds that they took by the clock"},
	{SECONDS("user_s", user_s, "user"), .doc = "seconds of CPU time in user space"},
	{SECONDS("sys_s", sys_s, "sys"), .doc = "seconds of CPU time in the kernel"},
	{NS("ns", ns), .options = FIELD_COLUMN, .title = "ns/call", .width = 8},
	{0},
};

#undef OF
#define OF struct bench_contention

static void print_per_s(const void *object, const void *whole, FILE *out)
{
	(void)whole;
	fputs(as_short(((const struct bench_contention *)object)->together.per_s), out);
}

#define CONTENTION_NS(name, member, heading)                                                       \
	REAL(name, member, NS_DECIMALS), .title = (heading), .width = 9, .cell_decimals = 1

const struct field bench_contention_fields[] = {
	{INLINE(subject, subject_fields)},
	{COUNT("threads", threads), .doc = "threads that made the call at the same time"},
	{COUNT("cpus", cpus), .doc = "CPUs that they ran on"},
	{WHOLE("reason", fact), .doc = "why the times are null; else null"},
	{CONTENTION_NS("alone_ns", alone.ns, "alone"),
		.doc = "ns of CPU time per call, by one thread alone"},
	{CONTENTION_NS("together_ns", together.ns, "together"),
		.doc = "ns of a thread's CPU time per call, by all threads at the same time"},
	{REAL("reads_per_s", together.per_s, 0), .options = FIELD_SPARE, .title = "reads/s",
		.width = 9, .cell = print_per_s,
		.doc = "calls per second, of all threads together"},
	{REAL("factor", factor, 2), .title = "factor", .width = 7,
		.doc = "together_ns over alone_ns"},
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
	{LIST_AT("calls", rows, row_count, bench_row_fields),
		.doc = "calls by each path, and what they took"},
	{LIST("baselines", baselines, baseline_count, bench_baseline_fields),
		.doc = "what the calls are compared with; empty: no call was measured"},
	{LIST_AT("runs", runs, run_count, bench_run_fields),
		.doc = "long runs of a given number of calls"},
	{LIST_AT("contention", contentions, contention_count, bench_contention_fields),
		.doc = "calls by one CPU alone and by many at the same time"},
	{REASON("reason"), .fact = FACT(fact),
		.doc = "why nothing was measured; null: something was"},
	{0},
};

#undef OF
#define OF struct bench_report

const struct field bench_fields[] = {
	{REAL("duration_s", time_s, SECOND_DECIMALS), .options = FIELD_FILLED,
		.doc = "seconds planned for the table, histograms and contention"},
	{INLINE(evidence, surroundings_fields)},
	{OBJECT("noise", noise, noise_fields), .doc = "how far the times can be trusted"},
	{OBJECT("breakdown", breakdown, breakdown_fields),
		.doc = "what a call by the system call and one by the vDSO consist of"},
	{INLINE_AT(bench, measured_fields)},
	{0},
};
