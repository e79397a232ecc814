/* SPDX-License-Identifier: MIT */
/*
 * Makes N calls in one go, and measures as time(1) does: real, user and system time.
 */
#include "model.h"

#include <sys/resource.h>

#include "base/child.h"
#include "base/time.h"

/* The stop flag is checked after this many calls: 0.3 ms of a fast call, 0.3 s on a slow Xen. */
#define SLICE 10000

/* A child, which has its own copy, makes this call. */
static const struct call *call;

static void make_calls(void *argument)
{
	struct bench *bench = argument;
	struct bench_run *run = &bench->runs[bench->run_count - 1];

	while (run->calls < run->wanted && !bench->stop) {
		uint64_t left = run->wanted - run->calls;
		size_t calls = left < SLICE ? (size_t)left : SLICE;

		call_repeat(call, calls);
		run->calls += calls;
		bench->done += calls;
	}
}

static void measure_run(struct bench *bench, struct bench_run *run)
{
	struct rusage before = {.ru_nvcsw = 0}, after = {.ru_nvcsw = 0};
	int64_t start_ns;
	int signal;

	if (!call->function.any) {
		fact_set(&run->fact, FACT_ABSENT, "not available here");
		return;
	}
	getrusage(RUSAGE_SELF, &before);
	start_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	signal = fault_guard(make_calls, bench);
	run->real_s = (double)(kernel_clock_ns(CLOCK_MONOTONIC) - start_ns) / NS_PER_SECOND;
	getrusage(RUSAGE_SELF, &after);
	run->user_s = timeval_seconds(after.ru_utime) - timeval_seconds(before.ru_utime);
	run->sys_s = timeval_seconds(after.ru_stime) - timeval_seconds(before.ru_stime);
	if (signal)
		fact_set(&run->fact, FACT_FAILED, "the call ends with %s",
			fault_signal_name(signal));
	else if (run->calls)
		fact_set_known(&run->fact);
}

static void measure_runs(void *argument)
{
	struct bench *bench = argument;
	const struct bench_plan *plan = bench->plan;
	struct bench_subject subject;

	for (size_t place = 0; (call = bench_next(plan, &place, &subject));) {
		for (size_t i = 0; i < plan->count_count && !bench->stop; i++) {
			struct bench_run *run = &bench->runs[bench->run_count++];

			*run = (struct bench_run){.subject = subject, .wanted = plan->counts[i]};
			fact_set(&run->fact, FACT_UNREAD, "stopped before it was done");
			measure_run(bench, run);
		}
	}
}

void bench_count_all(struct bench *bench)
{
	const struct bench_plan *plan = bench->plan;

	bench->done = bench->total = 0;
	for (size_t i = 0; i < plan->count_count; i++)
		bench->total += plan->counts[i] * bench_count_wanted(plan);
	/* Ctrl-C ends the run, which has no deadline. */
	child_run(measure_runs, bench_show_progress, bench, DEADLINE_NONE, &bench->fact);
}
