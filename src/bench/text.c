/* SPDX-License-Identifier: MIT */
/* The text of a benchmark: its heading, the table, the baselines and the clocks. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/describe.h"
#include "cli/layout.h"

#define COLOR_QUIET "\033[1;32m"
#define COLOR_NOISY "\033[1;33m"
#define COLOR_RESET "\033[0m"

#define HEADING_INDENT 16
#define PERCENT 100

/* Nothing could be measured: the result is not known. */
#define EXIT_UNMEASURED 2

/* Of what is measured: a call and its way, or a baseline. */
#define NAME_WIDTH 42

#define CLOCK_WIDTH 43 /* with its resolution */

static bool is_monotonic(const struct bench_row *row)
{
	return strcmp(row->subject.call, "clock_gettime") == 0 &&
	       strcmp(row->subject.clock, "CLOCK_MONOTONIC") == 0;
}

/* The least time of the subject's call by this path, on the CPU that came first; 0: unknown. */
static double least_ns(
	const struct bench *bench, const struct bench_subject *subject, enum call_path path)
{
	for (size_t i = 0; i < bench->row_count; i++) {
		const struct bench_row *row = &bench->rows[i];

		if (row->subject.path == path && strcmp(row->subject.call, subject->call) == 0 &&
			strcmp(row->subject.clock, subject->clock) == 0)
			return fact_is_known(&row->stats.fact) ? row->stats.min_ns : 0;
	}
	return 0;
}

void bench_report_answer(const struct bench *bench, char *text, size_t size)
{
	const struct bench_subject *subject = bench->row_count ? &bench->rows[0].subject : NULL;
	double vdso, raw;
	char ns[32], other[32];

	text[0] = '\0';
	for (size_t i = 0; i < bench->row_count; i++) {
		if (is_monotonic(&bench->rows[i]))
			subject = &bench->rows[i].subject;
	}
	if (!subject)
		return;
	vdso = least_ns(bench, subject, PATH_VDSO);
	raw = least_ns(bench, subject, PATH_SYSCALL);
	if (vdso > 0 && raw > 0)
		snprintf(text, size, "%s(%s): %s ns by vDSO, %s ns by system call (%.1fx)",
			subject->call, subject->clock, wrap_ns(vdso, ns), wrap_ns(raw, other),
			raw / vdso);
	else if (vdso > 0 || raw > 0)
		snprintf(text, size, "%s(%s): %s ns by %s", subject->call, subject->clock,
			wrap_ns(vdso > 0 ? vdso : raw, ns), vdso > 0 ? "vDSO" : "system call");
}

struct bench_report bench_report_make(const struct evidence *evidence, const struct bench *bench)
{
	bool found = bench_has_found(bench);
	struct bench_report report = {.evidence = evidence,
		.bench = bench,
		.noise = noise_find(bench),
		.breakdown = breakdown_find(bench),
		.exit_status = found ? EXIT_SUCCESS : EXIT_UNMEASURED,
		.verdict = found ? "ok" : "unknown",
		.time_s = (double)bench->plan->time_ns / NS_PER_SECOND};

	bench_report_answer(bench, report.summary, sizeof(report.summary));
	return report;
}

static void write_heading(const struct bench_report *report, const struct style *style, FILE *out)
{
	struct phrase clocksource = {.used = 0}, host = {.used = 0};

	phrase_clocksource(report->evidence, &clocksource);
	phrase_host(report->evidence, &host);
	if (style->verbose && fact_is_known(&report->evidence->moment.time.fact))
		wrap_print(out, "measured", HEADING_INDENT, report->evidence->moment.time.value);
	wrap_print(out, "clocksource", HEADING_INDENT, clocksource.text);
	wrap_print(out, "host", HEADING_INDENT, host.text);
}

static void write_noise(const struct bench_report *report, const struct style *style, FILE *out)
{
	const struct noise *noise = &report->noise;
	bool quiet = noise->quiet;
	struct phrase phrase = {.used = 0};
	char batches[32];

	if (!noise->known)
		return;
	phrase_add(&phrase,
		"%.1f%% of %s batches discarded, %.1f%% outliers; medians %.1f%% above the minima%s",
		PERCENT * noise->discarded_share, wrap_count(noise->batches, batches),
		PERCENT * noise->outlier_share, PERCENT * noise->median_excess,
		quiet ? "." : ": compare minima with other runs, not means.");
	fprintf(out, "  %s%s%s%*s", style->color ? quiet ? COLOR_QUIET : COLOR_NOISY : "",
		quiet ? "quiet" : "noisy", style->color ? COLOR_RESET : "",
		HEADING_INDENT - 2 - (int)strlen("quiet"), "");
	wrap_text(out, HEADING_INDENT, HEADING_INDENT, phrase.text);
}

static void write_stopped(const struct bench *bench, FILE *out)
{
	if (bench->stopped)
		wrap_print(out, "stopped", HEADING_INDENT,
			bench_has_found(bench) ? "early: this is what was measured until then."
					       : "before anything was measured.");
}

