/* SPDX-License-Identifier: MIT */
/*
 * Contention: a clock that is read from a device (hpet, acpi_pm) is read by one CPU at a time,
 * which a single thread does not show.
 *
 * N workers, each pinned to a CPU, make the same call and count their calls. They are processes:
 * the kernel's locks are the same for both. Worker 0 takes the time as well, since a coordinator
 * of its own would take a CPU from a worker: it reads all counts at the start and at the end of a
 * window of a millisecond, and the best window is the result. A window in which a worker lost its
 * CPU to another process is discarded: the others had the device to themselves in it.
 */

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "base/child.h"
#include "base/time.h"
#include "measure/counter.h"
#include "measure/cpus.h"
#include "measure/sampler.h"
#include "measure/timebase.h"
#include "model.h"

/* A batch is short, since one that a window's end cuts is counted whole or not at all. */
#define BATCH_NS 5000
#define BATCHES 16
#define WINDOW_NS 1000000
#define WINDOW_ROUNDS_LEAST 4 /* of BATCHES each, however slow the call is */
#define WINDOWS_LEAST 3

/* On a machine too busy for undisturbed windows the run ends so much later. */
#define OVERRUN_NS 200000000

/* Beyond twice the time and DEADLINE_SLACK_NS: for workers that share a CPU. */
#define SLACK_PER_WORKER_NS 50000000

/* A worker that is not ready by then is not waited for. */
#define START_NS 2000000000

/* Alone and together in turn, so that both see the machine at its best. */
#define TURNS 4

/* Written by one worker; neighbouring cache lines are fetched in pairs. */
struct worker {
	size_t calls;
	unsigned sync;    /* the last request of worker 0 that it answered */
	long preemptions; /* involuntary context switches, as of that answer */
} __attribute__((aligned(128)));

/* In memory that all workers share. */
struct shared {
	const struct contention *contention;
	volatile bool over;
	unsigned ready;
	unsigned sync; /* request of worker 0 to report preemptions; 0: not started yet */
	int signal;    /* the call ended with it */
	struct contention_result result;
	struct worker workers[BENCH_THREADS_MAX];
};

struct start {
	struct shared *shared;
	unsigned index;
	int cpu;
};

/* All counts at one moment. */
struct snapshot {
	uint64_t ticks; /* by the counter of worker 0's CPU */
	size_t calls[BENCH_THREADS_MAX];
	long preemptions[BENCH_THREADS_MAX];
};

/* Worker 0, which also starts and ends the windows, and what it needs for that. */
struct coordinator {
	struct shared *shared;
	const struct timed_call *one;
	const struct timebase *timebase;
	uint64_t until; /* in ticks: the latest end of the run */
	struct snapshot start, end;
};

static bool is_over(const struct shared *shared)
{
	return shared->over || *shared->contention->stop;
}

/* Some batches; then answers worker 0, if it asks whether this worker lost its CPU. */
static void make_calls(const struct timed_call *one, struct shared *shared, struct worker *worker)
{
	unsigned sync;

	for (int i = 0; i < BATCHES; i++) {
		call_repeat(&one->call, one->iterations);
		__atomic_store_n(&worker->calls, worker->calls + one->iterations, __ATOMIC_RELAXED);
	}
	sync = __atomic_load_n(&shared->sync, __ATOMIC_ACQUIRE);
	if (worker->sync != sync) {
		struct rusage usage = {.ru_nivcsw = 0};

		getrusage(RUSAGE_SELF, &usage);
		worker->preemptions = usage.ru_nivcsw;
		__atomic_store_n(&worker->sync, sync, __ATOMIC_RELEASE);
	}
}

static void make_own_calls(const struct coordinator *coordinator)
{
	make_calls(coordinator->one, coordinator->shared, &coordinator->shared->workers[0]);
}

static bool may_continue(const struct coordinator *coordinator)
{
	return !is_over(coordinator->shared) &&
	       (int64_t)(coordinator->until - timebase_ticks(coordinator->timebase)) > 0;
}

/* Waits, making calls, until every worker has reported its preemptions; false if time is up. */
static bool sync_workers(const struct coordinator *coordinator)
{
	struct shared *shared = coordinator->shared;
	unsigned sync = shared->sync + 1;

	__atomic_store_n(&shared->sync, sync, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < shared->contention->workers; i++) {
		while (__atomic_load_n(&shared->workers[i].sync, __ATOMIC_ACQUIRE) != sync) {
			if (!may_continue(coordinator))
				return false;
			make_own_calls(coordinator);
		}
	}
	return true;
}

static void take_snapshot(const struct coordinator *coordinator, struct snapshot *snapshot)
{
	const struct shared *shared = coordinator->shared;

	snapshot->ticks = timebase_ticks(coordinator->timebase);
	for (unsigned i = 0; i < shared->contention->workers; i++) {
		snapshot->calls[i] = __atomic_load_n(&shared->workers[i].calls, __ATOMIC_RELAXED);
		snapshot->preemptions[i] = shared->workers[i].preemptions;
	}
}

