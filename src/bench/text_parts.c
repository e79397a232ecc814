/* SPDX-License-Identifier: MIT */
/*
 * The other tables of a benchmark's text: the breakdown, the histograms, counts and contention; and
 * the names of calls, which all tables share.
 */
#include "report.h"

#include <string.h>

#include "base/units.h"
#include "cli/describe.h"
#include "cli/layout.h"

/* Of a call and its way; of these and a count. */
#define NAME_WIDTH 42
#define RUN_WIDTH 49

#define GAP 2
#define LABEL_WIDTH 16

char *bench_report_name(const struct bench_subject *subject, char buffer[2 * CALL_NAME_SIZE])
{
	const char *clock = subject->clock;

	if (strncmp(clock, "CLOCK_", 6) == 0)
		clock += 6;
	snprintf(buffer, 2 * CALL_NAME_SIZE, "%s%s%s", subject->call, *clock ? " " : "", clock);
	return buffer;
}

static bool is_same_call(const struct bench_subject *a, const struct bench_subject *b)
{
	return strcmp(a->call, b->call) == 0 && strcmp(a->clock, b->clock) == 0;
}

void bench_report_write_name(
	const struct bench_subject *subject, const struct bench_subject *before, FILE *out)
{
	char name[2 * CALL_NAME_SIZE] = "";

	if (!before || !is_same_call(subject, before))
		bench_report_name(subject, name);
	fprintf(out, "  %-32s %-7s", name, bench_paths[subject->path]);
}

void bench_report_write_reason(const struct fact *fact, int column, FILE *out)
{
	fprintf(out, "%*s", GAP, "");
	wrap_text(out, column + GAP, column + GAP, fact->reason);
}

/* "5M", "12.35M": as --calls takes it. */
/* ---- breakdown ---- */

static void add_part(struct phrase *phrase, const char *before, double ns, const char *what)
{
	char text[32];

	phrase_add(phrase, "%s%s ns%s", before, ns >= 0 ? wrap_ns(ns, text) : "?", what);
}

/* Those that are in force, and what another one would add. */
static void add_filters(const struct bench_report *report, struct phrase *phrase)
{
	const struct number_fact *seccomp = &report->evidence->host.seccomp;
	const char *another = "one more seccomp filter";

	if (fact_is_known(&seccomp->fact)) {
		phrase_add(phrase, seccomp->value
					   ? "; the seccomp filters in force are part of that"
					   : "; no seccomp filter is in force");
		another = seccomp->value ? "one more" : "one";
	}
	if (report->breakdown.filter >= 0) {
		phrase_add(phrase, "; %s would add ", another);
		add_part(phrase, "", report->breakdown.filter, "");
	} else if (!report->bench->stopped) {
		phrase_add(phrase, "; what %s would add is not known: %s", another,
			report->bench->filter.fact.reason);
	}
}

static void write_syscall(const struct bench_report *report, FILE *out)
{
	const struct breakdown *parts = &report->breakdown;
	struct phrase phrase = {.used = 0};

	if (parts->syscall < 0)
		return;
	add_part(&phrase, "", parts->syscall, " = ");
	add_part(&phrase, "", parts->entry, " into the kernel and back + ");
	add_part(&phrase, "", parts->kernel, " reading the clock there");
	add_filters(report, &phrase);
	wrap_print(out, "system call", LABEL_WIDTH, phrase.text);
}

/* Where it takes as long as a system call it may be one, and the rest is no arithmetic. */
static void write_vdso(const struct breakdown *parts, FILE *out)
{
	struct phrase phrase = {.used = 0};

	if (parts->vdso < 0)
		return;
	if (parts->vdso_is_as_dear_as_entry) {
		add_part(&phrase, "", parts->vdso,
			", no less than entering the kernel takes: it may be a system call; ");
		add_part(&phrase, "reading the counter would take ", parts->counter, "");
	} else {
		add_part(&phrase, "", parts->vdso, " = ");
		add_part(&phrase, "", parts->counter, " reading the counter + ");
		add_part(&phrase, "", parts->order, " keeping that in order + ");
		add_part(&phrase, "", parts->arithmetic, " arithmetic");
	}
	wrap_print(out, "vDSO call", LABEL_WIDTH, phrase.text);
}

void bench_report_parts(const struct bench_report *report, FILE *out)
{
	const struct breakdown *parts = &report->breakdown;

	if (parts->syscall < 0 && parts->vdso < 0)
		return;
	fputs("\n  clock_gettime MONOTONIC, what it is made of, by the minima\n", out);
	write_syscall(report, out);
	write_vdso(parts, out);
}

/* ---- histogram ---- */

#define BAR_WIDTH 40

/* With more lines, neighbouring buckets are drawn as one. */
#define LINES_MAX 20

struct range {
	size_t first; /* bucket that is not empty */
	size_t end;   /* behind the last one that is not */
};

static struct range find_range(const struct histogram *histogram)
{
	struct range range = {0, HISTOGRAM_BUCKETS};

	while (range.first < range.end && !histogram->buckets[range.first])
		range.first++;
	while (range.end > range.first && !histogram->buckets[range.end - 1])
		range.end--;
	return range;
}

static uint64_t sum_buckets(const struct histogram *histogram, size_t first, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = first; i < first + count && i < HISTOGRAM_BUCKETS; i++)
		sum += histogram->buckets[i];
	return sum;
}

/* How many lines there are with that many buckets on each; empty ones are not drawn. */
static size_t count_lines(const struct histogram *histogram, struct range range, size_t at_once)
{
	size_t lines = 0;

	for (size_t i = range.first; i < range.end; i += at_once)
		lines += sum_buckets(histogram, i, at_once) > 0;
	return lines;
}

