/* SPDX-License-Identifier: MIT */
/*
 * The text of a benchmark: the answer, the heading and the tables. Without -v all of it fits a
 * terminal of 24 lines.
 */
#include "model.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define PERCENT 100

/* The text behind a label starts in this column. */
#define INDENT 16

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
	for (size_t i = 0; i < bench->contention_count && !*text; i++) {
		const struct bench_contention *contention = &bench->contentions[i];

		if (fact_is_known(&contention->fact))
			text_append(text, size,
				"%s(%s): %s ns alone, %s ns in %u threads at once (%.2fx)",
				contention->subject.call, contention->subject.clock,
				as_ns(contention->alone.ns), as_ns(contention->together.ns),
				contention->threads, contention->factor);
	}
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

static void write_noisy(bool quiet, const char *text, const struct page *page)
{
	fprintf(page->out, "  %s%s%s%*s", page->color ? quiet ? COLOR_GREEN : COLOR_YELLOW : "",
		quiet ? "quiet" : "noisy", page->color ? COLOR_RESET : "",
		INDENT - 2 - (int)strlen("quiet"), "");
	wrap_text(page->out, INDENT, INDENT, text);
}

static void write_noise(const struct noise *noise, const struct page *page)
{
	struct strbuf sb = {.used = 0};

	if (!fact_is_known(&noise->fact) || (noise->quiet && !page->all))
		return;
	if (!noise->quiet)
		strbuf_add(&sb, "median %.0f%% above the minimum: run it again or compare minima",
			PERCENT * noise->answer_excess);
	if (page->all)
		strbuf_add(&sb,
			"%s%.1f%% of %s batches discarded, %.1f%% outliers; medians %.1f%% above "
			"the minima",
			sb.used ? "; " : "", PERCENT * noise->discarded_share,
			as_count(noise->batches), PERCENT * noise->outlier_share,
			PERCENT * noise->median_excess);
	write_noisy(noise->quiet, sb.text, page);
}

/* A run that had the CPU for less than this share of its time shared it. */
#define CPU_SHARE 0.9

static void write_shared_cpu(const struct bench *bench, const struct page *page)
{
	double real = 0, used = 0;
	char text[96];

	for (size_t i = 0; i < bench->run_count; i++) {
		const struct bench_run *run = &bench->runs[i];

		real += fact_is_known(&run->fact) ? run->real_s : 0;
		used += fact_is_known(&run->fact) ? run->user_s + run->sys_s : 0;
	}
	snprintf(text, sizeof(text), "the CPU was shared: this process had it for %.3f s of %.3f s",
		used, real);
	if (used < CPU_SHARE * real)
		write_noisy(false, text, page);
}

static void write_heading(const struct bench_report *report, struct page *page)
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
	page_end(page);
	write_noise(&report->noise, page);
	write_shared_cpu(report->bench, page);
}

/* ---- tables ---- */

/*
 * Below the table are the reasons why rows have no numbers, each once. `fact_at` is where a row has
 * its fact; the heading names the CPU, if that is known.
 */
