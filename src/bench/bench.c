/* SPDX-License-Identifier: MIT */
/* The command bench: its row, and one run of it. */
#include "commands.h"

#include "base/privileges.h"
#include "base/time.h"
#include "collect.h"
#include "measure/vdso.h"
#include "model.h"

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
	report->time_s = (double)report->plan.time_ns / NS_PER_SECOND;
	bench_evaluate(bench);
	bench_answer(bench, text, sizeof(text));
	if (!bench->found && fact_is_known(&bench->fact) && bench->run_count)
		bench->fact = bench->runs[0].fact;
	/* A child that ended early leaves rows that may be half. */
	if (bench->found && (fact_is_known(&bench->fact) || bench->stopped))
		report_answer(&report->report, &answers[1], NULL, NULL, "%s", text);
	else
		report_answer(&report->report, &answers[0], NULL, NULL, "nothing was measured%s%s",
			*bench->fact.reason ? ": " : "", bench->fact.reason);
}

static bool bench_measure(struct cli *cli)
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
	work_begin(cli, "measuring", &report->bench->stop);
	if (report->plan.count_count)
		bench_count_all(report->bench);
	else
		bench_table_measure(report->bench);
	report->bench->stopped = report->bench->stop;
	work_end();
	bench_conclude(report);
	report_check_clocksource(cli, &evidence->clocksource);
	return true;
}

static void bench_release(void *data)
{
	bench_free(((struct bench_report *)data)->bench);
}

static const struct report_type type = {.schema = "vdsocheck-bench/1",
	.fields = bench_fields,
	.indent = 16,
	.measure = bench_measure,
	.text = bench_text,
	.release = bench_release};

static const struct format formats[] = {
	{.name = "text", .write = report_text},
	{.name = "json", .depth = DEPTH_ALL, .write = report_json},
	{0},
};

const struct command bench_command = {
	.name = "bench",
	.summary = "measure the cost of the clock calls in detail",
	.help = "Measures the cost of the clock calls by the vDSO, by libc and by system call. "
		"'vdsocheck trace' counts how often a program makes them. Ctrl-C prints what was "
		"measured so far.",
	.status = "3 usage error or failed output, 130 interrupted.",
	.answers = answers,
	.options = bench_options,
	.formats = formats,
	.report = &type,
	.size = sizeof(struct bench_report),
	.take = bench_take,
	.run = report_run,
};
