/* SPDX-License-Identifier: MIT */
/*
 * The parent of the child that reads the clocks: a thread is pinned to each CPU there, a clock may
 * raise a signal when it is read, and all memory is released by its end.
 */
#include <string.h>

#include "base/child.h"
#include "measure/call.h"
#include "measure/cpus.h"
#include "model.h"

/* The start of a thread on each CPU may take this time of its own. */
#define SLACK_PER_CPU_NS 50000000

static bool report_progress(void *argument)
{
	const struct warp_job *job = argument;
	double done = job->shared->done;

	progress_show(done < 1 ? done : 1);
	return false;
}

static void warp_run_child(struct warp_job *job, struct warp_evidence *warp)
{
	size_t size = sizeof(*job->shared);
	struct deadline deadline =
		deadline_after(2 * job->setup->duration_ns + WARP_EXTRA_NS + DEADLINE_SLACK_NS +
			       (int64_t)warp->cpu_count * SLACK_PER_CPU_NS);
	struct fact why = {0};

	job->shared = child_share(size, &warp->fact);
	if (!job->shared)
		return;
	job->shared->warp = *warp;
	if (child_run(warp_run_job, report_progress, job, &deadline, &why))
		*warp = job->shared->warp;
	else
		warp->fact = why;
	child_unshare(job->shared, size);
}

void warp_measure(
	const struct call_table *calls, const struct warp_setup *setup, struct warp_evidence *warp)
{
	int cpus[CPUS_MAX];
	struct warp_job job = {.calls = calls, .setup = setup};

	*warp = (struct warp_evidence){.fact.state = FACT_UNREAD};
	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		warp->results[id].name = warp_clock_name((enum warp_clock_id)id);
	warp->allowed = cpus_list(cpus, CPUS_MAX);
	warp->cpu_count = cpus_spread(cpus, warp->allowed, WARP_CPU_MAX);
	memcpy(warp->cpus, cpus, warp->cpu_count * sizeof(*cpus));
	if (warp->cpu_count)
		warp_run_child(&job, warp);
	else
		fact_set(&warp->fact, FACT_FAILED,
			"cannot read which CPUs are available to this process");
	if (fact_is_known(&warp->fact))
		return;
	warp->worst.fact = warp->drift.fact = warp->fact;
	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		warp->results[id].fact = warp->fact;
}
