/* SPDX-License-Identifier: MIT */
/*
 * The command warp: its row and options, and the parent of the child that reads the clocks. The
 * clocks are read in a child because a thread is pinned to each CPU there, a clock may raise a
 * signal when it is read, and all memory is released by its end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "collect.h"
#include "commands.h"
#include "measure/call.h"
#include "measure/cpus.h"
#include "measure/vdso.h"
#include "model.h"

/* The start of a thread on each CPU may take this time of its own. */
#define SLACK_PER_CPU_NS 50000000

static bool report_progress(void *argument)
{
	const struct warp_job *job = argument;
	double done = job->shared->done;

	job->setup->progress(done < 1 ? done : 1);
	return false;
}

static void run_child(struct warp_job *job, struct warp_evidence *warp)
{
	size_t pairs_size = warp->cpu_count * (warp->cpu_count - 1) / 2 * sizeof(*warp->pairs);
	size_t size = sizeof(*job->shared) + pairs_size;
	struct deadline deadline =
		deadline_after(2 * job->setup->duration_ns + WARP_EXTRA_NS + DEADLINE_SLACK_NS +
			       (int64_t)warp->cpu_count * SLACK_PER_CPU_NS);
	struct fact why = {0};

	job->shared = child_share(size, &warp->fact);
	if (!job->shared)
		return;
	job->shared->warp = *warp;
	if (child_watch(warp_run_job, job->setup->progress ? report_progress : NULL, job, &deadline,
		    &why)) {
		*warp = job->shared->warp;
		warp->pairs = xmalloc(pairs_size);
		memcpy(warp->pairs, job->shared->pairs, pairs_size);
	} else {
		warp->fact = why;
	}
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
		run_child(&job, warp);
	else
		fact_set(&warp->fact, FACT_FAILED,
			"cannot read which CPUs are available to this process");
	if (fact_is_known(&warp->fact))
		return;
	warp->pair_fact = warp->drift.fact = warp->fact;
	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		warp->results[id].fact = warp->fact;
}

bool warp_measure_shown(const struct cli *cli, const char *doing, const struct call_table *calls,
	unsigned clocks, struct warp_evidence *warp)
{
	struct fact why = {0};
	volatile bool *stop = child_share(sizeof(*stop), &why);
	struct warp_setup setup = {.duration_ns = cli->duration_ns,
		.clocks = clocks,
		.stop = stop,
		.progress = progress_show};

	if (!stop)
		return cli_error("cannot measure: %s", why.reason);
	work_begin(cli, doing, stop);
	warp_measure(calls, &setup, warp);
	work_end();
	child_unshare((void *)(uintptr_t)stop, sizeof(*stop));
	return true;
}

void warp_release(struct warp_evidence *warp)
{
	free(warp->pairs);
	warp->pairs = NULL;
	warp->pair_count = 0;
}

static int warp_run(struct cli *cli)
{
	static struct warp_evidence warp;
	struct vdso_evidence vdso = {0};
	struct vdso_image image;
	struct call_table calls;
	struct warp_verdict verdict;
	struct timestamp_evidence timestamp = {0};
	struct warp_report report = {.warp = &warp, .verdict = &verdict, .timestamp = &timestamp};

	privileges_keep(PRIVILEGES_WRITE);
	timestamp_collect(&cli->root, &timestamp, &cli->deadline);
	vdso_collect(&cli->root, &vdso, &image);
	call_table_make(&vdso, &image, &calls, &cli->deadline);
	if (!warp_measure_shown(
		    cli, "reading the clocks on all CPUs", &calls, WARP_ALL_CLOCKS, &warp))
		return EXIT_TROUBLE;
	warp_judge(&warp, &verdict);
	verdict.exit_status = interrupt_status(verdict.exit_status);
	cli_print(cli, &report);
	warp_release(&warp);
	return verdict.exit_status;
}

static const struct option_row options[] = {
	{'d', "duration", "TIME", "test for TIME: 2 (the default), 0.5, 500ms, 5m"},
	{0},
};

static const struct format formats[] = {
	{.name = "text", .write = warp_report_text},
	{.name = "json", .write = warp_report_json},
	{0},
};

const struct command warp_command = {
	.name = "warp",
	.summary = "test whether clocks run backwards between CPUs",
	.help = "Reads the clocks on all CPUs at the same time and reports whether any clock ever "
		"returns an earlier time than one already read on another CPU, whether the vDSO "
		"and the kernel agree, and how far apart the CPUs' counters are. Keeps all allowed "
		"CPUs busy while it runs; needs no privileges. Ctrl-C ends the test early and "
		"prints its result.",
	.status =
		"0 no clock ran backwards, 1 a clock did, 2 undetermined, 3 usage error or failed "
		"output, 130 interrupted.",
	.options = options,
	.formats = formats,
	.run = warp_run,
	.duration_ns = 2 * NS_PER_SECOND,
};
