/* SPDX-License-Identifier: MIT */
/*
 * The text of a benchmark: the answer, the heading and the tables. Without -v all of it fits a
 * terminal of 24 lines.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/describe.h"
#include "cli/layout.h"
#include "document.h"

#define PERCENT 100

/* ---- the answer ---- */

/* Timing does not prove a fallback: the words leave it open. */
#define NO_FASTER 0.75

void bench_answer(const struct bench *bench, char *text, size_t size)
{
	static const char *const names[] = {
		[PATH_VDSO] = "vDSO", [PATH_LIBC] = "libc", [PATH_SYSCALL] = "system call"};
	static const enum call_path order[] = {PATH_VDSO, PATH_SYSCALL, PATH_LIBC};
	const struct bench_row *row = bench_answer_row(bench);
	double vdso = bench_min_ns(bench, row, PATH_VDSO);
	double raw = bench_min_ns(bench, row, PATH_SYSCALL);
	char first[32], second[32];

	*text = '\0';
	if (vdso > 0 && raw > 0) {
		format_ns(vdso, first);
		format_ns(raw, second);
		if (vdso > NO_FASTER * raw)
			snprintf(text, size,
				"%s(%s): %s ns, no faster than a system call (%s ns): the vDSO may "
				"not serve it; run vdsocheck",
				row->subject.call, row->subject.clock, first, second);
		else
			snprintf(text, size, "%s(%s): %s ns by vDSO, %s ns by system call (%.1fx)",
				row->subject.call, row->subject.clock, first, second, raw / vdso);
	}
	for (size_t i = 0; row && !*text && i < ARRAY_SIZE(order); i++) {
		double least = bench_min_ns(bench, row, order[i]);

		if (least > 0)
			snprintf(text, size, "%s(%s): %s ns by %s", row->subject.call,
				row->subject.clock, format_ns(least, first), names[order[i]]);
	}
	for (size_t i = 0; i < bench->contention_count && !*text; i++) {
		const struct bench_contention *one = &bench->contentions[i];

		if (fact_is_known(&one->fact))
			snprintf(text, size,
				"%s(%s): %s ns alone, %s ns in %u threads at once (%.2fx)",
				one->subject.call, one->subject.clock,
				format_ns(one->alone_ns, first),
				format_ns(one->together_ns, second), one->threads,
				one->together_ns / one->alone_ns);
	}
	for (size_t i = 0; i < bench->run_count && !*text; i++) {
		const struct bench_count *run = &bench->runs[i];

		if (fact_is_known(&run->fact) && run->calls)
			snprintf(text, size, "%s(%s): %s calls in %.3f s of CPU time, %s ns each",
				run->subject.call, run->subject.clock,
				format_count(run->calls, first), run->user_s + run->sys_s,
				format_ns(bench_run_ns(run), second));
	}
}

/* ---- the heading ---- */

static void write_noisy(bool quiet, const char *text, const struct style *style, FILE *out)
{
	fprintf(out, "  %s%s%s%*s", style->color ? quiet ? COLOR_GREEN : COLOR_YELLOW : "",
		quiet ? "quiet" : "noisy", style->color ? COLOR_RESET : "",
		BENCH_INDENT - 2 - (int)strlen("quiet"), "");
	wrap_text(out, BENCH_INDENT, BENCH_INDENT, text);
}

static void write_noise(const struct noise *noise, const struct style *style, FILE *out)
{
	struct strbuf sb = {.used = 0};
	char batches[32];

	if (!fact_is_known(&noise->fact) || (noise->quiet && !style->verbose))
		return;
	if (!noise->quiet)
		strbuf_add(&sb, "median %.0f%% above the minimum: run it again or compare minima",
			PERCENT * noise->answer_excess);
	if (style->verbose)
		strbuf_add(&sb,
			"%s%.1f%% of %s batches discarded, %.1f%% outliers; medians %.1f%% above "
			"the minima",
			sb.used ? "; " : "", PERCENT * noise->discarded_share,
			format_count(noise->batches, batches), PERCENT * noise->outlier_share,
			PERCENT * noise->median_excess);
	write_noisy(noise->quiet, sb.text, style, out);
}

/* A run that had less than this share of its time on the CPU shared it. */
#define CPU_SHARE 0.9

