/* SPDX-License-Identifier: MIT */
/* The lines of long runs and of contention, and what they share with the table: names. */
#include "report.h"

#include <string.h>

#include "cli/phrase.h"
#include "cli/wrap.h"

#define NS_PER_SECOND 1e9

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
	fprintf(out, "  %-32s %-7s", name, bench_path_name(subject->path));
}

void bench_report_write_reason(const struct fact *fact, int column, FILE *out)
{
	fprintf(out, "%*s", GAP, "");
	wrap_text(out, column + GAP, column + GAP, fact->reason);
}

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

/* How much dearer a call is among others. */
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
