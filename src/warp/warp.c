/* SPDX-License-Identifier: MIT */
/*
 * The parent of the child that reads the clocks: a thread is pinned to each CPU there, a clock may
 * raise a signal when it is read, and all memory is released by its end.
 */
#include <string.h>

#include "base/child.h"
#include "measure/cpus.h"
#include "model.h"

/* The start of a thread on each CPU may take this time of its own. */
#define SLACK_PER_CPU_NS 50000000

static bool report_progress(void *argument)
{
	const struct warp_job *job = argument;

	progress_show(job->done);
	return false;
}

void warp_measure(struct warp_job *job)
{
	struct warp_evidence *warp = &job->warp;
	struct deadline deadline;
	struct fact why = {0};
	int cpus[CPUS_MAX];

	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		warp->results[id].name = warp_clock_name((enum warp_clock_id)id);
	warp->allowed = cpus_list(cpus, CPUS_MAX);
	warp->cpu_count = cpus_spread(cpus, warp->allowed, WARP_CPU_MAX);
	memcpy(warp->cpus, cpus, warp->cpu_count * sizeof(*cpus));
	deadline = deadline_after(2 * job->duration_ns + WARP_EXTRA_NS + DEADLINE_SLACK_NS +
				  (int64_t)warp->cpu_count * SLACK_PER_CPU_NS);
	if (!warp->cpu_count)
		fact_set(&warp->fact, FACT_FAILED,
			"cannot read which CPUs are available to this process");
	else if (!child_run(warp_run_job, report_progress, job, &deadline, &why))
		warp->fact = why;
	if (fact_is_known(&warp->fact))
		return;
	/* A child that was killed may have left half of a result. */
	warp->worst.fact = warp->drift.fact = warp->fact;
	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		warp->results[id] =
			(struct warp_result){.name = warp->results[id].name, .fact = warp->fact};
}
