/* SPDX-License-Identifier: MIT */
/* The text of a benchmark: the answer, the heading, the table, the baselines and the clocks. */
#include "report.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/describe.h"
#include "cli/layout.h"

#define HEADING_INDENT 16
#define PERCENT 100

/* Of what is measured: a call and its path, or a baseline. */
#define NAME_WIDTH 42

#define CLOCK_WIDTH 43 /* with its resolution */

/* "clock_gettime(CLOCK_MONOTONIC): 28.0 ns by vDSO, 165.0 ns by system call (5.9x)" */
static bool answer_of_table(const struct bench *bench, char *text, size_t size)
{
	static const char *const names[] = {
		[PATH_VDSO] = "vDSO", [PATH_LIBC] = "libc", [PATH_SYSCALL] = "system call"};
	static const enum call_path order[] = {PATH_VDSO, PATH_SYSCALL, PATH_LIBC};
	const struct bench_row *row = bench_answer_row(bench);
	double vdso = row ? bench_min_ns(bench, row, PATH_VDSO) : 0;
	double raw = row ? bench_min_ns(bench, row, PATH_SYSCALL) : 0;
	char ns[32], other[32];

	if (vdso > 0 && raw > 0) {
		snprintf(text, size, "%s(%s): %s ns by vDSO, %s ns by system call (%.1fx)",
			row->subject.call, row->subject.clock, format_ns(vdso, ns),
			format_ns(raw, other), raw / vdso);
		return true;
	}
	for (size_t i = 0; row && i < ARRAY_SIZE(order); i++) {
		double least = bench_min_ns(bench, row, order[i]);

		if (least <= 0)
			continue;
		snprintf(text, size, "%s(%s): %s ns by %s", row->subject.call, row->subject.clock,
			format_ns(least, ns), names[order[i]]);
		return true;
	}
	return false;
}

void bench_report_answer(const struct bench *bench, char *text, size_t size)
{
	char first[32], second[32];

	if (answer_of_table(bench, text, size))
		return;
	for (size_t i = 0; i < bench->contention_count; i++) {
		const struct bench_contention *one = &bench->contentions[i];

		if (!fact_is_known(&one->fact))
			continue;
		snprintf(text, size, "%s(%s): %s ns alone, %s ns in %u threads at once (%.2fx)",
			one->subject.call, one->subject.clock, format_ns(one->alone_ns, first),
			format_ns(one->together_ns, second), one->threads,
			one->together_ns / one->alone_ns);
		return;
	}
	for (size_t i = 0; i < bench->run_count; i++) {
		const struct bench_count *run = &bench->runs[i];

		if (!fact_is_known(&run->fact) || !run->calls)
			continue;
		snprintf(text, size, "%s(%s): %s calls in %.3f s, %s ns each", run->subject.call,
			run->subject.clock, format_count(run->calls, first), run->real_s,
			format_ns(NS_PER_SECOND * run->real_s / (double)run->calls, second));
		return;
	}
}

static void write_noise(const struct noise *noise, const struct style *style, FILE *out)
{
	struct strbuf sb = {.used = 0};
	char batches[32];

	if (!fact_is_known(&noise->fact) || (noise->quiet && !style->verbose))
		return;
	if (!noise->quiet)
		strbuf_add(&sb, "median %.0f%% above the minimum: repeat this, or compare minima",
			PERCENT * noise->answer_excess);
	if (style->verbose)
		strbuf_add(&sb,
			"%s%.1f%% of %s batches discarded, %.1f%% outliers; medians %.1f%% above "
			"the minima",
			sb.used ? "; " : "", PERCENT * noise->discarded_share,
			format_count(noise->batches, batches), PERCENT * noise->outlier_share,
			PERCENT * noise->median_excess);
	fprintf(out, "  %s%s%s%*s", style->color ? noise->quiet ? COLOR_GREEN : COLOR_YELLOW : "",
		noise->quiet ? "quiet" : "noisy", style->color ? COLOR_RESET : "",
		HEADING_INDENT - 2 - (int)strlen("quiet"), "");
	wrap_text(out, HEADING_INDENT, HEADING_INDENT, sb.text);
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
		describe_host_brief(report->evidence, WRAP_COLUMNS - HEADING_INDENT, &host);
	if (style->verbose && fact_is_known(&report->evidence->moment.time.fact))
		wrap_print(out, "measured", HEADING_INDENT, report->evidence->moment.time.value);
	wrap_print(out, "clocksource", HEADING_INDENT, clocksource.text);
	wrap_print(out, "host", HEADING_INDENT, host.text);
	if (report->bench->stopped)
		wrap_print(out, "stopped", HEADING_INDENT,
			bench_has_found(report->bench)
				? "early: this is what was measured until then."
				: "before anything was measured.");
	write_noise(&report->noise, style, out);
}

