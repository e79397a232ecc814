/* SPDX-License-Identifier: MIT */
/*
 * N calls in one go, measured as time(1) does: real, user and system time.
 */
#include "model.h"

#include <sys/resource.h>
#include <time.h>

#include "base/child.h"
#include "base/time.h"
#include "measure/cpus.h"

/* The stop flag is checked after as many calls: 0.3 ms of a fast call, 0.3 s of a Xen one. */
#define SLICE 10000

struct counting {
	struct bench *bench;
	struct bench_count *run;
	const struct call *call;
};

/* Time that the process had used at one moment, in seconds. */
struct usage {
	double real;
	double user;
	double sys;
};

static struct usage usage_now(void)
{
	struct usage now = {
		.real = (double)kernel_clock_ns(CLOCK_MONOTONIC) / (double)NS_PER_SECOND};
	struct rusage used;

	if (getrusage(RUSAGE_SELF, &used) == 0) {
		now.user = timeval_seconds(used.ru_utime);
		now.sys = timeval_seconds(used.ru_stime);
	}
	return now;
}

static void make_calls(void *argument)
{
	struct counting *counting = argument;
	struct bench_count *run = counting->run;

	while (run->calls < run->wanted && !counting->bench->stop) {
		uint64_t left = run->wanted - run->calls;
		size_t calls = left < SLICE ? (size_t)left : SLICE;

		call_repeat(counting->call, calls);
		run->calls += calls;
		counting->bench->done += calls;
	}
}

static void measure_run(struct counting *counting)
{
	struct bench_count *run = counting->run;
	struct usage start, end;
	int signal;

	if (!counting->call->function.any) {
		fact_set(&run->fact, FACT_ABSENT, "not available here");
		return;
	}
	start = usage_now();
	signal = fault_guard(make_calls, counting);
	end = usage_now();
	if (signal) {
		fact_set(&run->fact, FACT_FAILED, "the call ends with %s",
			fault_signal_name(signal));
		return;
	}
	run->real_s = end.real - start.real;
	run->user_s = end.user - start.user;
	run->sys_s = end.sys - start.sys;
	fact_set_known(&run->fact);
}

static void measure_on(struct bench *bench, int cpu)
{
	struct bench_subject subject;
	struct counting counting = {.bench = bench};

	for (size_t at = 0; bench_next(bench->plan, &at, &subject, &counting.call);) {
		for (size_t i = 0; i < bench->plan->count_count && !bench->stop; i++) {
			counting.run = &bench->runs[bench->run_count++];
			counting.run->subject = subject;
			counting.run->cpu = cpu;
			counting.run->wanted = bench->plan->counts[i];
			measure_run(&counting);
		}
	}
}

static void measure(void *argument)
{
	struct bench *bench = argument;
	const struct bench_plan *plan = bench->plan;

	if (!plan->cpu_count)
		measure_on(bench, -1);
	for (size_t i = 0; i < plan->cpu_count; i++)
		measure_on(bench, cpus_pin(plan->cpus[i]) ? plan->cpus[i] : -1);
}

void bench_count_all(struct bench *bench, bench_progress *progress)
{
	const struct bench_plan *plan = bench->plan;
	struct fact why = {0};

	bench->done = bench->total = 0;
	for (size_t i = 0; i < plan->count_count; i++)
		bench->total += plan->counts[i] * bench_count_wanted(plan) *
		                (plan->cpu_count ? plan->cpu_count : 1);
	/* There is no deadline: Ctrl-C ends the run. */
	if (!child_watch(measure, progress, bench, DEADLINE_NONE, &why))
		bench->fact = why;
	else
		fact_set_known(&bench->fact);
	bench->stopped = bench->stop;
}