/* In ticks. A worker that made no call, for want of a CPU or of a lock, is left out. */
static struct contention_result result_of_window(const struct coordinator *coordinator)
{
	const struct contention *contention = coordinator->shared->contention;
	size_t workers = contention->workers;
	size_t cpus = workers < contention->cpu_count ? workers : contention->cpu_count;
	double ticks = (double)(coordinator->end.ticks - coordinator->start.ticks) * (double)cpus;
	size_t all = 0, fewest = SIZE_MAX, active = 0;

	for (size_t i = 0; i < workers; i++) {
		size_t calls = coordinator->end.calls[i] - coordinator->start.calls[i];

		all += calls;
		active += calls > 0;
		if (calls > 0 && calls < fewest)
			fewest = calls;
	}
	if (!all)
		return (struct contention_result){0};
	return (struct contention_result){
		.ns = ticks / (double)all, .slowest_ns = ticks / (double)active / (double)fewest};
}

/* False if the window was disturbed. More workers than CPUs take turns: this does not count. */
static bool take_window(
	struct coordinator *coordinator, uint64_t window_ticks, struct contention_result *result)
{
	const struct shared *shared = coordinator->shared;
	unsigned workers = shared->contention->workers;
	int rounds = 0;

	take_snapshot(coordinator, &coordinator->start);
	do {
		make_own_calls(coordinator);
		take_snapshot(coordinator, &coordinator->end);
	} while ((++rounds < WINDOW_ROUNDS_LEAST ||
			 coordinator->end.ticks - coordinator->start.ticks < window_ticks) &&
		 may_continue(coordinator));
	*result = result_of_window(coordinator);
	if (workers > shared->contention->cpu_count)
		return true;
	if (!sync_workers(coordinator))
		return false;
	for (unsigned i = 0; i < workers; i++) {
		if (shared->workers[i].preemptions != coordinator->start.preemptions[i])
			return false;
	}
	return true;
}

/* The best window, converted by a timebase that is most exact at the end. */
static void take_windows(struct shared *shared, const struct timed_call *one,
	const struct timebase *timebase, struct contention_result *best)
{
	static struct coordinator coordinator;
	double ns_per_tick = timebase_ns_per_tick(timebase);
	uint64_t window_ticks = (uint64_t)(WINDOW_NS / ns_per_tick);
	uint64_t run_ticks = (uint64_t)((double)shared->contention->ns / ns_per_tick);
	uint64_t begin = timebase_ticks(timebase);
	struct contention_result result;
	int good = 0;

	coordinator = (struct coordinator){.shared = shared, .one = one, .timebase = timebase};
	coordinator.until = begin + run_ticks + (uint64_t)(OVERRUN_NS / ns_per_tick);
	__atomic_store_n(&shared->sync, 1, __ATOMIC_RELEASE);
	if (shared->contention->workers <= shared->contention->cpu_count)
		sync_workers(&coordinator);
	while (may_continue(&coordinator)) {
		if (good >= WINDOWS_LEAST && timebase_ticks(timebase) - begin >= run_ticks)
			break;
		if (!take_window(&coordinator, window_ticks, &result))
			continue;
		if (!good++ || result.ns < best->ns)
			*best = result;
	}
	ns_per_tick = timebase_ns_per_tick(timebase);
	best->ns *= ns_per_tick;
	best->slowest_ns *= ns_per_tick;
}

/* The barrier at the start: worker 0's first request releases the others. */
static void await_start(struct shared *shared, unsigned index)
{
	int64_t until = kernel_clock_ns(CLOCK_MONOTONIC) + START_NS;

	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	while (!is_over(shared)) {
		if (index > 0 && __atomic_load_n(&shared->sync, __ATOMIC_ACQUIRE))
			break;
		if (index == 0 && (__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) >=
						  shared->contention->workers ||
					  kernel_clock_ns(CLOCK_MONOTONIC) >= until))
			break;
		sched_yield();
	}
}

static void work(void *argument)
{
	const struct start *start = argument;
	struct shared *shared = start->shared;
	struct timed_call one = {.call = *shared->contention->call};
	struct timebase timebase;

	cpus_pin(start->cpu);
	if (timebase_start(&timebase, counter_is_readable())) {
		timed_call_calibrate(
			&one, &timebase, (uint64_t)(BATCH_NS / timebase_ns_per_tick(&timebase)));
		if (one.signal) {
			shared->signal = one.signal;
		} else {
			await_start(shared, start->index);
			if (start->index == 0)
				take_windows(shared, &one, &timebase, &shared->result);
			while (start->index > 0 && !is_over(shared))
				make_calls(&one, shared, &shared->workers[start->index]);
		}
	}
	shared->over = true;
}

/* The parent's wait for the workers. */
struct crew {
	struct shared *shared;
	const struct deadline *deadline;
	pid_t pids[BENCH_THREADS_MAX]; /* 0: it has ended */
	unsigned left;
	struct fact why; /* of the first worker that did not reach its end */
	bool well;
};

