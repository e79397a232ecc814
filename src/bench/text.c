/* SPDX-License-Identifier: MIT */
/*
 * The text of a benchmark: the answer, the heading and the tables. Without -v all of it fits a
 * terminal of 24 lines.
 */
#include "model.h"

#include <string.h>

#include "base/text.h"

#define PERCENT 100

/* ---- the answer ---- */

/*
 * From this share of a system call on, the sentence says that the vDSO may not serve the call:
 * timing does not prove it.
 */
#define NO_FASTER 0.75

void bench_answer(const struct bench *bench, char *text, size_t size)
{
	const struct bench_row *row = bench_answer_row(bench);
	const struct ns_stats *vdso = bench_find_stats(bench, row, PATH_VDSO);
	const struct ns_stats *libc = bench_find_stats(bench, row, PATH_LIBC);
	const struct ns_stats *raw = bench_find_stats(bench, row, PATH_SYSCALL);

	*text = '\0';
	if (row)
		text_append(text, size, "%s(%s): ", row->subject.call, row->subject.clock);
	if (vdso && raw && vdso->ns.minimum > NO_FASTER * raw->ns.minimum)
		text_append(text, size,
			"%s ns, no faster than a system call (%s ns): the vDSO may not serve it; "
			"run vdsocheck",
			as_ns(vdso->ns.minimum), as_ns(raw->ns.minimum));
	else if (vdso && raw)
		text_append(text, size, "vDSO %s ns, system call %s ns (%.1fx)",
			as_ns(vdso->ns.minimum), as_ns(raw->ns.minimum),
			raw->ns.minimum / vdso->ns.minimum);
	else if (vdso || raw || libc)
		text_append(text, size, "%s %s ns",
			vdso  ? "vDSO"
			: raw ? "system call"
			      : "libc",
			as_ns((vdso   ? vdso
				: raw ? raw
				      : libc)
					->ns.minimum));
	else if (row)
		text_append(text, size, "%s", row->stats.fact.reason);
	for (size_t i = 0; i < bench->run_count && !*text; i++) {
		const struct bench_run *run = &bench->runs[i];

		if (fact_is_known(&run->fact))
			text_append(text, size,
				"%s(%s): %s calls in %.3f s of CPU time, %s ns each",
				run->subject.call, run->subject.clock, as_count(run->calls),
				run->user_s + run->sys_s, as_ns(run->ns));
	}
}

/* ---- the heading ---- */

static void write_noise(const struct noise *noise, struct page *page)
{
	if (!fact_is_known(&noise->fact) || (noise->quiet && !page->all))
		return;
	page_line(page, noise->quiet ? "quiet" : "noisy", "%s", "");
	if (!noise->quiet)
		page_add(page, "median %.0f%% above the minimum: run it again or compare minima",
			PERCENT * noise->answer_excess);
	if (page->all)
		page_add(page,
			"%s%.1f%% of %s batches discarded, %.1f%% outliers; medians %.1f%% above "
			"the minima",
			page->text.used ? "; " : "", PERCENT * noise->discarded_share,
			as_count(noise->batches), PERCENT * noise->outlier_share,
			PERCENT * noise->median_excess);
}

/* A run that had the CPU for less than this share of its time shared it. */
#define CPU_SHARE 0.9

static void write_shared_cpu(const struct bench *bench, struct page *page)
{
	double real = 0, used = 0;

	for (size_t i = 0; i < bench->run_count; i++) {
		const struct bench_run *run = &bench->runs[i];

		real += fact_is_known(&run->fact) ? run->real_s : 0;
		used += fact_is_known(&run->fact) ? run->user_s + run->sys_s : 0;
	}
	if (used < CPU_SHARE * real)
		page_line(page, "noisy",
			"the CPU was shared: this process had it for %.3f s of %.3f s", used, real);
}

static void bench_write_heading(const struct bench_report *report, struct page *page)
{
	const struct text_fact *time = &report->report.timestamp.time;

	fputc('\n', page->out);
	if (page->all && fact_is_known(&time->fact))
		page_line(page, "measured", "%s", time->value);
	page_clocksource(page, &report->evidence);
	page_host(page, &report->evidence);
	if (report->bench->stopped)
		page_line(page, "stopped", "%s",
			report->bench->found ? "early: partial results"
					     : "before anything was measured");
	write_noise(&report->noise, page);
	write_shared_cpu(report->bench, page);
}

/* ---- tables ---- */

/*
 * Below the table are the reasons why rows have no numbers, each once. `fact_at` is where a row has
 * its fact.
 */
static void bench_write_table(
	struct table table, const char *heading, size_t fact_at, struct page *page)
{
	const char *reason = "";

	table.heading = heading;
	page_table(page, &table);
	for (size_t i = 0; i < table.count; i++) {
		const void *at = (const char *)table.first + i * table.size + fact_at;
		const struct fact *fact = at;

		if (fact_is_known(fact) || strcmp(fact->reason, reason) == 0)
			continue;
		reason = fact->reason;
		page_line(page, "-", "%s", reason);
	}
}

void bench_text(const void *data, struct page *page)
{
	const struct bench_report *report = data;
	const struct bench *bench = report->bench;
	char heading[32] = "ns per call";

	bench_write_heading(report, page);
	if (fact_is_known(&bench->cpu.fact))
		text_append(heading, sizeof(heading), " on CPU %d", (int)bench->cpu.value);
	if (bench->row_count)
		bench_write_table((struct table){.fields = bench_row_fields,
					  TABLE_ROWS(bench->rows, bench->row_count)},
			heading, offsetof(struct bench_row, stats.fact), page);
	if (bench->run_count)
		bench_write_table((struct table){.fields = bench_run_fields,
					  TABLE_ROWS(bench->runs, bench->run_count)},
			"seconds", offsetof(struct bench_run, fact), page);
	page_end(page);
	if (bench->row_count && !page->all && report->noise.quiet && !bench->stopped)
		page_line(page, "more", "-v measures all calls unless some are selected");
}