static void draw_line(const struct histogram *histogram, size_t first, size_t at_once, FILE *out)
{
	static const char bar[BAR_WIDTH + 1] = "########################################";
	uint64_t calls = sum_buckets(histogram, first, at_once);
	double share = (double)calls / (double)histogram->calls;
	size_t last = first + at_once;
	int width = (int)(share * BAR_WIDTH + 0.5);
	char from[32], to[32];

	if (!calls)
		return;
	wrap_ns(histogram_edge(first), from);
	if (last < HISTOGRAM_BUCKETS)
		wrap_ns(histogram_edge(last), to);
	else
		snprintf(to, sizeof(to), "more");
	fprintf(out, "  %10s - %9s  %8.4f %%", from, to, 100 * share);
	if (width)
		fprintf(out, "  %.*s", width, bar);
	fputc('\n', out);
}

static void write_title(const struct bench_row *row, FILE *out)
{
	char name[2 * CALL_NAME_SIZE], calls[32], place[32] = "";

	if (row->cpu >= 0)
		snprintf(place, sizeof(place), " on CPU %d", row->cpu);
	fprintf(out, "\n  %s by %s%s, each call timed alone\n",
		bench_report_name(&row->subject, name), bench_paths[row->subject.path], place);
	fprintf(out, "  %10s - %9s  of %s calls\n", "from ns", "to ns",
		wrap_count(row->histogram.calls, calls));
}

void bench_report_histogram(const struct bench_row *row, FILE *out)
{
	struct range range = find_range(&row->histogram);
	size_t at_once = 1;

	if (!row->histogram.calls)
		return;
	write_title(row, out);
	while (count_lines(&row->histogram, range, at_once) > LINES_MAX)
		at_once *= 2;
	for (size_t i = range.first; i < range.end; i += at_once)
		draw_line(&row->histogram, i, at_once, out);
}

/* ---- counts and contention ---- */

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

/* As time(1) prints them, as long as there is room and milliseconds matter. */
static void write_seconds(double seconds, FILE *out)
{
	int decimals = seconds < 999.9995 ? 3 : 0;

	fprintf(out, "%8.*f", decimals, seconds);
}

static void write_run(const struct bench_count *run, const struct bench_subject *before, FILE *out)
{
	char calls[32], ns[32];

	bench_report_write_name(&run->subject, before, out);
	fprintf(out, "%7s", short_count(run->calls, calls));
	if (!fact_is_known(&run->fact)) {
		bench_report_write_reason(&run->fact, RUN_WIDTH, out);
		return;
	}
	write_seconds(run->real_s, out);
	write_seconds(run->user_s, out);
	write_seconds(run->sys_s, out);
	if (run->calls)
		fprintf(out, "%7s", wrap_ns(NS_PER_SECOND * run->real_s / (double)run->calls, ns));
	fputc('\n', out);
}

static void write_run_heading(const struct bench_count *run, FILE *out)
{
	char place[32] = "";

	if (run->cpu >= 0)
		snprintf(place, sizeof(place), ", on CPU %d", run->cpu);
	fprintf(out, "\n  seconds; each in ns%-13s %-7s%7s%8s%8s%8s%7s\n", place, "by", "calls",
		"real", "user", "sys", "each");
}

void bench_report_runs(const struct bench *bench, FILE *out)
{
	for (size_t i = 0; i < bench->run_count; i++) {
		const struct bench_count *run = &bench->runs[i];
		bool first = i == 0 || bench->runs[i - 1].cpu != run->cpu;

		if (first)
			write_run_heading(run, out);
		write_run(run, first ? NULL : &bench->runs[i - 1].subject, out);
	}
}

/* How much slower a call is beside others. */
static void write_contention(
	const struct bench_contention *contention, const struct bench_subject *before, FILE *out)
{
	char alone[32], together[32], slowest[32];

	bench_report_write_name(&contention->subject, before, out);
	if (!fact_is_known(&contention->fact)) {
		bench_report_write_reason(&contention->fact, NAME_WIDTH, out);
		return;
	}
	fprintf(out, "%9s%10s%10s%7.2f\n", wrap_ns(contention->alone_ns, alone),
		wrap_ns(contention->together_ns, together),
		wrap_ns(contention->slowest_ns, slowest),
		contention->together_ns / contention->alone_ns);
}

static void explain_contention(const struct bench_contention *contention, FILE *out)
{
	struct phrase phrase = {.used = 0};

	if (contention->cpus < 2)
		phrase_add(
			&phrase, "on one CPU. Whether CPUs wait for each other takes two to see.");
	else
		phrase_add(&phrase,
			"%u threads on %u CPUs at once. 1.00 times alone: none waits for another. "
			"%u.00 times: all of them make no more calls than one alone, as where "
			"each call reads a device.",
			contention->threads, contention->cpus, contention->cpus);
	fputc('\n', out);
	wrap_print(out, "together", LABEL_WIDTH, phrase.text);
}

static bool has_contention(const struct bench *bench)
{
	bool found = false;

	for (size_t i = 0; i < bench->contention_count; i++)
		found = found || fact_is_known(&bench->contentions[i].fact);
	return found;
}

void bench_report_contention(const struct bench *bench, FILE *out)
{
	if (!bench->contention_count)
		return;
	fprintf(out, "\n  %-32s %-7s%9s%10s%10s%7s\n", "ns per call", "by", "alone", "together",
		"slowest", "times");
	for (size_t i = 0; i < bench->contention_count; i++)
		write_contention(
			&bench->contentions[i], i ? &bench->contentions[i - 1].subject : NULL, out);
	if (has_contention(bench))
		explain_contention(&bench->contentions[0], out);
}
