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

#define STACK_SIZE ((size_t)64 * 1024)
#define LOOK_NS 5000000
#define SLACK_PER_THREAD_NS 50000000

/* One thread writes it; neighbouring cache lines are fetched in pairs. */
struct worker {
	pthread_t thread;
	int cpu;
	uint64_t calls;
	double ns;    /* CPU time of a call */
	double per_s; /* calls in a second */
} __attribute__((aligned(128)));

/* A child, which has its own copy, shares these with its threads. */
static const struct call *call;
static int64_t run_ns;
static volatile enum { WAIT, RUN, END } phase;
static struct worker workers[BENCH_THREADS_MAX];

static void *work(void *argument)
{
	struct worker *worker = argument;
	int64_t start_ns, cpu_ns;

	cpus_pin(worker->cpu);
	while (phase == WAIT)
		sched_yield();
	start_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	cpu_ns = kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	do {
		call_repeat(call, CALLS_AT_ONCE);
		worker->calls += CALLS_AT_ONCE;
	} while (phase == RUN);
	cpu_ns = kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	start_ns = kernel_clock_ns(CLOCK_MONOTONIC) - start_ns;
	worker->ns = (double)cpu_ns / (double)worker->calls;
	worker->per_s = NS_PER_SECOND * (double)worker->calls / (double)start_ns;
	return NULL;
}

/* Runs the threads, and improves the result. Returns 0 or an errno value. */
static int run(const struct bench *bench, unsigned count, struct contention_result *best)
{
	const struct bench_plan *plan = bench->plan;
	struct contention_result result = {0};
	pthread_attr_t attributes;
	unsigned started = 0;
	int error = pthread_attr_init(&attributes);

	phase = WAIT;
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	while (started < count && !error) {
		struct worker *worker = &workers[started];

		*worker = (struct worker){.cpu = plan->cpus[started % plan->thread_cpu_count]};
		error = pthread_create(&worker->thread, &attributes, work, worker);
		started += !error;
	}
	phase = error ? END : RUN;
	for (int64_t left = run_ns; left > 0 && !error && !bench->stop; left -= LOOK_NS)
		nanosleep(&(struct timespec){.tv_nsec = (long)(left < LOOK_NS ? left : LOOK_NS)},
			NULL);
	phase = END;
	for (unsigned i = 0; i < started; i++) {
		pthread_join(workers[i].thread, NULL);
		result.ns += workers[i].ns / count;
		result.per_s += workers[i].per_s;
	}
	best->ns = best->ns > 0 ? fmin(best->ns, result.ns) : result.ns;
	best->per_s = fmax(best->per_s, result.per_s);
	return error;
}

static void take_turns(void *argument)
{
	struct bench *bench = argument;
	struct bench_contention *found = &bench->contentions[bench->contention_count];
	int error = 0;

	for (int turn = 0; turn < TURNS && !bench->stop && !error; turn++, bench->done++) {
		error = run(bench, 1, &found->alone);
		if (!error)
			error = run(bench, found->threads, &found->together);
	}
	if (error)
		fact_set_errno(&found->fact, error, "a thread");
	else if (found->together.ns > 0)
		fact_set_known(&found->fact);
	else if (!bench->stop)
		fact_set(&found->fact, FACT_DENIED, "reading the CPU time of a thread is refused");
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
