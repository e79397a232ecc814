/* SPDX-License-Identifier: MIT */
#include "crowd.h"

#include "gathering.h"

/* Alone and together in turn, so that both see the machine at its best. */
#define TURNS 4

_Static_assert(BENCH_THREADS_MAX <= GATHERING_THREADS_MAX, "a gathering has room for all");

struct job {
	struct gathering gathering;
	struct bench *bench;
	bench_progress *progress; /* may be NULL */
};

static void show(const struct job *job)
{
	if (job->progress)
		job->progress(job->bench);
}

/* False if it cannot be measured. A turn in which the machine was too busy tells nothing. */
static bool keep_least(
	const struct gathering *gathering, struct gathering_price *least, struct fact *why)
{
	struct gathering_price price = {0};

	if (!gathering_measure(gathering, &price, why))
		return false;
	if (price.ns > 0 && (least->ns <= 0 || price.ns < least->ns))
		*least = price;
	return true;
}

static bool measure_turns(struct job *job, struct bench_crowd *crowd)
{
	struct gathering *gathering = &job->gathering;
	struct gathering_price alone = {0}, together = {0};

	for (int turn = 0; turn < TURNS && !*gathering->stop; turn++) {
		gathering->threads = 1;
		if (!keep_least(gathering, &alone, &crowd->fact))
			return false;
		gathering->threads = crowd->threads;
		if (!keep_least(gathering, &together, &crowd->fact))
			return false;
		job->bench->done++;
		show(job);
	}
	crowd->alone_ns = alone.ns;
	crowd->together_ns = together.ns;
	crowd->slowest_ns = together.slowest_ns;
	return true;
}

static void measure_crowd(struct job *job, struct bench_crowd *crowd)
{
	if (!job->gathering.call->function.any)
		fact_set(&crowd->fact, FACT_ABSENT, "not available here");
	else if (!measure_turns(job, crowd))
		return; /* with the reason */
	else if (crowd->alone_ns > 0 && crowd->together_ns > 0)
		fact_set_known(&crowd->fact);
	else if (job->bench->stop)
		fact_set(&crowd->fact, FACT_UNREAD, "stopped before it was measured");
	else
		fact_set(&crowd->fact, FACT_FAILED, "other processes always had one of the CPUs");
}

static uint64_t count_subjects(const struct bench_plan *plan)
{
	struct bench_subject subject;
	const struct call *call;
	uint64_t count = 0;

	for (size_t at = 0; bench_next(plan, &at, &subject, &call);)
		count++;
	return count;
}

void bench_crowd_all(struct bench *bench, const struct bench_plan *plan, bench_progress *progress)
{
	struct job job = {.gathering = {.cpus = plan->cpus,
				  .cpu_count = plan->thread_cpu_count,
				  .stop = &bench->stop},
		.bench = bench,
		.progress = progress};

	bench->done = 0;
	bench->total = TURNS * count_subjects(plan);
	job.gathering.ns = plan->time_ns / 2 / (int64_t)(bench->total ? bench->total : 1);
	show(&job);
	for (size_t at = 0; !bench->stop; bench->done = TURNS * bench->crowd_count) {
		struct bench_crowd *crowd = &bench->crowds[bench->crowd_count];

		if (!bench_next(plan, &at, &crowd->subject, &job.gathering.call))
			break;
		bench->crowd_count++;
		crowd->threads = plan->threads;
		crowd->cpus = plan->threads < plan->thread_cpu_count
		                      ? plan->threads
		                      : (unsigned)plan->thread_cpu_count;
		measure_crowd(&job, crowd);
	}
	bench->stopped = bench->stop;
	fact_set_known(&bench->fact);
}
