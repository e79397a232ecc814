/* SPDX-License-Identifier: MIT */
/* The memory of a run, which its children write to, and what each of them begins with. */
#include "base/child.h"
#include "base/time.h"
#include "measure/cpus.h"
#include "model.h"

/* A child ends within moments of the signal; one that is stopped is ended after two seconds. */
#define STOP_POLLS_MAX 20

struct bench *bench_new(const struct bench_plan *plan, struct fact *why)
{
	const char *missing = plan->count_count || plan->threads ? "not asked for"
	                                                         : "stopped before it was measured";
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
	struct bench *bench = argument;

	progress_show(bench->total ? (double)bench->done / (double)bench->total : 0);
	bench->stop_polls += bench->stop;
	return bench->stop_polls > STOP_POLLS_MAX;
}
