/* SPDX-License-Identifier: MIT */
/*
 * Contention: a clock that is read from a device (hpet, acpi_pm) is read by one CPU at a time,
 * which a single thread does not show. One thread makes the call, then N pinned ones do at the same
 * time, each counting its own calls and its own CPU time: a thread that waits for the device spins
 * in the kernel, and time in which another process had its CPU does not count.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>

#include "base/child.h"
#include "base/time.h"
#include "measure/cpus.h"
#include "model.h"

/* Calls between two looks at the flag; on a trapped device some milliseconds. */
#define CALLS_AT_ONCE 64

/* Runs alone and together alternate, so that both see the machine at its best. */
#define TURNS 4

#define LOOK_NS 5000000
#define SLACK_PER_THREAD_NS INT64_C(50000000)

/* One thread writes it; neighbouring cache lines are fetched in pairs. */
struct worker {
	pthread_t thread;
	uint64_t calls;
	int64_t start_ns, end_ns, cpu_ns;
} __attribute__((aligned(128)));

/* A child, which has its own copy, shares these with its threads. */
static const struct call *call;
static int64_t run_ns;
static _Atomic enum { WAIT, RUN, END } phase;
static struct worker workers[BENCH_THREADS_MAX];

static void *work(void *argument)
{
	struct worker *worker = argument;

	while (phase == WAIT)
		sched_yield();
	worker->start_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	worker->cpu_ns = -kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	do {
		call_repeat(call, CALLS_AT_ONCE);
		worker->calls += CALLS_AT_ONCE;
	} while (phase == RUN);
	worker->cpu_ns += kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	worker->end_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	return NULL;
}

/*
 * Runs the threads, and improves the result. All calls are divided by the time from the start of
 * the first thread to the end of the last: where more threads than CPUs take turns, the times of
 * the threads alone would count each CPU more than once.
 */
static bool run(
	const struct bench *bench, unsigned count, struct contention_result *best, struct fact *why)
{
	const struct bench_plan *plan = bench->plan;
	int64_t start_ns = INT64_MAX, end_ns = 0, cpu_ns = 0;
	uint64_t calls = 0;
	unsigned started = 0;

	phase = WAIT;
	for (; started < count; started++) {
		workers[started] = (struct worker){.calls = 0};
		if (!cpus_start_thread(&workers[started].thread,
			    plan->cpus[started % plan->thread_cpu_count], work, &workers[started],
			    why))
			break;
	}
	phase = started < count ? END : RUN;
	for (int64_t left = run_ns; left > 0 && phase == RUN && !bench->stop; left -= LOOK_NS)
		nanosleep(&(struct timespec){.tv_nsec = (long)(left < LOOK_NS ? left : LOOK_NS)},
			NULL);
	phase = END;
	for (unsigned i = 0; i < started; i++) {
		const struct worker *worker = &workers[i];

		pthread_join(worker->thread, NULL);
		start_ns = worker->start_ns < start_ns ? worker->start_ns : start_ns;
		end_ns = worker->end_ns > end_ns ? worker->end_ns : end_ns;
		cpu_ns += worker->cpu_ns;
		calls += worker->calls;
	}
	if (started < count)
		return false;
	if (start_ns <= 0 || end_ns <= start_ns || cpu_ns <= 0) {
		fact_set(why, FACT_DENIED, "reading the CPU time of a thread is refused");
		return false;
	}
	best->ns = fmin(best->ns > 0 ? best->ns : INFINITY, (double)cpu_ns / (double)calls);
	best->per_s =
		fmax(best->per_s, NS_PER_SECOND * (double)calls / (double)(end_ns - start_ns));
	return true;
}

static void take_turns(void *argument)
{
	struct bench *bench = argument;
	struct bench_contention *found = &bench->contentions[bench->contention_count];
	bool done = true;

	for (int turn = 0; turn < TURNS && !bench->stop && done; turn++, bench->done++)
		done = run(bench, 1, &found->alone, &found->fact) &&
		       run(bench, found->threads, &found->together, &found->fact);
	if (done && found->together.ns > 0)
		fact_set_known(&found->fact);
}

void bench_contention_all(struct bench *bench)
{
	const struct bench_plan *plan = bench->plan;
	size_t cpus = plan->thread_cpu_count;
	struct bench_contention *found = bench->contentions;

	bench->done = 0;
	bench->total = TURNS * bench_count_wanted(plan);
	run_ns = plan->time_ns / 2 / (int64_t)(bench->total ? bench->total : 1);
	for (size_t place = 0;
		!bench->stop && (call = bench_next(plan, &place, &found->subject));) {
		struct fact why = {0};
		struct deadline deadline = deadline_after(4 * TURNS * run_ns + DEADLINE_SLACK_NS +
							  plan->threads * SLACK_PER_THREAD_NS);

		found->threads = plan->threads;
		found->cpus = plan->threads < cpus ? plan->threads : (unsigned)cpus;
		fact_set(&found->fact, FACT_UNREAD, "stopped before it was measured");
		if (!call->function.any)
			fact_set(&found->fact, FACT_ABSENT, "not available here");
		else if (!child_run(take_turns, bench_show_progress, bench, &deadline, &why))
			found->fact = why;
		bench->done = TURNS * ++bench->contention_count;
		found++;
	}
	fact_set_known(&bench->fact);
}
