/* SPDX-License-Identifier: MIT */
/*
 * What bench prints. The command line is parsed and planned by the real code; the
 * numbers are made up, all by a few rules, so that each file can be looked at as a picture.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/model.h"
#include "check/model.h"
#include "cli/driver.h"
#include "collect.h"
#include "commands.h"
#include "document.h"
#include "printed/bench.h"
#include "printed/file.h"

#define WORDS_MAX 16

static struct evidence evidence;
static struct call_table calls;

/* ---- what is asked for ---- */

static void put_evidence(const struct bench_scenario *scenario)
{
	static struct check_request document; /* bench collects parts of its evidence alone */
	static const volatile bool stop;
	struct document_stream *stream;
	struct fact why = {0};
	unsigned long line;
	char path[256];

	memset(&document, 0, sizeof(document));
	memset(&evidence, 0, sizeof(evidence));
	snprintf(path, sizeof(path), "tests/hosts/%s/document.json", scenario->host);
	stream = document_open(path, &stop, &why);
	if (!stream || document_next(stream, check_fields, &document, &line, &why) != DOCUMENT_READ)
		fail_msg("%s: %s", path, why.reason);
	document_close(stream);
	evidence.clocksource = document.evidence.clocksource;
	evidence.host = document.evidence.host;
	fact_set_text(&evidence.timestamp.time, "2026-11-21T15:02:11Z");
	fact_set_real(&evidence.timestamp.uptime_s, 86400.2);
	fact_set_text(&evidence.host.arch, "x86_64");
	fact_set_text(&evidence.host.libc, "glibc 2.36");
	fact_set_number(&evidence.host.seccomp, 0);
	call_table_make(&evidence.vdso, &(struct vdso_image){0}, &calls, DEADLINE_NONE);
}

static void put_plan(const struct bench_scenario *scenario, struct bench_plan *plan)
{
	static const struct command *const commands[] = {&bench_command, NULL};
	char *argv[WORDS_MAX] = {"bench"};
	struct cli cli;
	int count = 1;

	for (; scenario->words && scenario->words[count - 1]; count++)
		argv[count] = (char *)(uintptr_t)scenario->words[count - 1];
	assert_true(cli_parse(&cli, commands, count, argv));
	*plan = ((struct bench_report *)cli.data)->plan;
	cli_free(&cli);
	plan->details = !scenario->screen;
	assert_true(bench_plan_make(plan, &calls));
}

/* ---- the numbers ---- */

/* No number is so near a tie that the rounding of 80-bit arithmetic (i386) differs. */
#define OFF_TIES 1e-3

static double vdso_ns(const struct bench_scenario *scenario, const struct bench_subject *subject)
{
	if (strstr(subject->clock, "COARSE"))
		return scenario->ns.coarse;
	if (strcmp(subject->call, "clock_gettime") == 0 ||
		strcmp(subject->call, "gettimeofday") == 0)
		return scenario->ns.vdso;
	return scenario->ns.coarse / 2;
}

static double cost_of(const struct bench_scenario *scenario, const struct bench_subject *subject)
{
	double syscall_ns = scenario->ns.syscall + (strstr(subject->clock, "CPUTIME") ? 290 : 0);
	double libc_ns = subject->path == PATH_LIBC ? 0.3 : 0;

	if (subject->path == PATH_SYSCALL)
		return syscall_ns;
	if (strstr(subject->clock, "CPUTIME") || scenario->no_vdso)
		return syscall_ns - 3.1 + libc_ns;
	return vdso_ns(scenario, subject) + libc_ns;
}

static void put_cost(const struct bench_scenario *scenario, struct ns_stats *stats, double ns)
{
	bool noisy = scenario->noisy;

	*stats = (struct ns_stats){.ns.minimum = ns,
		.ns.median = ns * (noisy ? 2.41 : 1.002),
		.ns.p99 = ns * (noisy ? 38.6 : 1.31),
		.ns.trimmed_mean = ns * (noisy ? 2.93 : 1.004),
		.ns.count = noisy ? 747 : 1006,
		.ns.outliers = noisy ? 91 : 12,
		.iterations = ns < 20000 ? (size_t)(20000 / ns + OFF_TIES) : 1,
		.batches.begun = 1009,
		.batches.preempted = noisy ? 244 : 3,
		.batches.migrated = noisy ? 11 : 0,
		.batches.stalled = noisy ? 7 : 0};
	fact_set_known(&stats->fact);
}

