/* SPDX-License-Identifier: MIT */
/*
 * The other tables of a benchmark's text: the breakdown, the histograms, counts and contention; and
 * the names of calls, which all tables share.
 */
#include "report.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/describe.h"
#include "cli/layout.h"

/* Of a call and its path; of these and a count. */
#define NAME_WIDTH 42
#define RUN_WIDTH 49

#define GAP 2
#define LABEL_WIDTH 16

void bench_report_write_name(
	const struct bench_subject *subject, const struct bench_subject *before, FILE *out)
{
	struct strbuf name = {.used = 0};

	if (!before || strcmp(subject->call, before->call) != 0 ||
		strcmp(subject->clock, before->clock) != 0)
		describe_call_name(subject->call, subject->clock, &name);
	fprintf(out, "  %-32s %-7s", name.text, bench_paths[subject->path]);
}

void bench_report_write_reason(const struct fact *fact, int column, FILE *out)
{
	fprintf(out, "%*s", GAP, "");
	wrap_text(out, column + GAP, column + GAP, fact->reason);
}

/* ---- breakdown ---- */

static void add_part(struct strbuf *sb, const char *before, double ns, const char *what)
{
	char text[32];

	strbuf_add(sb, "%s%s ns%s", before, ns >= 0 ? format_ns(ns, text) : "?", what);
}

void bench_report_breakdown(const struct bench_report *report, FILE *out)
{
	const struct breakdown *parts = &report->breakdown;
	const struct number_fact *seccomp = &report->evidence->host.seccomp;
	struct strbuf syscall = {.used = 0}, vdso = {.used = 0};

	if (parts->syscall < 0 && parts->vdso < 0)
		return;
	fputs("\n  cost breakdown of clock_gettime(CLOCK_MONOTONIC), from the minima\n", out);
	if (parts->syscall >= 0) {
		add_part(&syscall, "", parts->syscall, " = ");
		add_part(&syscall, "", parts->entry, " kernel entry and exit + ");
		add_part(&syscall, "", parts->kernel, " reading the clock there");
		if (fact_is_known(&seccomp->fact))
			strbuf_add(&syscall, "%s",
				seccomp->value ? "; the seccomp filters in force are part of that"
					       : "; no seccomp filter is in force");
		wrap_print(out, "system call", LABEL_WIDTH, syscall.text);
	}
	if (parts->vdso < 0)
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
	wrap_print(out, "vDSO call", LABEL_WIDTH, vdso.text);
}

/* ---- histogram ---- */

#define LINES_LEAST 8
#define LINES_MOST 16
#define BAR_WIDTH 36

static uint64_t sum_buckets(const struct histogram *histogram, size_t first, size_t end)
{
	uint64_t sum = 0;

	for (size_t i = first; i < end && i < HISTOGRAM_BUCKETS; i++)
		sum += histogram->buckets[i];
	return sum;
}

/* The bars are logarithmic: one call in 100,000 is seen, too. */
static void draw_line(const char *from, const char *to, uint64_t calls, uint64_t most, FILE *out)
{
	static const char bar[] = "####################################";
	double share = log2(1 + (double)calls) / log2(1 + (double)most);
	char count[32];
	int room = WRAP_COLUMNS - 2 -
	           fprintf(out, "  %10s - %9s%12s", from, to, format_count(calls, count));
	int length = (int)ceil(share * BAR_WIDTH);

	if (calls)
		fprintf(out, "  %.*s", length < room ? length : room, bar);
	fputc('\n', out);
}

/*
 * The buckets around the most frequent one, from the first call in a thousand to the 99th
 * percentile; where there are many, several draw as one line.
 */
static void draw_buckets(const struct histogram *histogram, FILE *out)
{
	/* A percentile is the edge of a bucket: rounding must not decide which side it is on. */
	size_t first = 0, end = histogram_bucket(histogram->p99_ns * (1 + 1e-9)) + 1, mode = 0,
	       at_once;
	uint64_t below, above, most;
	char from[32], to[32];

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		mode = histogram->buckets[i] > histogram->buckets[mode] ? i : mode;
	while (first < mode && sum_buckets(histogram, 0, first + 1) <= histogram->calls / 1000)
		first++;
	end = end > mode ? end : mode + 1;
	while (end - first < LINES_LEAST) {
		first -= first > 0;
		end++;
	}
	at_once = (end - first + LINES_MOST - 1) / LINES_MOST;
	end += (at_once - (end - first) % at_once) % at_once;
	below = sum_buckets(histogram, 0, first);
	above = sum_buckets(histogram, end, HISTOGRAM_BUCKETS);
	most = below > above ? below : above;
	for (size_t i = first; i < end; i += at_once) {
		uint64_t calls = sum_buckets(histogram, i, i + at_once);

		most = calls > most ? calls : most;
	}
	if (below)
		draw_line("0.0", format_ns(histogram_edge(first), to), below, most, out);
	for (size_t i = first; i < end; i += at_once)
		draw_line(format_ns(histogram_edge(i), from),
			format_ns(histogram_edge(i + at_once), to),
			sum_buckets(histogram, i, i + at_once), most, out);
	if (above)
		draw_line(format_ns(histogram_edge(end), from), "more", above, most, out);
}

