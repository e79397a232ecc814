/* SPDX-License-Identifier: MIT */
/*
 * The command bench: its row, and one run of it. Children measure, into memory that they share with
 * the parent.
 */
#include "commands.h"

#include "base/child.h"
#include "base/privileges.h"
#include "base/time.h"
#include "collect.h"
#include "measure/cpus.h"
#include "measure/vdso.h"
#include "model.h"

static bool is_table(const struct bench_plan *plan)
{
	return !plan->count_count && !plan->threads;
}

struct bench *bench_new(const struct bench_plan *plan, struct fact *why)
{
	const char *missing = is_table(plan) ? "stopped before it was measured" : "not asked for";
	size_t wanted = bench_count_wanted(plan);
	size_t rows = wanted * (plan->cpu_count ? plan->cpu_count : 1);
	size_t runs = wanted * plan->count_count * (plan->cpu_count ? plan->cpu_count : 1);
	size_t bytes = sizeof(struct bench) + rows * sizeof(struct bench_row) +
	               runs * sizeof(struct bench_run) + wanted * sizeof(struct bench_contention);
	struct bench *bench = child_share(bytes, why);

	if (!bench)
		return NULL;
	bench->plan = plan;
	bench->bytes = bytes;
	bench->rows = (struct bench_row *)(bench + 1);
	bench->runs = (struct bench_run *)(bench->rows + rows);
	bench->contentions = (struct bench_contention *)(bench->runs + runs);
	for (size_t i = 0; i < BASELINE_COUNT; i++) {
		bench->baselines[i] = bench_baselines[i];
		fact_set(&bench->baselines[i].stats.fact, FACT_UNREAD, "%s", missing);
	}
	return bench;
}

void bench_free(struct bench *bench)
{
	if (bench)
		child_unshare(bench, bench->bytes);
}

struct number_fact bench_pin(const struct bench_plan *plan, size_t place)
{
	struct number_fact cpu = {.value = 0};

	if (!plan->cpu_count)
		fact_set(&cpu.fact, FACT_UNREAD, "not pinned");
	else if (cpus_pin(plan->cpus[place]))
		fact_set_number(&cpu, plan->cpus[place]);
	else
		fact_set(&cpu.fact, FACT_DENIED, "could not be pinned");
	return cpu;
}

bool bench_show_progress(void *argument)
{
	const struct bench *bench = argument;

	progress_show(bench->total ? (double)bench->done / (double)bench->total : 0);
	return false;
}

static void measure_all(struct cli *cli, struct bench *bench)
{
	work_begin(cli, "measuring", &bench->stop);
	if (bench->plan->count_count)
		bench_count_all(bench);
	if (bench->plan->threads)
		bench_contention_all(bench);
	if (is_table(bench->plan))
		bench_table_measure(bench);
	bench->stopped = bench->stop;
	work_end();
}

static const struct answer answers[] = {
	{"unknown", NULL, 2, "nothing could be measured"},
	{"ok", NULL, 0, "measured"},
	{0},
};

void bench_conclude(struct bench_report *report)
{
	struct bench *bench = report->bench;
	char text[200];

	report->noise = noise_find(bench);
	report->breakdown = breakdown_find(bench);
	report->time_s = (double)report->plan.time_ns / NS_PER_SECOND;
	bench_evaluate(bench);
	bench_answer(bench, text, sizeof(text));
	/* A child that ended early leaves rows that may be half. */
	if (bench->found && (fact_is_known(&bench->fact) || bench->stopped))
		report_answer(&report->report, &answers[1], NULL, NULL, "%s", text);
	else
		report_answer(&report->report, &answers[0], NULL, NULL, "nothing was measured%s%s",
			*bench->fact.reason ? ": " : "", bench->fact.reason);
}

static bool measure(struct cli *cli)
{
	struct bench_report *report = cli->data;
	struct evidence *evidence = &report->evidence;
	struct vdso_image image;
	struct fact why = {0};

	evidence->live = true;
	clocksource_collect(&cli->root, &evidence->clocksource);
	vdso_collect(&cli->root, &evidence->vdso, &image);
	host_collect(&cli->root, &evidence->host);
	call_table_make(&evidence->vdso, &image, &report->calls, &cli->deadline);
	privileges_keep(PRIVILEGES_WRITE);
	report->plan.details = cli->depth == DEPTH_ALL;
	if (!bench_plan_make(&report->plan, &report->calls))
		return false;
	report->bench = bench_new(&report->plan, &why);
	if (!report->bench)
		return cli_error("cannot measure: %s", why.reason);
	measure_all(cli, report->bench);
	bench_conclude(report);
	return true;
}

static void release(void *data)
{
	bench_free(((struct bench_report *)data)->bench);
}

static const struct report_type type = {.schema = BENCH_SCHEMA,
	.fields = bench_fields,
	.indent = 16,
	.measure = measure,
	.text = bench_text,
	.release = release};

static const struct format formats[] = {
	{.name = "text", .write = report_text},
	{.name = "json", .depth = DEPTH_ALL, .write = report_json},
	{0},
};

const struct command bench_command = {
	.name = "bench",
	.summary = "measure the cost of the clock calls in detail",
	.help = "Measures the cost of the clock calls by the vDSO, by libc and by system call, and "
		"its breakdown. 'vdsocheck trace' counts how often a program makes them. Ctrl-C "
		"prints what was measured so far.",
	.status = "3 usage error or failed output, 130 interrupted.",
	.answers = answers,
	.options = bench_options,
	.formats = formats,
	.report = &type,
	.size = sizeof(struct bench_report),
	.take = bench_take,
	.run = report_run,
};
