/* SPDX-License-Identifier: MIT */
#include "warp.h"

#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "measure/affinity.h"
#include "run.h"

#define NS_PER_SECOND 1000000000

/* The child's time beyond what it was asked for, on a machine that is very busy. */
#define GRACE_NS 30000000000

static size_t pairs_of(size_t cpus)
{
	return cpus * (cpus - 1) / 2;
}

static void choose_cpus(struct warp_evidence *warp)
{
	static int cpus[AFFINITY_CPU_MAX];

	warp->allowed = affinity_list(cpus, AFFINITY_CPU_MAX);
	warp->cpu_count = warp->allowed < WARP_CPU_MAX ? warp->allowed : WARP_CPU_MAX;
	for (size_t i = 0; i < warp->cpu_count; i++)
		warp->cpus[i] = cpus[i * warp->allowed / warp->cpu_count];
}

static void report_progress(void *argument)
{
	const struct warp_job *job = argument;
	double done = job->shared->done;

	job->setup->progress(job->setup->argument, done < 1 ? done : 1);
}

static void take_answer(const struct warp_shared *shared, struct warp_evidence *warp)
{
	size_t count = shared->warp.pair_count;

	*warp = shared->warp;
	warp->pairs = calloc(count ? count : 1, sizeof(*warp->pairs));
	if (!warp->pairs) {
		warp->pair_count = 0;
		fact_set(&warp->pair_fact, FACT_FAILED, "no memory for %zu pairs", count);
		return;
	}
	memcpy(warp->pairs, shared->pairs, count * sizeof(*warp->pairs));
}

static void run_child(struct warp_job *job, struct warp_evidence *warp)
{
	struct deadline deadline = deadline_after(job->setup->duration_ns + GRACE_NS);
	struct fact why = {0};

	job->shared->warp = *warp;
	if (child_watch(warp_run_job, job->setup->progress ? report_progress : NULL, job, &deadline,
		    &why))
		take_answer(job->shared, warp);
	else
		warp->fact = why;
}

void warp_measure(
	const struct call_table *calls, const struct warp_setup *setup, struct warp_evidence *warp)
{
	struct warp_job job = {.calls = calls, .setup = setup};
	size_t size;

	*warp = (struct warp_evidence){.fact.state = FACT_UNREAD};
	choose_cpus(warp);
	if (!warp->cpu_count) {
		fact_set(&warp->fact, FACT_FAILED, "the kernel does not say which CPUs we may use");
		return;
	}
	size = sizeof(*job.shared) + pairs_of(warp->cpu_count) * sizeof(struct warp_pair);
	job.shared = child_share(size, &warp->fact);
	if (!job.shared)
		return;
	run_child(&job, warp);
	child_unshare(job.shared, size);
}

void warp_release(struct warp_evidence *warp)
{
	free(warp->pairs);
	warp->pairs = NULL;
	warp->pair_count = 0;
}