static void write_table(struct table table, const char *title, const struct number_fact *cpu,
	size_t fact_at, struct page *page)
{
	const char *reason = "";
	char heading[64];

	snprintf(heading, sizeof(heading), "%s", title);
	if (fact_is_known(&cpu->fact))
		text_append(heading, sizeof(heading), " on CPU %d", (int)cpu->value);
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

/* Writes a table for each CPU, which is the one at `cpu_at` of a row. */
static void write_by_cpu(
	struct table table, const char *title, size_t cpu_at, size_t fact_at, struct page *page)
{
	const char *row = table.first;

	for (size_t left = table.count; left; left -= table.count) {
		const void *cpu = row + cpu_at;

		table.first = row;
		table.count = 0;
		do {
			table.count++;
			row += table.size;
		} while (
			table.count < left && bench_is_same_cpu(cpu, (const void *)(row + cpu_at)));
		write_table(table, title, cpu, fact_at, page);
	}
}

static const struct number_fact no_cpu = {.fact.state = FACT_ABSENT};

static void write_contention(const struct bench *bench, struct page *page)
{
	const struct bench_contention *contention = bench->contentions;

	if (!bench->contention_count)
		return;
	write_table((struct table){.fields = bench_contention_fields,
			    TABLE_ROWS(contention, bench->contention_count)},
		"ns per call", &no_cpu, offsetof(struct bench_contention, fact), page);
	if (!bench->found)
		return;
	page_end(page);
	fputc('\n', page->out);
	if (contention->cpus < 2)
		page_line(page, "together",
			"on one CPU: contention between CPUs takes two to measure");
	else
		page_line(page, "together",
			"%u threads on %u CPUs at once. Factor 1.00: the threads do not slow each "
			"other down. %u.00: reads are fully serialized, as with hpet and acpi_pm.",
			contention->threads, contention->cpus, contention->cpus);
}

/* A table that was stopped in its first round may have no baselines. */
static void write_baselines(const struct bench *bench, struct page *page)
{
	const struct number_fact *cpu = &bench->rows[0].cpu;
	bool found = false;

	for (size_t i = 0; i < bench->baseline_count; i++)
		found = found || fact_is_known(&bench->baselines[i].stats.fact);
	if (bench_is_same_cpu(cpu, &bench->rows[bench->row_count - 1].cpu))
		cpu = &no_cpu;
	if (found)
		write_table((struct table){.fields = bench_baseline_fields,
				    TABLE_ROWS(bench->baselines, bench->baseline_count)},
			"baselines", cpu, offsetof(struct bench_baseline, stats.fact), page);
}

/* ---- breakdown ---- */

static const char *part(const struct real_fact *ns)
{
	return fact_is_known(&ns->fact) ? as_ns(ns->value) : "?";
}

static void write_breakdown(const struct bench_report *report, struct page *page)
{
	const struct breakdown *parts = &report->breakdown;
	const struct number_fact *seccomp = &report->evidence.host.seccomp;

	if (!bench_is_of_monotonic(bench_answer_row(report->bench)) ||
		(!fact_is_known(&parts->syscall.fact) && !fact_is_known(&parts->vdso.fact)))
		return;
	page_end(page);
	fputs("\n  ", page->out);
	wrap_text(page->out, 2, 4,
		"cost breakdown of clock_gettime(CLOCK_MONOTONIC), from the minima");
	if (fact_is_known(&parts->syscall.fact)) {
		page_line(page, "system call",
			"%s ns = %s ns kernel entry and exit + %s ns reading the clock there",
			part(&parts->syscall), part(&parts->entry), part(&parts->kernel));
		if (fact_is_known(&seccomp->fact))
			page_add(page, "%s",
				seccomp->value ? "; the seccomp filters in force are part of that"
					       : "; no seccomp filter is in force");
	}
	if (!fact_is_known(&parts->vdso.fact))
		return;
	if (parts->vdso_takes_as_long_as_entry)
		page_line(page, "vDSO call",
			"%s ns, no less than a kernel entry: it may be a system call; reading the "
			"counter would take %s ns",
			part(&parts->vdso), part(&parts->counter));
	else
		page_line(page, "vDSO call",
			"%s ns = %s ns reading the counter + %s ns ordering the read + %s ns "
			"arithmetic",
			part(&parts->vdso), part(&parts->counter), part(&parts->order),
			part(&parts->arithmetic));
}

void bench_text(const void *data, struct page *page)
{
	const struct bench_report *report = data;
	const struct bench *bench = report->bench;
	const struct bench_plan *plan = bench->plan;
	bool table = bench->row_count;

	write_heading(report, page);
	write_by_cpu((struct table){.fields = bench_row_fields,
			     TABLE_ROWS(bench->rows, bench->row_count)},
		"ns per call", offsetof(struct bench_row, cpu),
		offsetof(struct bench_row, stats.fact), page);
	write_by_cpu((struct table){.fields = bench_run_fields,
			     TABLE_ROWS(bench->runs, bench->run_count)},
		"seconds", offsetof(struct bench_run, cpu), offsetof(struct bench_run, fact), page);
	page_end(page);
	bench_write_histograms(bench,
		page->all || plan->names[LIST_CALLS].count || plan->names[LIST_CLOCKS].count,
		page->out);
	write_contention(bench, page);
	if (table && page->all)
		write_baselines(bench, page);
	/* The line `stopped` takes the room of the breakdown. */
	if (table && (page->all || !bench->stopped))
		write_breakdown(report, page);
	if (table && !page->all && report->noise.quiet && !bench->stopped)
		page_line(
			page, "more", "-v adds baselines and, unless some are selected, all calls");
}
