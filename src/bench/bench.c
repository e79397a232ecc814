/* SPDX-License-Identifier: MIT */
/* The command bench: its row, and one run of it. */
#include "commands.h"

#include <stdlib.h>

#include "base/privileges.h"
#include "collect.h"
#include "measure/vdso.h"
#include "options.h"
#include "report.h"

/* Nothing could be measured: the result is not known. */
#define EXIT_UNMEASURED 2

static void show_progress(const struct bench *bench)
{
	progress_show(NULL, bench->total ? (double)bench->done / (double)bench->total : 0);
}

static void collect(const struct root *root, struct evidence *evidence, struct call_table *calls)
{
	struct vdso_image image;

	evidence->live = true;
	moment_collect(root, &evidence->moment);
	clocksource_collect(root, &evidence->clocksource);
	vdso_collect(root, &evidence->vdso, &image);
	host_collect(root, &evidence->host);
	call_table_make(&evidence->vdso, &image, calls);
}

static int print(struct cli *cli, const struct evidence *evidence, const struct bench_plan *plan,
	const struct bench *bench)
{
	struct bench_report report = {.evidence = evidence,
		.bench = bench,
		.plan = plan,
		.noise = noise_find(bench),
		.breakdown = breakdown_find(bench)};

	if (!fact_is_known(&bench->fact) && !bench->stopped) {
		cli_complain("cannot measure: %s", bench->fact.reason);
		return EXIT_UNMEASURED;
	}
	cli_print(cli, &report);
	return bench_has_found(bench) ? EXIT_SUCCESS : EXIT_UNMEASURED;
}

static int measure_and_print(
	struct cli *cli, const struct evidence *evidence, const struct bench_plan *plan)
{
	struct fact why = {0};
	struct bench *bench = bench_new(plan, &why);
	int status;

	if (!bench) {
		cli_complain("cannot measure: %s", why.reason);
		return EXIT_TROUBLE;
	}
	interrupt_watch(&bench->stop);
	progress_start(cli, "measuring");
	bench_measure(bench, plan, progress_is_shown() ? show_progress : NULL);
	progress_end();
	interrupt_end();
	status = print(cli, evidence, plan, bench);
	bench_free(bench);
	return status;
}

static int run(struct cli *cli)
{
	static struct evidence evidence;
	struct call_table calls;
	struct bench_request *request = cli->own;
	struct bench_plan plan;

	if (!bench_options_fit(request))
		return EXIT_TROUBLE;
	collect(&cli->root, &evidence, &calls);
	privileges_limit(PRIVILEGES_NONE, PRIVILEGES_WRITE);
	if (!bench_plan_make(request, &calls, &plan))
		return EXIT_TROUBLE;
	return measure_and_print(cli, &evidence, &plan);
}

static const struct format formats[] = {
	{"text", NULL, DEPTH_ALL, bench_report_text},
	{"json", NULL, DEPTH_ALL, bench_report_json},
	{0},
};

const struct command bench_command = {
	.name = "bench",
	.summary = "measure the cost of the clock calls in detail",
	.help = "Measures the cost of the clock calls by the vDSO, by libc and by system call, and "
		"its breakdown. Ctrl-C prints what was measured so far.",
	.status = "0 measured, 2 nothing could be measured, 3 usage error or failed output, 130 "
		  "interrupted.",
	.options = bench_options,
	.formats = formats,
	.size = sizeof(struct bench_request),
	.take = bench_take,
	.run = run,
};