void bench_report_histogram(const struct bench_row *row, FILE *out)
{
	const struct histogram *histogram = &row->histogram;
	const double times[] = {histogram->p50_ns, histogram->p90_ns, histogram->p99_ns,
		histogram->p999_ns, histogram->max_ns};
	static const char *const names[] = {"p50", ", p90", ", p99", ", p99.9", ", max"};
	char text[32], place[32] = "";
	struct strbuf sb = {.used = 0}, name = {.used = 0};

	if (!histogram->calls)
		return;
	describe_call_name(row->subject.call, row->subject.clock, &name);
	if (row->cpu >= 0)
		snprintf(place, sizeof(place), " on CPU %d", row->cpu);
	fprintf(out, "\n  %s by %s%s, each call timed alone\n  ", name.text,
		bench_paths[row->subject.path], place);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		strbuf_add(&sb, "%s %s", names[i], format_ns(times[i], text));
	strbuf_add(&sb, " ns");
	wrap_text(out, 2, 2, sb.text);
	fprintf(out, "  %10s - %9s%12s\n", "from ns", "to ns", "calls");
	draw_buckets(histogram, out);
}

/* ---- counts and contention ---- */

/* "5M", "12.35M": as --calls takes it. */
static char *short_count(uint64_t count, char buffer[32])
{
	static const struct {
		double worth;
		const char *name;
	} units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
	size_t unit = 0;

	while ((double)count < units[unit].worth && units[unit].worth > 1)
		unit++;
	snprintf(buffer, 32, "%.4g%s", (double)count / units[unit].worth, units[unit].name);
	return buffer;
}

void bench_report_runs(const struct bench *bench, FILE *out)
{
	for (size_t i = 0; i < bench->run_count; i++) {
		const struct bench_count *run = &bench->runs[i];
		const double seconds[] = {run->real_s, run->user_s, run->sys_s};
		bool first = i == 0 || bench->runs[i - 1].cpu != run->cpu;
		char place[32] = "", text[32];

		if (run->cpu >= 0)
			snprintf(place, sizeof(place), ", on CPU %d", run->cpu);
		if (first)
			fprintf(out, "\n  seconds (each: ns)%-14s %-7s%7s%8s%8s%8s%7s\n", place,
				"by", "calls", "real", "user", "sys", "each");
		bench_report_write_name(
			&run->subject, first ? NULL : &bench->runs[i - 1].subject, out);
		fprintf(out, "%7s", short_count(run->calls, text));
		if (!fact_is_known(&run->fact)) {
			bench_report_write_reason(&run->fact, RUN_WIDTH, out);
			continue;
		}
		/* As time(1) prints them, as long as there is room and milliseconds matter. */
		for (size_t k = 0; k < ARRAY_SIZE(seconds); k++)
			fprintf(out, "%8.*f", seconds[k] < 999.9995 ? 3 : 0, seconds[k]);
		if (run->calls)
			fprintf(out, "%7s",
				format_ns(NS_PER_SECOND * run->real_s / (double)run->calls, text));
		fputc('\n', out);
	}
}

static void explain_contention(const struct bench_contention *contention, FILE *out)
{
	struct strbuf sb = {.used = 0};

	if (contention->cpus < 2)
		strbuf_add(&sb, "on one CPU: contention between CPUs takes two to measure.");
	else
		strbuf_add(&sb,
			"%u threads on %u CPUs at once. 1.00 times alone: the threads do not slow "
			"each other down. %u.00 times: reads are fully serialized, as with hpet and "
			"acpi_pm.",
			contention->threads, contention->cpus, contention->cpus);
	fputc('\n', out);
	wrap_print(out, "together", LABEL_WIDTH, sb.text);
}

void bench_report_contention(const struct bench *bench, FILE *out)
{
	char alone[32], together[32], slowest[32];
	bool found = false;

	if (bench->contention_count)
		fprintf(out, "\n  %-32s %-7s%9s%10s%10s%7s\n", "ns per call", "by", "alone",
			"together", "slowest", "times");
	for (size_t i = 0; i < bench->contention_count; i++) {
		const struct bench_contention *one = &bench->contentions[i];

		bench_report_write_name(&one->subject, i ? &one[-1].subject : NULL, out);
		if (!fact_is_known(&one->fact)) {
			bench_report_write_reason(&one->fact, NAME_WIDTH, out);
			continue;
		}
		found = true;
		fprintf(out, "%9s%10s%10s%7.2f\n", format_ns(one->alone_ns, alone),
			format_ns(one->together_ns, together), format_ns(one->slowest_ns, slowest),
			one->together_ns / one->alone_ns);
	}
	if (found)
		explain_contention(&bench->contentions[0], out);
}