static void write_ns(double ns, int width, FILE *out)
{
	char text[32];

	fprintf(out, "%*s", width, ns > 0 && ns < 0.05 ? "<0.1" : wrap_ns(ns, text));
}

static void write_mean(const struct ns_stats *stats, FILE *out)
{
	if (stats->has_mean)
		write_ns(stats->trimmed_mean_ns, 13, out);
	else
		fprintf(out, "%13s", "-");
}

static void write_stats(const struct ns_stats *stats, FILE *out)
{
	if (!fact_is_known(&stats->fact)) {
		bench_report_write_reason(&stats->fact, NAME_WIDTH, out);
		return;
	}
	write_ns(stats->min_ns, 7, out);
	write_ns(stats->median_ns, 8, out);
	write_ns(stats->p99_ns, 10, out);
	write_mean(stats, out);
	fputc('\n', out);
}

static void write_table_heading(const struct bench_row *row, FILE *out)
{
	char place[32] = "";

	if (row->cpu >= 0)
		snprintf(place, sizeof(place), " on CPU %d", row->cpu);
	fprintf(out, "\n  ns per call%-21s %-7s%7s%8s%10s%13s\n", place, "by", "min", "median",
		"batch p99", "trimmed mean");
}

static void write_table(const struct bench *bench, FILE *out)
{
	for (size_t i = 0; i < bench->row_count; i++) {
		const struct bench_row *row = &bench->rows[i];
		bool first = i == 0 || bench->rows[i - 1].cpu != row->cpu;

		if (first)
			write_table_heading(row, out);
		bench_report_write_name(
			&row->subject, first ? NULL : &bench->rows[i - 1].subject, out);
		write_stats(&row->stats, out);
	}
}

static void write_histograms(const struct bench *bench, FILE *out)
{
	for (size_t i = 0; i < bench->row_count; i++)
		bench_report_histogram(&bench->rows[i], out);
}

/* They are measured on one CPU, the first; with one only it has been named. */
static void write_baseline_heading(const struct bench *bench, FILE *out)
{
	char place[32] = "";

	if (bench->rows[0].cpu != bench->rows[bench->row_count - 1].cpu)
		snprintf(place, sizeof(place), ", on CPU %d", bench->rows[0].cpu);
	fprintf(out, "\n  compared with%-27s%7s%8s%10s%13s\n", place, "min", "median", "batch p99",
		"trimmed mean");
}

static bool has_baseline(const struct bench *bench)
{
	bool found = false;

	for (size_t i = 0; i < BASELINE_COUNT; i++)
		found = found || fact_is_known(&bench->baselines[i].fact);
	return found;
}

/* In a table that was stopped in its first round there may be none. */
static void write_baselines(const struct bench *bench, FILE *out)
{
	if (!has_baseline(bench))
		return;
	write_baseline_heading(bench, out);
	for (size_t i = 0; i < BASELINE_COUNT; i++) {
		fprintf(out, "  %-40s", baseline_text((enum baseline)i));
		write_stats(&bench->baselines[i], out);
	}
}

static void write_number(const struct number_fact *number, FILE *out)
{
	char text[32];

	fprintf(out, "%15s",
		fact_is_known(&number->fact) ? wrap_count((uint64_t)number->value, text) : "-");
}

static void write_clock(const struct bench_clock *clock, FILE *out)
{
	const struct clock_granularity *step = &clock->step;

	fprintf(out, "  %-26s", clock->clock);
	write_number(&step->resolution_ns, out);
	if (!fact_is_known(&step->step_ns.fact)) {
		bench_report_write_reason(&step->step_ns.fact, CLOCK_WIDTH, out);
		return;
	}
	write_number(&step->step_ns, out);
	fprintf(out, "%12.1f %%\n", PERCENT * (double)step->standing / (double)step->readings);
}

static void write_clocks(const struct bench *bench, FILE *out)
{
	if (!bench->clock_count)
		return;
	fprintf(out, "\n  %-26s%15s%15s%14s\n", "clock, ns", "resolution", "smallest step",
		"stood still");
	for (size_t i = 0; i < bench->clock_count; i++)
		write_clock(&bench->clocks[i], out);
}

bool bench_report_text(const void *result, const struct style *style, FILE *out)
{
	const struct bench_report *report = result;
	const struct bench *bench = report->bench;

	if (*report->summary) {
		wrap_text(out, 0, 4, report->summary);
		fputc('\n', out);
	}
	write_heading(report, style, out);
	write_stopped(bench, out);
	write_noise(report, style, out);
	write_table(bench, out);
	write_histograms(bench, out);
	bench_report_runs(bench, out);
	bench_report_contention(bench, out);
	if (bench->row_count) {
		write_baselines(bench, out);
		bench_report_parts(report, out);
		write_clocks(bench, out);
	}
	return true;
}
