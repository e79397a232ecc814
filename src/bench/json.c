/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck bench`. It is written and never read: what was
 * measured is not judged again.
 */
#include "document.h"

#include "base/units.h"
#include "report.h"

/* Hundredths: a tenth is 2 % of a COARSE clock. */
#define NS_DECIMALS 2
#define SECOND_DECIMALS 6
#define SHARE_DECIMALS 4

#define COUNT(name, member) INTEGER(name, member, INT64_MAX), .options = FIELD_FILLED
#define CPU(name, member) INTEGER(name, member, INT32_MAX), .options = FIELD_NEGATIVE_NONE

/* ---- what was called, and what it took ---- */

static const char *const paths[] = {
	[PATH_VDSO] = "vdso", [PATH_LIBC] = "libc", [PATH_SYSCALL] = "syscall", NULL};

#define OF struct bench_subject

static const struct field subject_fields[] = {
	{TEXT("call", call), .options = FIELD_FILLED},
	{TEXT("clock", clock)},
	{WORD("path", path, paths), .options = FIELD_FILLED},
	{0},
};

static bool has_mean(const void *object)
{
	const struct ns_stats *stats = object;

	return fact_is_known(&stats->fact) && stats->has_mean;
}

static json_t *price_reason(const void *object, const void *whole)
{
	const struct ns_stats *stats = object;

	(void)whole;
	if (fact_is_known(&stats->fact) && !stats->has_mean)
		return json_string("too few batches for a mean");
	return field_reason(&stats->fact);
}

#undef OF
#define OF struct ns_stats
#define PRICE_NS(name, member) REAL(name, member, NS_DECIMALS), .fact = FACT(fact)

static const struct field price_fields[] = {
	{PRICE_NS("min_ns", min_ns)},
	{PRICE_NS("median_ns", median_ns)},
	{PRICE_NS("batch_p99_ns", p99_ns)},
	{PRICE_NS("trimmed_mean_ns", trimmed_mean_ns), .has = has_mean},
	{COUNT("calls_per_batch", iterations)},
	{COUNT("batches", batches)},
	{COUNT("batches_preempted", preempted)},
	{COUNT("batches_moved", moved)},
	{COUNT("batches_jumped", stalled)},
	{COUNT("samples", samples)},
	{COUNT("outliers", outliers)},
	{COMPUTED("reason", FIELD_REASON, price_reason)},
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

static const struct field row_fields[] = {
	{INLINE(subject, subject_fields)},
	{CPU("cpu", cpu)},
	{INLINE(stats, price_fields)},
	{COMPUTED("histogram", FIELD_LIST, histogram), .has = has_histogram,
		.fields = bucket_fields},
	{0},
};

static json_t *calls(const void *object, const void *whole)
{
	const struct bench *bench = ((const struct bench_report *)object)->bench;

	return field_list(row_fields, bench->rows, bench->row_count, sizeof(bench->rows[0]), whole);
}

struct baseline_row {
	const char *id, *text;
	struct ns_stats stats;
};

#undef OF
#define OF struct baseline_row

static const struct field baseline_fields[] = {
	{STRING("id", id), .options = FIELD_FILLED},
	{STRING("text", text), .options = FIELD_FILLED},
	{INLINE(stats, price_fields)},
	{0},
};

static json_t *baselines(const void *object, const void *whole)
{
	const struct bench *bench = ((const struct bench_report *)object)->bench;
	struct baseline_row rows[BASELINE_COUNT];

	for (size_t i = 0; i < BASELINE_COUNT; i++)
		rows[i] = (struct baseline_row){.id = baseline_id((enum baseline)i),
			.text = baseline_text((enum baseline)i),
			.stats = bench->baselines[i]};
	return field_list(baseline_fields, rows, bench->row_count ? BASELINE_COUNT : 0,
		sizeof(rows[0]), whole);
}

/* ---- what the calls consist of ---- */

/* In ns; negative where it is not known. */
struct parts {
	double syscall, entry, kernel, filter;
	double vdso, counter, order, arithmetic;
};

static json_t *first_reason(const struct fact *const *facts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!fact_is_known(facts[i]))
			return field_reason(facts[i]);
	}
	return json_null();
}

static json_t *syscall_reason(const void *object, const void *whole)
{
	const struct bench_report *report = whole;
	const struct ns_stats *baselines = report->bench->baselines;
	const struct fact *const facts[] = {
		&baselines[BASELINE_CLOCK_SYSCALL].fact, &baselines[BASELINE_GETPPID].fact};

	(void)object;
	return first_reason(facts, report->breakdown.entry.known ? 1 : 2);
}

static json_t *filter_reason(const void *object, const void *whole)
{
	(void)object;
	return field_reason(&((const struct bench_report *)whole)->bench->filter.fact);
}

static json_t *vdso_reason(const void *object, const void *whole)
{
	const struct bench_report *report = whole;
	const struct ns_stats *baselines = report->bench->baselines;
	struct fact dear = {.state = FACT_KNOWN};
	const struct fact *const facts[] = {&baselines[BASELINE_CLOCK_VDSO].fact,
		&baselines[BASELINE_COUNTER].fact, &baselines[BASELINE_ORDERED].fact, &dear};

	(void)object;
	if (report->breakdown.vdso_is_as_dear_as_entry)
		fact_set(&dear, FACT_FAILED,
			"no less than entering the kernel takes: it may be a system call");
	return first_reason(facts, ARRAY_SIZE(facts));
}

#undef OF
#define OF struct parts
#define PART(name, member) REAL(name, member, NS_DECIMALS), .options = FIELD_NEGATIVE_NONE

static const struct field parts_fields[] = {
	{PART("syscall_ns", syscall)},
	{PART("syscall_entry_ns", entry)},
	{PART("syscall_kernel_ns", kernel)},
	{COMPUTED("syscall_reason", FIELD_REASON, syscall_reason)},
	{PART("seccomp_filter_ns", filter)},
	{COMPUTED("seccomp_filter_reason", FIELD_REASON, filter_reason)},
	{PART("vdso_ns", vdso)},
	{PART("vdso_counter_ns", counter)},
	{PART("vdso_order_ns", order)},
	{PART("vdso_arithmetic_ns", arithmetic)},
	{COMPUTED("vdso_reason", FIELD_REASON, vdso_reason)},
	{0},
};

static double part_ns(struct part part)
{
	return part.known ? part.ns : -1;
}

static json_t *breakdown(const void *object, const void *whole)
{
	const struct breakdown *found = &((const struct bench_report *)object)->breakdown;
	const struct parts parts = {
		.syscall = part_ns(found->syscall),
		.entry = part_ns(found->entry),
		.kernel = part_ns(found->kernel),
		.filter = part_ns(found->filter),
		.vdso = part_ns(found->vdso),
		.counter = part_ns(found->counter),
		.order = part_ns(found->order),
		.arithmetic = part_ns(found->arithmetic),
	};

	return field_write(parts_fields, &parts, whole);
}

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

static json_t *runs(const void *object, const void *whole)
{
	const struct bench *bench = ((const struct bench_report *)object)->bench;

	return field_list(run_fields, bench->runs, bench->run_count, sizeof(bench->runs[0]), whole);
}

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

static json_t *contentions(const void *object, const void *whole)
{
	const struct bench *bench = ((const struct bench_report *)object)->bench;

	return field_list(contention_fields, bench->contentions, bench->contention_count,
		sizeof(bench->contentions[0]), whole);
}

static json_t *clocks(const void *object, const void *whole)
{
	const struct bench *bench = ((const struct bench_report *)object)->bench;

	return field_list(
		clock_fields, bench->clocks, bench->clock_count, sizeof(bench->clocks[0]), whole);
}

/* ---- noise, clocksource, host ---- */

static bool is_noise_known(const void *object)
{
	return ((const struct noise *)object)->known;
}

static json_t *noise_reason(const void *object, const void *whole)
{
	(void)whole;
	return is_noise_known(object) ? json_null()
	                              : json_string("no call was measured often enough");
}

#undef OF
#define OF struct noise
#define SHARE(name, member) REAL(name, member, SHARE_DECIMALS), .has = is_noise_known

static const struct field noise_fields[] = {
	{FLAG("quiet", quiet), .has = is_noise_known},
	{SHARE("thrown_share", discarded_share)},
	{SHARE("outlier_share", outlier_share)},
	{SHARE("median_excess", median_excess)},
	{COMPUTED("reason", FIELD_REASON, noise_reason)},
	{0},
};

#undef OF
#define OF struct clocksource_evidence

static const struct field clocksource_fields[] = {
	{TEXT("current", current), .fact = FACT(current_fact), .reason = "reason"},
	{REASON("reason")},
	{0},
};

static json_t *clocksource(const void *object, const void *whole)
{
	const struct bench_report *report = object;

	return field_write(clocksource_fields, &report->evidence->clocksource, whole);
}

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

static json_t *host(const void *object, const void *whole)
{
	return field_write(
		host_fields, &((const struct bench_report *)object)->evidence->host, whole);
}

/* ---- the document ---- */

static json_t *verdict(const void *object, const void *whole)
{
	(void)whole;
	return json_string(
		bench_has_found(((const struct bench_report *)object)->bench) ? "ok" : "unknown");
}

static json_t *exit_status(const void *object, const void *whole)
{
	(void)whole;
	return json_integer(bench_has_found(((const struct bench_report *)object)->bench) ? 0 : 2);
}

static json_t *summary(const void *object, const void *whole)
{
	char text[160];

	(void)whole;
	bench_report_answer(((const struct bench_report *)object)->bench, text, sizeof(text));
	return *text ? json_string(text) : json_null();
}

static json_t *stopped(const void *object, const void *whole)
{
	(void)whole;
	return json_boolean(((const struct bench_report *)object)->bench->stopped);
}

static json_t *time_s(const void *object, const void *whole)
{
	const struct bench_report *report = object;

	(void)whole;
	return field_real((double)report->plan->time_ns / NS_PER_SECOND, SECOND_DECIMALS);
}

static json_t *reason(const void *object, const void *whole)
{
	(void)whole;
	return field_reason(&((const struct bench_report *)object)->bench->fact);
}

#undef OF
#define OF struct bench_report

static const struct field report_fields[] = {
	{COMPUTED("verdict", FIELD_WORD, verdict)},
	{COMPUTED("exit_status", FIELD_INTEGER, exit_status)},
	{COMPUTED("summary", FIELD_STRING, summary)},
	{COMPUTED("stopped", FIELD_FLAG, stopped)},
	{COMPUTED("time_s", FIELD_REAL, time_s)},
	{COMPUTED("clocksource", FIELD_OBJECT, clocksource), .fields = clocksource_fields},
	{COMPUTED("host", FIELD_OBJECT, host), .fields = host_fields},
	{OBJECT("noise", noise, noise_fields)},
	{COMPUTED("calls", FIELD_LIST, calls), .fields = row_fields},
	{COMPUTED("yardsticks", FIELD_LIST, baselines), .fields = baseline_fields},
	{COMPUTED("decomposition", FIELD_OBJECT, breakdown), .fields = parts_fields},
	{COMPUTED("clocks", FIELD_LIST, clocks), .fields = clock_fields},
	{COMPUTED("runs", FIELD_LIST, runs), .fields = run_fields},
	{COMPUTED("crowds", FIELD_LIST, contentions), .fields = contention_fields},
	{COMPUTED("reason", FIELD_REASON, reason)},
	{0},
};

bool bench_report_json(const void *result, const struct style *style, FILE *out)
{
	const struct bench_report *report = result;
	const struct document_part parts[] = {
		moment_part(&report->evidence->moment, NULL),
		{.fields = report_fields, .from = report},
		{0},
	};

	return document_write(BENCH_SCHEMA, parts, style->compact, out);
}