static void write_shared_cpu(const struct bench *bench, const struct style *style, FILE *out)
{
	double real = 0, used = 0;
	struct strbuf sb = {.used = 0};

	for (size_t i = 0; i < bench->run_count; i++) {
		const struct bench_count *run = &bench->runs[i];

		real += fact_is_known(&run->fact) ? run->real_s : 0;
		used += fact_is_known(&run->fact) ? run->user_s + run->sys_s : 0;
	}
	if (used >= CPU_SHARE * real)
		return;
	strbuf_add(&sb, "the CPU was shared: this process had it for %.3f s of %.3f s", used, real);
	write_noisy(false, sb.text, style, out);
}

static void write_heading(const struct bench_report *report, const struct style *style, FILE *out)
{
	struct strbuf clocksource = {.used = 0}, host = {.used = 0};

	if (*report->summary) {
		wrap_text(out, 0, 4, report->summary);
		fputc('\n', out);
	}
	describe_clocksource(report->evidence, &clocksource);
	if (style->verbose)
		describe_host(report->evidence, &host);
	else
		describe_host_brief(report->evidence, WRAP_COLUMNS - BENCH_INDENT, &host);
	if (style->verbose && fact_is_known(&report->evidence->timestamp.time.fact))
		wrap_print(out, "measured", BENCH_INDENT, report->evidence->timestamp.time.value);
	wrap_print(out, "clocksource", BENCH_INDENT, clocksource.text);
	wrap_print(out, "host", BENCH_INDENT, host.text);
	if (report->bench->stopped)
		wrap_print(out, "stopped", BENCH_INDENT,
			bench_has_found(report->bench) ? "early: partial results"
						       : "before anything was measured");
	write_noise(&report->noise, style, out);
	write_shared_cpu(report->bench, style, out);
}

/* ---- tables; `whole` is the benchmark ---- */

/* The call only where it is not that of the line above, `before`, which is NULL in the first. */
static void print_name(
	const struct bench_subject *subject, const struct bench_subject *before, FILE *out)
{
	struct strbuf name = {.used = 0};

	if (before && strcmp(subject->call, before->call) == 0 &&
		strcmp(subject->clock, before->clock) == 0)
		strbuf_add(&name, " ");
	else
		describe_call_name(subject->call, subject->clock, &name);
	fputs(name.text, out);
}

static void print_row_name(const void *object, const void *whole, FILE *out)
{
	const struct bench *bench = whole;
	const struct bench_row *row = object;
	bool first = row == bench->rows || row[-1].cpu != row->cpu;

	print_name(&row->subject, first ? NULL : &row[-1].subject, out);
}

static void print_run_name(const void *object, const void *whole, FILE *out)
{
	const struct bench *bench = whole;
	const struct bench_count *run = object;
	bool first = run == bench->runs || run[-1].cpu != run->cpu;

	print_name(&run->subject, first ? NULL : &run[-1].subject, out);
}

static void print_contention_name(const void *object, const void *whole, FILE *out)
{
	const struct bench *bench = whole;
	const struct bench_contention *one = object;

	print_name(&one->subject, one == bench->contentions ? NULL : &one[-1].subject, out);
}

static void print_baseline_name(const void *object, const void *whole, FILE *out)
{
	const struct ns_stats *stats = object;

	fputs(baseline_names[stats - ((const struct bench *)whole)->baselines].text, out);
}

static json_t *row_ratio(const void *object, const void *whole)
{
	double ratio = bench_ratio(whole, object);

	return ratio > 0 ? json_real(ratio) : json_null();
}

/* "5M", "12.35M": as --calls takes it. */
static void print_calls(const void *object, const void *whole, FILE *out)
{
	static const struct {
		double worth;
		const char *name;
	} units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
	double count = (double)((const struct bench_count *)object)->calls;
	size_t unit = 0;

	(void)whole;
	while (count < units[unit].worth && units[unit].worth > 1)
		unit++;
	fprintf(out, "%.4g%s", count / units[unit].worth, units[unit].name);
}

static json_t *run_ns(const void *object, const void *whole)
{
	const struct bench_count *run = object;

	(void)whole;
	return fact_is_known(&run->fact) && run->calls ? json_real(bench_run_ns(run)) : json_null();
}

static json_t *contention_ratio(const void *object, const void *whole)
{
	const struct bench_contention *one = object;

	(void)whole;
	return fact_is_known(&one->fact) ? json_real(one->together_ns / one->alone_ns)
	                                 : json_null();
}