/* A worker that dies ends the run: the others wait for its answers. */
static bool note_end(void *argument, pid_t pid, int status, const struct rusage *usage)
{
	struct crew *crew = argument;

	(void)usage;
	for (unsigned i = 0; i < crew->shared->contention->workers; i++) {
		if (crew->pids[i] != pid)
			continue;
		crew->pids[i] = 0;
		crew->left--;
		crew->well = crew->well && child_judge(status, crew->deadline, &crew->why);
	}
	crew->shared->over = crew->shared->over || !crew->well;
	return !crew->left;
}

/* At the deadline those that are stopped, whose timers do not end them, are killed. */
static void await_workers(struct crew *crew)
{
	int error = crew->left ? child_wait(&(struct child_wait){.pid = -1,
					 .deadline = crew->deadline,
					 .changed = note_end,
					 .argument = crew})
	                       : 0;

	if (!error)
		return;
	if (error != ETIMEDOUT)
		fact_set_errno(&crew->why, error, CHILD_WAIT);
	else if (crew->well)
		child_judge(SIGALRM, crew->deadline, &crew->why); /* as from the timer */
	crew->well = false;
	crew->shared->over = true;
	for (unsigned i = 0; i < crew->shared->contention->workers; i++) {
		if (crew->pids[i])
			child_end(crew->pids[i], crew->deadline);
	}
}

bool contention_measure(
	const struct contention *contention, struct contention_result *result, struct fact *why)
{
	struct shared *shared = child_share(sizeof(*shared), why);
	struct deadline deadline = deadline_within(
		&contention->deadline, 2 * contention->ns + DEADLINE_SLACK_NS +
					       (int64_t)contention->workers * SLACK_PER_WORKER_NS);
	struct crew crew = {.deadline = &deadline, .well = true};

	if (!shared)
		return false;
	shared->contention = contention;
	crew.shared = shared;
	for (unsigned i = 0; i < contention->workers && !shared->over; i++) {
		struct start start = {shared, i, contention->cpus[i % contention->cpu_count]};
		pid_t pid = child_start(work, &start, &deadline, &crew.why);

		if (pid < 0) {
			crew.well = false;
			shared->over = true;
		} else {
			crew.pids[i] = pid;
			crew.left++;
		}
	}
	await_workers(&crew);
	if (crew.well && shared->signal) {
		fact_set(&crew.why, FACT_FAILED, "the call ends with %s",
			fault_signal_name(shared->signal));
		crew.well = false;
	}
	if (!crew.well)
		*why = crew.why;
	*result = shared->result;
	child_unshare(shared, sizeof(*shared));
	return crew.well;
}

/* ---- the planned calls ---- */

/* False with the reason if it cannot be measured. Without a good window *least stays. */
static bool keep_least(
	const struct contention *contention, struct contention_result *least, struct fact *why)
{
	struct contention_result result = {0};

	if (!contention_measure(contention, &result, why))
		return false;
	if (result.ns > 0 && (least->ns <= 0 || result.ns < least->ns))
		*least = result;
	return true;
}

static void measure_call(struct bench *bench, struct contention *contention,
	struct bench_contention *found, bench_progress *progress)
{
	struct contention_result alone = {0}, together = {0};

	if (!contention->call->function.any) {
		fact_set(&found->fact, FACT_ABSENT, "not available here");
		return;
	}
	for (int turn = 0; turn < TURNS && !bench->stop; turn++) {
		contention->workers = 1;
		if (!keep_least(contention, &alone, &found->fact))
			return;
		contention->workers = found->threads;
		if (!keep_least(contention, &together, &found->fact))
			return;
		bench->done++;
		if (progress)
			progress(bench);
	}
	found->alone_ns = alone.ns;
	found->together_ns = together.ns;
	found->slowest_ns = together.slowest_ns;
	if (alone.ns > 0 && together.ns > 0)
		fact_set_known(&found->fact);
	else if (bench->stop)
		fact_set(&found->fact, FACT_UNREAD, "stopped before it was measured");
	else
		fact_set(
			&found->fact, FACT_FAILED, "another process always ran on one of the CPUs");
}

void bench_contention_all(struct bench *bench, bench_progress *progress)
{
	const struct bench_plan *plan = bench->plan;
	struct contention contention = {
		.cpus = plan->cpus, .cpu_count = plan->thread_cpu_count, .stop = &bench->stop};
	size_t cpus = plan->thread_cpu_count;

	bench->done = 0;
	bench->total = TURNS * bench_count_wanted(plan);
	contention.ns = plan->time_ns / 2 / (int64_t)(bench->total ? bench->total : 1);
	contention.deadline = deadline_after(
		2 * (plan->time_ns + DEADLINE_SLACK_NS +
			    (int64_t)bench->total * plan->threads * SLACK_PER_WORKER_NS));
	if (progress)
		progress(bench);
	for (size_t at = 0; !bench->stop; bench->done = TURNS * bench->contention_count) {
		struct bench_contention *found = &bench->contentions[bench->contention_count];

		if (!bench_next(plan, &at, &found->subject, &contention.call))
			break;
		bench->contention_count++;
		found->threads = plan->threads;
		found->cpus = plan->threads < cpus ? plan->threads : (unsigned)cpus;
		measure_call(bench, &contention, found, progress);
	}
	bench->stopped = bench->stop;
	fact_set_known(&bench->fact);
}