static bool is_missing(const struct bench_scenario *scenario, const struct bench_subject *subject)
{
	return scenario->no_vdso && subject->path == PATH_VDSO;
}

static void put_rows(
	const struct bench_scenario *scenario, const struct bench_plan *plan, struct bench *bench)
{
	struct bench_row *row = bench->rows;

	fact_set_number(&bench->cpu, 0);
	for (size_t place = 0; bench_next(plan, &place, &row->subject); row++) {
		if (is_missing(scenario, &row->subject))
			fact_set(&row->stats.fact, FACT_ABSENT, "not available here");
		else
			put_cost(scenario, &row->stats, cost_of(scenario, &row->subject));
		bench->row_count++;
	}
}

static void put_run(const struct bench_scenario *scenario, struct bench_run *run, uint64_t count)
{
	double seconds =
		cost_of(scenario, &run->subject) * (double)count / NS_PER_SECOND + OFF_TIES / 1e4;
	bool enters = scenario->enters || run->subject.path == PATH_SYSCALL;

	run->wanted = count;
	if (is_missing(scenario, &run->subject)) {
		fact_set(&run->fact, FACT_ABSENT, "not available here");
		return;
	}
	run->calls = count;
	run->real_s = seconds * 1.01;
	run->user_s = seconds * (enters ? 0.28 : 1);
	run->sys_s = seconds - run->user_s;
	fact_set_known(&run->fact);
}

static void put_runs(
	const struct bench_scenario *scenario, const struct bench_plan *plan, struct bench *bench)
{
	struct bench_subject subject;

	for (size_t place = 0; bench_next(plan, &place, &subject);) {
		for (size_t i = 0; i < plan->count_count; i++) {
			struct bench_run *run = &bench->runs[bench->run_count++];

			run->subject = subject;
			put_run(scenario, run, plan->counts[i]);
		}
	}
}

static void put_numbers(
	const struct bench_scenario *scenario, const struct bench_plan *plan, struct bench *bench)
{
	fact_set_known(&bench->fact);
	if (plan->count_count)
		put_runs(scenario, plan, bench);
	else
		put_rows(scenario, plan, bench);
	if (scenario->change)
		scenario->change(bench, &evidence);
}

/* ---- the report ---- */

/* Prints it, and holds it against the file of this ending. */
static void hold(const struct bench_scenario *scenario, struct bench *bench,
	void (*write)(const void *, const struct style *, FILE *), const char *ending)
{
	const struct style style = {.verbose = !scenario->screen};
	static struct bench_report report;
	char *bytes = NULL;
	size_t length;
	FILE *out = open_memstream(&bytes, &length);

	assert_non_null(out);
	report = (struct bench_report){
		.report = {.type = bench_command.report, .timestamp = evidence.timestamp},
		.plan = *bench->plan,
		.evidence = evidence,
		.bench = bench};
	bench_conclude(&report);
	write(&report, &style, out);
	assert_int_equal(fclose(out), 0);
	printed_hold(scenario->name, ending, bytes);
	if (write == report_text)
		printed_assert_fits_terminal(bytes, scenario->screen);
	free(bytes);
}

void printed_bench(void **state)
{
	const struct bench_scenario *scenario = *state;
	static struct bench_plan plan;
	struct bench *bench;
	struct fact why = {0};

	put_evidence(scenario);
	put_plan(scenario, &plan);
	bench = bench_new(&plan, &why);
	assert_non_null(bench);
	put_numbers(scenario, &plan, bench);
	hold(scenario, bench, report_text, "txt");
	if (scenario->json)
		hold(scenario, bench, report_json, "json");
	bench_free(bench);
}
