/* SPDX-License-Identifier: MIT */
/* The memory of a run, which its children write to, and its progress. */
#include "base/child.h"
#include "model.h"

/* A child ends within moments of the signal; one that is stopped is ended after two seconds. */
#define STOP_POLLS_MAX 20

struct bench *bench_new(const struct bench_plan *plan, struct fact *why)
{
	size_t rows = bench_count_wanted(plan), runs = rows * plan->count_count;
	size_t bytes = sizeof(struct bench) + rows * sizeof(struct bench_row) +
	               runs * sizeof(struct bench_run);
	struct bench *bench = child_share(bytes, why);

	if (!bench)
		return NULL;
	bench->plan = plan;
	bench->bytes = bytes;
	bench->rows = (struct bench_row *)(bench + 1);
	bench->runs = (struct bench_run *)(bench->rows + rows);
	return bench;
}

void bench_free(struct bench *bench)
{
	if (bench)
		child_unshare(bench, bench->bytes);
}

bool bench_show_progress(void *argument)
{
	struct bench *bench = argument;

	progress_show(bench->total ? (double)bench->done / (double)bench->total : 0);
	bench->stop_polls += bench->stop;
	return bench->stop_polls > STOP_POLLS_MAX;
}