static void print_unchanged(const void *object, const void *whole, FILE *out)
{
	const struct clock_granularity *step = &((const struct bench_clock *)object)->step;

	(void)whole;
	if (fact_is_known(&step->step_ns.fact))
		fprintf(out, "%.1f%%", PERCENT * (double)step->unchanged / (double)step->readings);
}

/* Columns that several tables have: the call and its path. */
#define NAME(member, function)                                                                     \
	TEXT("call", member), .title = "ns per call", .width = 34, .left = true, .cell = (function)
#define BY(member) WORD("path", member, bench_paths), .title = "by", .width = 9, .left = true

#define OF struct bench_row
#define TIME(name, member, columns)                                                                \
	NS(name, stats.member), .fact = FACT(stats.fact), .title = (name), .width = (columns)

static const struct field row_columns[] = {
	{NAME(subject.call, print_row_name)},
	{BY(subject.path)},
	{TIME("min", min_ns, 7)},
	{TIME("median", median_ns, 7)},
	{TIME("batch p99", p99_ns, 10)},
	{TIME("mean", trimmed_mean_ns, 7)},
	{COMPUTED("ratio", FIELD_REAL, row_ratio), .decimals = 1, .title = "ratio", .width = 6},
	{0},
};

#undef OF
#undef TIME
#define OF struct ns_stats
#define TIME(name, member, columns)                                                                \
	NS(name, member), .fact = FACT(fact), .title = (name), .width = (columns)

static const struct field baseline_columns[] = {
	{TEXT("call", fact.reason), .title = "baselines", .width = 43, .left = true,
		.cell = print_baseline_name},
	{TIME("min", min_ns, 7)},
	{TIME("median", median_ns, 7)},
	{TIME("batch p99", p99_ns, 10)},
	{TIME("mean", trimmed_mean_ns, 7)},
	{0},
};

#undef OF
#define OF struct bench_clock

static const struct field clock_columns[] = {
	{TEXT("clock", clock), .title = "clock, ns", .width = 28, .left = true},
	{INTEGER("resolution", step.resolution_ns.value, INT64_MAX),
		.fact = FACT(step.resolution_ns.fact), .title = "resolution", .width = 15},
	{INTEGER("step", step.step_ns.value, INT64_MAX), .fact = FACT(step.step_ns.fact),
		.title = "smallest step", .width = 15},
	{INTEGER("unchanged", step.unchanged, INT64_MAX), .title = "unchanged", .width = 14,
		.cell = print_unchanged},
	{0},
};

#undef OF
#define OF struct bench_count
#define SECONDS(name, member) REAL(name, member, 3), .fact = FACT(fact), .title = (name), .width = 7

static const struct field run_columns[] = {
	{NAME(subject.call, print_run_name)},
	{BY(subject.path)},
	{INTEGER("calls", calls, INT64_MAX), .title = "calls", .width = 5, .cell = print_calls},
	{SECONDS("real", real_s)},
	{SECONDS("user", user_s)},
	{SECONDS("sys", sys_s)},
	{COMPUTED("ns", FIELD_REAL, run_ns), .decimals = 1, .title = "ns/call", .width = 8},
	{0},
};

#undef OF
#define OF struct bench_contention
#define CONTENTION(name, member) NS(name, member), .fact = FACT(fact), .title = (name), .width = 9

static const struct field contention_columns[] = {
	{NAME(subject.call, print_contention_name)},
	{BY(subject.path)},
	{CONTENTION("alone", alone_ns)},
	{CONTENTION("together", together_ns)},
	{CONTENTION("slowest", slowest_ns)},
	{COMPUTED("ratio", FIELD_REAL, contention_ratio), .decimals = 2, .title = "ratio",
		.width = 7},
	{0},
};

#define COLUMNS_MAX 10

/* The rows of a table: elements that are `size` bytes apart, each with a fact. */
struct rows {
	const void *first;
	size_t count, size, fact_at;
};

#define ROWS(list, number, fact)                                                                   \
	(&(struct rows){(list), (number), sizeof(*(list)),                                         \
		(size_t)((const char *)&(list)->fact - (const char *)(list))})

