/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck bench`. It is written and never read: what was
 * measured is not judged again.
 */
#include "document.h"

#include "model.h"

/* Hundredths: a tenth is 2 % of a COARSE clock. */
#define NS_DECIMALS 2
#define SECOND_DECIMALS 6
#define SHARE_DECIMALS 4

#define COUNT(name, member) INTEGER(name, member, INT64_MAX), .options = FIELD_FILLED
#define CPU(name, member) INTEGER(name, member, INT32_MAX), .options = FIELD_NEGATIVE_NONE

/* ---- what was called, and what it took ---- */

#define OF struct bench_subject

static const struct field subject_fields[] = {
	{TEXT("call", call), .options = FIELD_FILLED},
	{TEXT("clock", clock)},
	{WORD("path", path, bench_paths), .options = FIELD_FILLED},
	{0},
};

static json_t *time_reason(const void *object, const void *whole)
{
	const struct ns_stats *stats = object;

	(void)whole;
	if (fact_is_known(&stats->fact) && !stats->has_mean)
		return json_string("too few batches for a mean");
	return field_reason(&stats->fact);
}

#undef OF
#define OF struct ns_stats
#define TIME_NS(name, member) REAL(name, member, NS_DECIMALS), .fact = FACT(fact)

static const struct field time_fields[] = {
	{TIME_NS("min_ns", min_ns)},
	{TIME_NS("median_ns", median_ns)},
	{TIME_NS("batch_p99_ns", p99_ns)},
	{TIME_NS("trimmed_mean_ns", trimmed_mean_ns), .given = GIVEN(has_mean)},
	{COUNT("calls_per_batch", iterations)},
	{COUNT("batches", batches)},
	{COUNT("batches_preempted", preempted)},
	{COUNT("batches_moved", moved)},
	{COUNT("batches_jumped", stalled)},
	{COUNT("samples", samples)},
	{COUNT("outliers", outliers)},
	{COMPUTED("reason", FIELD_REASON, time_reason)},
	{0},
};

/* ---- the table ---- */

struct bucket {
	double from_ns, to_ns; /* the last one has no end: negative */
	uint64_t calls;
};

#undef OF
#define OF struct bucket

static const struct field bucket_fields[] = {
	{REAL("from_ns", from_ns, NS_DECIMALS)},
	{REAL("to_ns", to_ns, NS_DECIMALS), .options = FIELD_NEGATIVE_NONE},
	{COUNT("calls", calls)},
	{0},
};

static bool has_histogram(const void *object)
{
	return ((const struct bench_row *)object)->histogram.calls;
}

static json_t *ratio(const void *object, const void *whole)
{
	const struct bench_report *report = whole;
	double times = bench_ratio(report->bench, object);

	return times > 0 ? field_real(times, NS_DECIMALS) : json_null();
}

static json_t *histogram(const void *object, const void *whole)
{
	const struct histogram *histogram = &((const struct bench_row *)object)->histogram;
	struct bucket buckets[HISTOGRAM_BUCKETS];
	size_t count = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (histogram->buckets[i])
			buckets[count++] = (struct bucket){.from_ns = histogram_edge(i),
				.to_ns = i + 1 < HISTOGRAM_BUCKETS ? histogram_edge(i + 1) : -1,
				.calls = histogram->buckets[i]};
	}
	return field_list(bucket_fields, buckets, count, sizeof(buckets[0]), whole);
}

#undef OF
#define OF struct bench_row
#define CALL_NS(name, member) REAL(name, member, NS_DECIMALS), .has = has_histogram

static const struct field row_fields[] = {
	{INLINE(subject, subject_fields)},
	{CPU("cpu", cpu)},
	{INLINE(stats, time_fields)},
	{COMPUTED("ratio", FIELD_REAL, ratio), .most = DOCUMENT_NS_MAX},
	{CALL_NS("call_p50_ns", histogram.p50_ns)},
	{CALL_NS("call_p90_ns", histogram.p90_ns)},
	{CALL_NS("call_p99_ns", histogram.p99_ns)},
	{CALL_NS("call_p999_ns", histogram.p999_ns)},
	{CALL_NS("call_max_ns", histogram.max_ns)},
	{COMPUTED("histogram", FIELD_LIST, histogram), .has = has_histogram,
		.fields = bucket_fields},
	{0},
};

struct baseline_row {
	const char *id, *text;
	struct ns_stats stats;
};

#undef OF
#define OF struct baseline_row

static const struct field baseline_fields[] = {
	{STRING("id", id), .options = FIELD_FILLED},
	{STRING("text", text), .options = FIELD_FILLED},
	{INLINE(stats, time_fields)},
	{0},
};

static json_t *baselines(const void *object, const void *whole)
{
	const struct bench *bench = object;
	struct baseline_row rows[BASELINE_COUNT];

	for (size_t i = 0; i < BASELINE_COUNT; i++)
		rows[i] = (struct baseline_row){.id = baseline_id((enum baseline)i),
			.text = baseline_text((enum baseline)i),
			.stats = bench->baselines[i]};
	return field_list(baseline_fields, rows, bench->row_count ? BASELINE_COUNT : 0,
		sizeof(rows[0]), whole);
}

/* ---- what the calls consist of ---- */

#undef OF
#define OF struct breakdown
#define PART(name, member) REAL(name, member, NS_DECIMALS), .options = FIELD_NEGATIVE_NONE

static const struct field breakdown_fields[] = {
	{PART("syscall_ns", syscall)},
	{PART("syscall_entry_ns", entry)},
	{PART("syscall_kernel_ns", kernel)},
	{REASON("syscall_reason"), .fact = FACT(syscall_fact)},
	{PART("vdso_ns", vdso)},
	{PART("vdso_counter_ns", counter)},
	{PART("vdso_order_ns", order)},
	{PART("vdso_arithmetic_ns", arithmetic)},
	{REASON("vdso_reason"), .fact = FACT(vdso_fact)},
	{0},
};

/* ---- clocks, counts, threads ---- */

#undef OF
#define OF struct bench_clock

static const struct field clock_fields[] = {
	{TEXT("clock", clock)},
	{INTEGER("resolution_ns", step.resolution_ns.value, INT64_MAX),
		.fact = FACT(step.resolution_ns.fact)},
	{INTEGER("smallest_step_ns", step.step_ns.value, INT64_MAX),
		.fact = FACT(step.step_ns.fact), .reason = "reason"},
	{COUNT("readings", step.readings)},
	{COUNT("readings_standing", step.standing)},
	{REASON("reason")},
	{0},
};

#undef OF
#define OF struct bench_count
#define SECONDS(name, member) REAL(name, member, SECOND_DECIMALS), .fact = FACT(fact)

static const struct field run_fields[] = {
	{INLINE(subject, subject_fields)},
	{CPU("cpu", cpu)},
	{COUNT("calls_wanted", wanted)},
	{COUNT("calls", calls)},
	{SECONDS("real_s", real_s), .reason = "reason"},
	{SECONDS("user_s", user_s)},
	{SECONDS("sys_s", sys_s)},
	{REASON("reason")},
	{0},
};

#undef OF
#define OF struct bench_contention
#define CONTENTION_NS(name, member) REAL(name, member, NS_DECIMALS), .fact = FACT(fact)

static const struct field contention_fields[] = {
	{INLINE(subject, subject_fields)},
	{COUNT("threads", threads)},
	{COUNT("cpus", cpus)},
	{CONTENTION_NS("alone_ns", alone_ns), .reason = "reason"},
	{CONTENTION_NS("together_ns", together_ns)},
	{CONTENTION_NS("slowest_ns", slowest_ns)},
	{REASON("reason")},
	{0},
};

/* ---- noise, clocksource, host ---- */

#undef OF
#define OF struct noise
#define SHARE(name, member) REAL(name, member, SHARE_DECIMALS), .fact = FACT(fact)

static const struct field noise_fields[] = {
	{FLAG("quiet", quiet), .fact = FACT(fact), .reason = "reason"},
	{SHARE("thrown_share", discarded_share)},
	{SHARE("outlier_share", outlier_share)},
	{SHARE("median_excess", median_excess)},
	{SHARE("answer_excess", answer_excess)},
	{REASON("reason")},
	{0},
};

#undef OF
#define OF struct clocksource_evidence

static const struct field clocksource_fields[] = {
	{TEXT("current", current), .fact = FACT(current_fact), .reason = "reason"},
	{REASON("reason")},
	{0},
};

#undef OF
#define OF struct host_evidence
#define HOST(name, member) TEXT(name, member.value), .fact = FACT(member.fact)

static const struct field host_fields[] = {
	{HOST("kernel", kernel)},
	{HOST("arch", arch)},
	{HOST("cpu", cpu)},
	{HOST("hypervisor", hypervisor)},
	{HOST("container", container)},
	{HOST("libc", libc)},
	{0},
};

#undef OF
#define OF struct evidence

static const struct field evidence_moment_fields[] = {
	{INLINE(moment, moment_fields)},
	{0},
};

static const struct field evidence_fields[] = {
	{OBJECT("clocksource", clocksource, clocksource_fields)},
	{OBJECT("host", host, host_fields)},
	{0},
};

/* ---- the document ---- */

#undef OF
#define OF struct bench

static const struct field stopped_fields[] = {
	{FLAG("stopped", stopped)},
	{0},
};

static const struct field table_fields[] = {
	{LIST_AT("calls", rows, row_count, row_fields)},
	{COMPUTED("yardsticks", FIELD_LIST, baselines), .options = FIELD_FILLED,
		.fields = baseline_fields},
	{0},
};

static const struct field other_fields[] = {
	{LIST("clocks", clocks, clock_count, clock_fields)},
	{LIST_AT("runs", runs, run_count, run_fields)},
	{LIST_AT("crowds", contentions, contention_count, contention_fields)},
	{REASON("reason"), .fact = FACT(fact)},
	{0},
};

#undef OF
#define OF struct bench_report

const struct field bench_report_fields[] = {
	{INLINE_AT(evidence, evidence_moment_fields)},
	{STRING("verdict", verdict), .options = FIELD_FILLED},
	{INTEGER("exit_status", exit_status, INT32_MAX)},
	{TEXT("summary", summary)},
	{INLINE_AT(bench, stopped_fields)},
	{REAL("time_s", time_s, SECOND_DECIMALS)},
	{INLINE_AT(evidence, evidence_fields)},
	{OBJECT("noise", noise, noise_fields)},
	{INLINE_AT(bench, table_fields)},
	{OBJECT("decomposition", breakdown, breakdown_fields)},
	{INLINE_AT(bench, other_fields)},
	{0},
};

bool bench_json(const void *result, const struct style *style, FILE *out)
{
	const struct document_part parts[] = {{.fields = bench_report_fields, .from = result}, {0}};

	return document_write(BENCH_SCHEMA, parts, style->compact, out);
}
