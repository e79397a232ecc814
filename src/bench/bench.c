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

/* The result is unknown, since nothing could be measured. */
#define EXIT_UNMEASURED 2

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

static void measure(struct cli *cli, struct bench *bench)
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

struct bench_report bench_report_make(const struct evidence *evidence, struct bench *bench)
{
	struct bench_report report = {.evidence = evidence,
		.timestamp = &evidence->timestamp,
		.bench = bench,
		.noise = noise_find(bench),
		.breakdown = breakdown_find(bench),
		.time_s = (double)bench->plan->time_ns / NS_PER_SECOND};
	bool found;

	bench_evaluate(bench);
	/* A child that ended early leaves rows that may be half. */
	found = bench->found && (fact_is_known(&bench->fact) || bench->stopped);
	report.exit_status = interrupt_status(found ? EXIT_SUCCESS : EXIT_UNMEASURED);
	report.verdict = found ? "ok" : "unknown";
	bench_answer(bench, report.summary, sizeof(report.summary));
	return report;
}

static int run_bench(struct cli *cli)
{
	static struct evidence evidence = {.live = true};
	struct bench_plan *plan = cli->data;
	struct bench_report report;
	static struct call_table calls;
	struct vdso_image image;
	struct fact why = {0};
	struct bench *bench;

	timestamp_collect(&cli->root, &evidence.timestamp, &cli->deadline);
	clocksource_collect(&cli->root, &evidence.clocksource);
	vdso_collect(&cli->root, &evidence.vdso, &image);
	host_collect(&cli->root, &evidence.host);
	call_table_make(&evidence.vdso, &image, &calls, &cli->deadline);
	privileges_keep(PRIVILEGES_WRITE);
	plan->details = cli->depth == DEPTH_ALL;
	if (!bench_plan_make(plan, &calls))
		return EXIT_TROUBLE;
	bench = bench_new(plan, &why);
	if (!bench) {
		cli_error("cannot measure: %s", why.reason);
		return EXIT_TROUBLE;
	}
	measure(cli, bench);
	report = bench_report_make(&evidence, bench);
	if (fact_is_known(&bench->fact) || bench->stopped)
		cli_print(cli, &report);
	else
		cli_error("cannot measure: %s", bench->fact.reason);
	bench_free(bench);
	return report.exit_status;
}

static const struct format formats[] = {
	{.name = "text", .write = bench_text},
	{.name = "json", .depth = DEPTH_ALL, .write = bench_json},
	{0},
};

const struct command bench_command = {
	.name = "bench",
	.summary = "measure the cost of the clock calls in detail",
	.help = "Measures the cost of the clock calls by the vDSO, by libc and by system call, and "
		"its breakdown. 'vdsocheck trace' counts how often a program makes them. Ctrl-C "
		"prints what was measured so far.",
	.status = "0 measured, 2 nothing could be measured, 3 usage error or failed output, 130 "
		  "interrupted.",
	.options = bench_options,
	.formats = formats,
	.size = sizeof(struct bench_plan),
	.take = bench_take,
	.run = run_bench,
};
