/* SPDX-License-Identifier: MIT */
/* The lines of long runs and of crowds, and what they share with the table: names. */
#include "render/bench_report.h"

#include <string.h>

#include "render/wrap.h"

#define NS_PER_SECOND 1e9

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

static void write_run(const struct bench_run *run, const struct bench_subject *before, FILE *out)
{
	char calls[32], ns[32];

	bench_report_write_name(&run->subject, before, out);
	fprintf(out, "%7s", short_count(run->calls, calls));
	if (!fact_is_known(&run->fact)) {
		fprintf(out, "  %s\n", run->fact.reason);
		return;
	}
	fprintf(out, "%8.3f%8.3f%8.3f", run->real_s, run->user_s, run->sys_s);
	if (run->calls)
		fprintf(out, "%7s", wrap_ns(NS_PER_SECOND * run->real_s / (double)run->calls, ns));
	fputc('\n', out);
}

void bench_report_runs(const struct bench *bench, FILE *out)
{
	if (!bench->run_count)
		return;
	fprintf(out, "\n  %-32s %-7s%7s%8s%8s%8s%7s\n", "seconds; each in ns", "by", "calls",
		"real", "user", "sys", "each");
	for (size_t i = 0; i < bench->run_count; i++)
		write_run(&bench->runs[i], i ? &bench->runs[i - 1].subject : NULL, out);
}

/* How much dearer a call is among others. */
static void write_crowd(
	const struct bench_crowd *crowd, const struct bench_subject *before, FILE *out)
{
	char alone[32], together[32], slowest[32];

	bench_report_write_name(&crowd->subject, before, out);
	if (!fact_is_known(&crowd->fact)) {
		fprintf(out, "  %s\n", crowd->fact.reason);
		return;
	}
	fprintf(out, "%9s%10s%10s%7.2f\n", wrap_ns(crowd->alone_ns, alone),
		wrap_ns(crowd->together_ns, together), wrap_ns(crowd->slowest_ns, slowest),
		crowd->together_ns / crowd->alone_ns);
}

static void explain_crowds(const struct bench_crowd *crowd, FILE *out)
{
	if (crowd->cpus < 2) {
		fputs("\n  together: on one CPU. Whether CPUs wait for each other takes two to see.\n",
			out);
		return;
	}
	fprintf(out,
		"\n  together: %u threads on %u CPUs at once. 1 times: none waits for another.\n"
		"  %u times: all of them make no more calls than one alone, as where each call\n"
		"  reads a device.\n",
		crowd->threads, crowd->cpus, crowd->cpus);
}

void bench_report_crowds(const struct bench *bench, FILE *out)
{
	if (!bench->crowd_count)
		return;
	fprintf(out, "\n  %-32s %-7s%9s%10s%10s%7s\n", "ns per call", "by", "alone", "together",
		"slowest", "times");
	for (size_t i = 0; i < bench->crowd_count; i++)
		write_crowd(&bench->crowds[i], i ? &bench->crowds[i - 1].subject : NULL, out);
	explain_crowds(&bench->crowds[0], out);
}
