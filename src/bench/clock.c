/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <string.h>

#include "base/child.h"
#include "base/fault.h"
#include "base/text.h"
#include "measure/cpus.h"

#define CHILD_NS 30000000000

struct job {
	struct bench *bench;
	const struct bench_plan *plan;
};

struct reading {
	const struct call *call;
	struct clock_granularity *step;
};

static void read_clock(void *argument)
{
	struct reading *reading = argument;

	clock_granularity_find(reading->call, reading->step);
}

/* By the vDSO if it serves the clock, else by libc: as programs do. */
static const struct call *usual_way(const struct call ways[PATH_COUNT])
{
	return ways[PATH_VDSO].function.any ? &ways[PATH_VDSO] : &ways[PATH_LIBC];
}

static bool is_wanted(const struct bench_plan *plan, size_t call)
{
	const bool *ways = plan->wanted[call];

	return strcmp(plan->calls->rows[call].call, "clock_gettime") == 0 &&
	       (ways[PATH_VDSO] || ways[PATH_LIBC] || ways[PATH_SYSCALL]);
}

static void find_all(void *argument)
{
	const struct job *job = argument;

	cpus_pin(sched_mark_take().cpu);
	for (size_t i = 0; i < job->plan->calls->count; i++) {
		struct bench_clock *clock = &job->bench->clocks[job->bench->clock_count];
		struct reading reading = {usual_way(job->plan->calls->rows[i].path), &clock->step};
		int signal;

		if (!is_wanted(job->plan, i) || job->bench->stop)
			continue;
		text_copy(clock->clock, sizeof(clock->clock), job->plan->calls->rows[i].clock);
		signal = fault_guard(read_clock, &reading);
		if (signal)
			fact_set(&clock->step.step_ns.fact, FACT_FAILED,
				"reading the clock ends with %s", fault_signal_name(signal));
		job->bench->clock_count++;
	}
}

void bench_clock_all(struct bench *bench, const struct bench_plan *plan)
{
	struct deadline deadline = deadline_after(CHILD_NS);
	struct job job = {bench, plan};
	struct fact why = {0};

	/* What it found before it was stopped stands. */
	child_run(find_all, &job, &deadline, &why);
}
