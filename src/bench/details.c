/* SPDX-License-Identifier: MIT */
/*
 * What the text of a benchmark shows below its tables: the breakdown of a call's cost, and the
 * histograms, whose bars are on a linear scale, so that their lengths can be compared.
 */
#include "model.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/describe.h"
#include "cli/layout.h"

#define PERCENT 100

/* ---- breakdown ---- */

static void add_part(struct strbuf *sb, const char *before, double ns, const char *what)
{
	char text[32];

	strbuf_add(sb, "%s%s ns%s", before, isnan(ns) ? "?" : format_ns(ns, text), what);
}

void bench_write_breakdown(const struct bench_report *report, FILE *out)
{
	const struct breakdown *parts = &report->breakdown;
	const struct number_fact *seccomp = &report->evidence->host.seccomp;
	struct strbuf syscall = {.used = 0}, vdso = {.used = 0};

	if (isnan(parts->syscall) && isnan(parts->vdso))
		return;
	fputs("\n  cost breakdown of clock_gettime(CLOCK_MONOTONIC), from the minima\n", out);
	if (!isnan(parts->syscall)) {
		add_part(&syscall, "", parts->syscall, " = ");
		add_part(&syscall, "", parts->entry, " kernel entry and exit + ");
		add_part(&syscall, "", parts->kernel, " reading the clock there");
		if (fact_is_known(&seccomp->fact))
			strbuf_add(&syscall, "%s",
				seccomp->value ? "; the seccomp filters in force are part of that"
					       : "; no seccomp filter is in force");
		wrap_print(out, "system call", BENCH_INDENT, syscall.text);
	}
	if (isnan(parts->vdso))
		return;
	if (parts->vdso_takes_as_long_as_entry) {
		add_part(&vdso, "", parts->vdso,
			", no less than a kernel entry: it may be a system call; ");
		add_part(&vdso, "reading the counter would take ", parts->counter, "");
	} else {
		add_part(&vdso, "", parts->vdso, " = ");
		add_part(&vdso, "", parts->counter, " reading the counter + ");
		add_part(&vdso, "", parts->order, " ordering the read + ");
		add_part(&vdso, "", parts->arithmetic, " arithmetic");
	}
	wrap_print(out, "vDSO call", BENCH_INDENT, vdso.text);
}

/* ---- histogram ---- */
#define LINES_LEAST 8
#define LINES_MOST 16
#define BAR_WIDTH 32

static uint64_t sum_buckets(const struct histogram *histogram, size_t first, size_t end)
{
	uint64_t sum = 0;

	for (size_t i = first; i < end && i < HISTOGRAM_BUCKETS; i++)
		sum += histogram->buckets[i];
	return sum;
}

/* "  40.6 - 42.4 ns   16.6%  #######": a bar is as long as its share of the `most`. */
static void draw_line(
	const struct histogram *histogram, size_t first, size_t end, uint64_t most, FILE *out)
{
	static const char bar[] = "################################";
	uint64_t calls = sum_buckets(histogram, first, end);
	char from[32], to[32];

	fprintf(out, "  %8s - %8s ns %6.1f%%", format_ns(histogram_edge(first), from),
		format_ns(histogram_edge(end), to),
		PERCENT * (double)calls / (double)histogram->calls);
	if (calls)
		fprintf(out, "  %.*s", (int)round(BAR_WIDTH * (double)calls / (double)most), bar);
	fputc('\n', out);
}

/*
 * The buckets around the most frequent one, from the first call in a thousand to the 99th
 * percentile, several in one line where there are many; the tail as numbers.
 */
static void draw_histogram(const struct histogram *histogram, FILE *out)
{
	/* A percentile is the edge of a bucket: rounding must not decide which side it is on. */
	size_t end = histogram_bucket(histogram->p99_ns * (1 + 1e-9)) + 1, first = 0, mode = 0,
	       step;
	uint64_t most = 0, above;
	char text[4][32];

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		mode = histogram->buckets[i] > histogram->buckets[mode] ? i : mode;
	while (first < mode && sum_buckets(histogram, 0, first + 1) <= histogram->calls / 1000)
		first++;
	end = end > mode ? end : mode + 1;
	while (end - first < LINES_LEAST) {
		first -= first > 0;
		end++;
	}
	step = (end - first + LINES_MOST - 1) / LINES_MOST;
	end += (step - (end - first) % step) % step;
	for (size_t i = first; i < end; i += step) {
		uint64_t calls = sum_buckets(histogram, i, i + step);

		most = calls > most ? calls : most;
	}
	for (size_t i = first; i < end; i += step)
		draw_line(histogram, i, i + step, most, out);
	above = sum_buckets(histogram, end, HISTOGRAM_BUCKETS);
	if (above) {
		struct strbuf tail = {.used = 0};
		int column = fprintf(out, "     above %8s ns %6.1f%%  ",
			format_ns(histogram_edge(end), text[0]),
			PERCENT * (double)above / (double)histogram->calls);

		strbuf_add(&tail, "p99 %s, p99.9 %s, max %s ns",
			format_ns(histogram->p99_ns, text[1]),
			format_ns(histogram->p999_ns, text[2]),
			format_ns(histogram->max_ns, text[3]));
		wrap_text(out, column, column, tail.text);
	}
}

void bench_write_histograms(const struct bench *bench, bool all, FILE *out)
{
	for (size_t i = 0; i < bench->row_count; i++) {
		const struct bench_row *row = &bench->rows[i];
		const struct histogram *histogram = &row->histogram;
		struct strbuf name = {.used = 0};
		char calls[32], p50[32];

		if (!histogram->calls || (!all && row != bench_answer_row(bench)))
			continue;
		describe_call_name(row->subject.call, row->subject.clock, &name);
		strbuf_add(&name, " by %s", bench_paths[row->subject.path]);
		if (row->cpu >= 0)
			strbuf_add(&name, " on CPU %d", row->cpu);
		strbuf_add(&name, ": %s calls, each timed alone; p50 %s ns",
			format_count(histogram->calls, calls), format_ns(histogram->p50_ns, p50));
		fputs("\n  ", out);
		wrap_text(out, 2, 4, name.text);
		draw_histogram(histogram, out);
	}
}