/* What is not known is "-". */
static void write_ns(bool known, double ns, int width, FILE *out)
{
	char text[32] = "-";

	if (known)
		format_ns(ns, text);
	fprintf(out, "%*s", width, known && ns > 0 && ns < 0.05 ? "<0.1" : text);
}

/* False: a reason ends the line. */
static bool write_stats(const struct ns_stats *stats, FILE *out)
{
	if (!fact_is_known(&stats->fact)) {
		bench_report_write_reason(&stats->fact, NAME_WIDTH, out);
		return false;
	}
	write_ns(true, stats->min_ns, 7, out);
	write_ns(true, stats->median_ns, 8, out);
	write_ns(true, stats->p99_ns, 10, out);
	write_ns(stats->has_mean, stats->trimmed_mean_ns, 7, out);
	return true;
}

static void write_table(const struct bench *bench, FILE *out)
{
	for (size_t i = 0; i < bench->row_count; i++) {
		const struct bench_row *row = &bench->rows[i];
		bool first = i == 0 || bench->rows[i - 1].cpu != row->cpu;
		double times = bench_ratio(bench, row);
		char place[32] = "";

		if (row->cpu >= 0)
			snprintf(place, sizeof(place), " on CPU %d", row->cpu);
		if (first)
			fprintf(out, "\n  ns per call%-21s %-7s%7s%8s%10s%7s%6s\n", place, "by",
				"min", "median", "batch p99", "mean", "ratio");
		bench_report_write_name(
			&row->subject, first ? NULL : &bench->rows[i - 1].subject, out);
		if (!write_stats(&row->stats, out))
			continue;
		if (times > 0)
			fprintf(out, "%6.*f\n", times < 999.95 ? 1 : 0, times);
		else
			fprintf(out, "%6s\n", "-");
	}
}

/* In a table that was stopped in its first round there may be none. */
static void write_baselines(const struct bench *bench, FILE *out)
{
	bool found = false;
	char place[32] = "";

	for (size_t i = 0; i < BASELINE_COUNT; i++)
		found = found || fact_is_known(&bench->baselines[i].fact);
	if (!found)
		return;
	/* They are measured on one CPU, the first; with one only it has been named. */
	if (bench->rows[0].cpu != bench->rows[bench->row_count - 1].cpu)
		snprintf(place, sizeof(place), ", on CPU %d", bench->rows[0].cpu);
	fprintf(out, "\n  compared with%-27s%7s%8s%10s%7s\n", place, "min", "median", "batch p99",
		"mean");
	for (size_t i = 0; i < BASELINE_COUNT; i++) {
		fprintf(out, "  %-40s", baseline_text((enum baseline)i));
		if (write_stats(&bench->baselines[i], out))
			fputc('\n', out);
	}
}

static void write_number(const struct number_fact *number, FILE *out)
{
	char text[32];

	fprintf(out, "%15s",
		fact_is_known(&number->fact) ? format_count((uint64_t)number->value, text) : "-");
}

static void write_clocks(const struct bench *bench, FILE *out)
{
	if (bench->clock_count)
		fprintf(out, "\n  %-26s%15s%15s%14s\n", "clock, ns", "resolution", "smallest step",
			"unchanged");
	for (size_t i = 0; i < bench->clock_count; i++) {
		const struct clock_granularity *step = &bench->clocks[i].step;

		fprintf(out, "  %-26s", bench->clocks[i].clock);
		write_number(&step->resolution_ns, out);
		if (!fact_is_known(&step->step_ns.fact)) {
			bench_report_write_reason(&step->step_ns.fact, CLOCK_WIDTH, out);
			continue;
		}
		write_number(&step->step_ns, out);
		fprintf(out, "%13.1f%%\n",
			PERCENT * (double)step->standing / (double)step->readings);
	}
}

bool bench_report_text(const void *result, const struct style *style, FILE *out)
{
	const struct bench_report *report = result;
	const struct bench *bench = report->bench;

	write_heading(report, style, out);
	write_table(bench, out);
	for (size_t i = 0; i < bench->row_count; i++)
		bench_report_histogram(&bench->rows[i], out);
	bench_report_runs(bench, out);
	bench_report_contention(bench, out);
	if (bench->row_count && style->verbose)
		write_baselines(bench, out);
	if (bench->row_count)
		bench_report_breakdown(report, out);
	if (bench->row_count && style->verbose)
		write_clocks(bench, out);
	else if (bench->row_count && report->noise.quiet) /* else there is no room */
		wrap_print(out, "more", HEADING_INDENT,
			"-v adds baselines, clocks and, if none is selected, all calls");
	return true;
}