/* Below the table stands why rows have no numbers, each reason once. */
static void write_table(const struct field *columns, const char *heading, const struct rows *rows,
	const struct bench *bench, FILE *out)
{
	const void **objects = xcalloc(rows->count, sizeof(*objects));
	struct field own[COLUMNS_MAX] = {{0}};
	const char *reason = "";

	for (size_t i = 0; i < COLUMNS_MAX && columns[i].key; i++)
		own[i] = columns[i];
	own[0].title = heading;
	for (size_t i = 0; i < rows->count; i++)
		objects[i] = (const char *)rows->first + i * rows->size;
	fputc('\n', out);
	table_write(own, objects, rows->count, bench, TABLE_TEXT, out);
	for (size_t i = 0; i < rows->count; i++) {
		const struct fact *fact = (const void *)((const char *)objects[i] + rows->fact_at);

		if (fact_is_known(fact) || strcmp(fact->reason, reason) == 0)
			continue;
		reason = fact->reason;
		wrap_print(out, "-", BENCH_INDENT, reason);
	}
	free(objects);
}

/* "ns per call on CPU 3" */
static const char *head(const char *text, int cpu, char heading[64])
{
	if (cpu < 0)
		snprintf(heading, 64, "%s", text);
	else
		snprintf(heading, 64, "%s on CPU %d", text, cpu);
	return heading;
}

/* One table for each CPU. */
static void write_rows(const struct bench *bench, FILE *out)
{
	char heading[64];

	for (size_t i = 0, end; i < bench->row_count; i = end) {
		const struct bench_row *rows = bench->rows;

		for (end = i + 1; end < bench->row_count && rows[end].cpu == rows[i].cpu; end++)
			;
		write_table(row_columns, head("ns per call", rows[i].cpu, heading),
			ROWS(&rows[i], end - i, stats.fact), bench, out);
	}
	for (size_t i = 0, end; i < bench->run_count; i = end) {
		const struct bench_count *runs = bench->runs;

		for (end = i + 1; end < bench->run_count && runs[end].cpu == runs[i].cpu; end++)
			;
		write_table(run_columns, head("seconds", runs[i].cpu, heading),
			ROWS(&runs[i], end - i, fact), bench, out);
	}
}

static void write_contention(const struct bench *bench, FILE *out)
{
	const struct bench_contention *one = bench->contentions;
	struct strbuf sb = {.used = 0};

	if (!bench->contention_count)
		return;
	write_table(contention_columns, "ns per call", ROWS(one, bench->contention_count, fact),
		bench, out);
	if (!bench_has_found(bench))
		return;
	if (one->cpus < 2)
		strbuf_add(&sb, "on one CPU: contention between CPUs takes two to measure");
	else
		strbuf_add(&sb,
			"%u threads on %u CPUs at once. Ratio 1.00: the threads do not slow each "
			"other down. %u.00: reads are fully serialized, as with hpet and acpi_pm.",
			one->threads, one->cpus, one->cpus);
	fputc('\n', out);
	wrap_print(out, "together", BENCH_INDENT, sb.text);
}

/* In a table that was stopped in its first round there may be no baselines. */
static void write_baselines(const struct bench *bench, FILE *out)
{
	bool several = bench->rows[0].cpu != bench->rows[bench->row_count - 1].cpu, found = false;
	char heading[64];

	for (size_t i = 0; i < BASELINE_COUNT; i++)
		found = found || fact_is_known(&bench->baselines[i].fact);
	if (found)
		write_table(baseline_columns,
			head("baselines", several ? bench->rows[0].cpu : -1, heading),
			ROWS(bench->baselines, BASELINE_COUNT, fact), bench, out);
}

bool bench_text(const void *result, const struct style *style, FILE *out)
{
	const struct bench_report *report = result;
	const struct bench *bench = report->bench;
	bool table = bench->row_count;

	write_heading(report, style, out);
	write_rows(bench, out);
	bench_write_histograms(bench, style->verbose || bench->plan->selected, out);
	write_contention(bench, out);
	if (table && style->verbose)
		write_baselines(bench, out);
	/* The line `stopped` takes its room. */
	if (table && (style->verbose || !bench->stopped))
		bench_write_breakdown(report, out);
	if (table && style->verbose && bench->clock_count)
		write_table(clock_columns, "clock, ns",
			ROWS(bench->clocks, bench->clock_count, step.step_ns.fact), bench, out);
	else if (table && !style->verbose && report->noise.quiet && !bench->stopped)
		wrap_print(out, "more", BENCH_INDENT,
			"-v adds baselines, clocks and, if none is selected, all calls");
	return true;
}
