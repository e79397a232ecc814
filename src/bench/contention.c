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
#include <sys/resource.h>

#include "base/child.h"
#include "base/time.h"
#include "measure/cpus.h"
#include "measure/timebase.h"
#include "model.h"

/* A batch is short, since it is counted whole or not at all where a window ends within it. */
#define BATCH_NS 5000
#define BATCHES 16
#define WINDOW_NS 1000000
#define WINDOW_ROUNDS_LEAST 4 /* rounds of BATCHES each, however slow the call is */
#define WINDOWS_LEAST 3

/* On a machine too busy for undisturbed windows the run ends this much later. */
#define OVERRUN_NS 200000000

/* Workers may share a CPU, so each lengthens the deadline of a run by this. */
#define SLACK_PER_WORKER_NS 50000000

/* A worker that has not answered by then is not waited for. */
#define START_NS 2000000000

/* Runs alone and together alternate, so that both see the machine at its best. */
#define TURNS 4

/* One worker writes it; neighbouring cache lines are fetched in pairs. */
struct worker {
	size_t calls;
	unsigned sync;    /* the last request of worker 0 that it answered */
	long preemptions; /* involuntary context switches, at that answer */
} __attribute__((aligned(128)));

/* The memory that all workers share. */
struct shared {
	const struct contention *contention;
	volatile bool over;
	unsigned sync; /* request of worker 0 to report preemptions */
	int signal;    /* the call ended with it */
	struct contention_result result;
	struct worker workers[BENCH_THREADS_MAX];
};

/* Each worker is a process, with a copy of its own. */
static struct {
	struct shared *shared;
	unsigned index;
	struct timed_call timed;
	struct timebase timebase;
	uint64_t until; /* worker 0: the latest end of the run, in ticks */
} self;

/* ---- every worker ---- */

static bool is_over(void)
{
	return self.shared->over || *self.shared->contention->stop;
}

/* Makes some batches of calls; then answers worker 0, if it asks for the preemptions. */
static void make_calls(void)
{
	struct worker *worker = &self.shared->workers[self.index];
	unsigned sync;

	for (int i = 0; i < BATCHES; i++) {
		call_repeat(&self.timed.call, self.timed.iterations);
		__atomic_store_n(
			&worker->calls, worker->calls + self.timed.iterations, __ATOMIC_RELAXED);
	}
	sync = __atomic_load_n(&self.shared->sync, __ATOMIC_ACQUIRE);
	if (worker->sync != sync) {
		struct rusage usage = {.ru_nivcsw = 0};

		getrusage(RUSAGE_SELF, &usage);
		worker->preemptions = usage.ru_nivcsw;
		__atomic_store_n(&worker->sync, sync, __ATOMIC_RELEASE);
	}
}

/* ---- worker 0 ---- */

static bool may_continue(void)
{
	return !is_over() && (int64_t)(self.until - timebase_ticks(&self.timebase)) > 0;
}

/*
 * Waits, making calls, until every worker has reported its preemptions, and adds these up. False
 * if time is up.
 */
static bool sync_workers(long *preemptions)
{
	unsigned sync = self.shared->sync + 1;

	*preemptions = 0;
	__atomic_store_n(&self.shared->sync, sync, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < self.shared->contention->workers; i++) {
		const struct worker *worker = &self.shared->workers[i];

		while (__atomic_load_n(&worker->sync, __ATOMIC_ACQUIRE) != sync) {
			if (!may_continue())
				return false;
			make_calls();
		}
		*preemptions += worker->preemptions;
	}
	return true;
}

static size_t calls_of(size_t worker)
{
	return __atomic_load_n(&self.shared->workers[worker].calls, __ATOMIC_RELAXED);
}

/* Returns the result in ticks. A worker that got no CPU, or no lock, and made no call is left out.
 */
static struct contention_result take_window(uint64_t window_ticks)
{
	static size_t before[BENCH_THREADS_MAX];
	const struct contention *contention = self.shared->contention;
	size_t workers = contention->workers;
	size_t cpus = workers < contention->cpu_count ? workers : contention->cpu_count;
	uint64_t start = timebase_ticks(&self.timebase), ticks;
	size_t total = 0, fewest = SIZE_MAX, active = 0;
	int rounds = 0;

	for (size_t i = 0; i < workers; i++)
		before[i] = calls_of(i);
	do {
		make_calls();
		ticks = timebase_ticks(&self.timebase) - start;
		rounds++;
	} while (may_continue() && (rounds < WINDOW_ROUNDS_LEAST || ticks < window_ticks));
	for (size_t i = 0; i < workers; i++) {
		size_t calls = calls_of(i) - before[i];

		total += calls;
		active += calls > 0;
		if (calls > 0 && calls < fewest)
			fewest = calls;
	}
	if (!total)
		return (struct contention_result){0};
	return (struct contention_result){.ns = (double)ticks * (double)cpus / (double)total,
		.slowest_ns = (double)ticks * (double)cpus / (double)active / (double)fewest};
}

/* Finds the best window. Workers that share CPUs preempt each other: this disturbs no window. */
static void take_windows(struct contention_result *best)
{
	const struct contention *contention = self.shared->contention;
	bool share_cpus = contention->workers > contention->cpu_count;
	double ns_per_tick = timebase_ns_per_tick(&self.timebase);
	uint64_t run_ticks = (uint64_t)((double)contention->ns / ns_per_tick);
	uint64_t begin;
	long before = 0, after = 0;
	int good = 0;

	/* The first answers are the barrier at the start. */
	self.until = timebase_ticks(&self.timebase) + (uint64_t)(START_NS / ns_per_tick);
	sync_workers(&before);
	begin = timebase_ticks(&self.timebase);
	self.until = begin + run_ticks + (uint64_t)(OVERRUN_NS / ns_per_tick);
	while (may_continue() &&
		(good < WINDOWS_LEAST || timebase_ticks(&self.timebase) - begin < run_ticks)) {
		struct contention_result result = take_window((uint64_t)(WINDOW_NS / ns_per_tick));
		bool disturbed = !share_cpus && (!sync_workers(&after) || after != before);

		before = after;
		if (!disturbed && (!good++ || result.ns < best->ns))
			*best = result;
	}
	/* The timebase is most exact at the end. */
	ns_per_tick = timebase_ns_per_tick(&self.timebase);
	best->ns *= ns_per_tick;
	best->slowest_ns *= ns_per_tick;
}

/* ---- the run ---- */

static void work(void *argument)
{
	struct shared *shared = self.shared = argument;
	const struct contention *contention = shared->contention;

	cpus_pin(contention->cpus[self.index % contention->cpu_count]);
	self.timed = (struct timed_call){.call = *contention->call};
	if (timebase_start(&self.timebase, counter_probe(&(struct fact){0}))) {
		timed_call_calibrate(&self.timed, &self.timebase,
			(uint64_t)(BATCH_NS / timebase_ns_per_tick(&self.timebase)));
		if (self.timed.signal)
			shared->signal = self.timed.signal;
		else if (self.index == 0)
			take_windows(&shared->result);
		while (!is_over() && !self.timed.signal && self.index > 0)
			make_calls();
	}
	shared->over = true;
}

bool contention_measure(
	const struct contention *contention, struct contention_result *best, struct fact *why)
{
	struct shared *shared = child_share(sizeof(*shared), why);
	struct deadline deadline =
		deadline_after(2 * contention->ns + DEADLINE_SLACK_NS +
			       (int64_t)contention->workers * SLACK_PER_WORKER_NS);
	pid_t pids[BENCH_THREADS_MAX] = {0};
	bool well = true;

	if (!shared)
		return false;
	shared->contention = contention;
	for (unsigned i = 0; well && i < contention->workers; i++) {
		self.index = i;
		pids[i] = child_start(work, shared, &deadline, why);
		well = pids[i] > 0;
	}
	/* Worker 0 ends the run, or its deadline does; the first reason counts. */
	for (unsigned i = 0; i < contention->workers && pids[i] > 0; i++) {
		struct fact later = {0};

		shared->over = shared->over || !well;
		well = child_await(pids[i], NULL, NULL, &deadline, well ? why : &later) && well;
	}
	if (well && shared->signal) {
		fact_set(why, FACT_FAILED, "the call ends with %s",
			fault_signal_name(shared->signal));
		well = false;
	}
	if (well && shared->result.ns > 0 && (best->ns <= 0 || shared->result.ns < best->ns))
		*best = shared->result;
	child_unshare(shared, sizeof(*shared));
	return well;
}

/* ---- the planned calls ---- */

static void measure_call(
	struct bench *bench, struct contention *contention, struct bench_contention *found)
{
	if (!contention->call->function.any) {
		fact_set(&found->fact, FACT_ABSENT, "not available here");
		return;
	}
	for (int turn = 0; turn < TURNS && !bench->stop; turn++) {
		contention->workers = 1;
		if (!contention_measure(contention, &found->alone, &found->fact))
			return;
		contention->workers = found->threads;
		if (!contention_measure(contention, &found->together, &found->fact))
			return;
		bench->done++;
		bench_show_progress(bench);
	}
	if (found->alone.ns > 0 && found->together.ns > 0)
		fact_set_known(&found->fact);
	else if (bench->stop)
		fact_set(&found->fact, FACT_UNREAD, "stopped before it was measured");
	else
		fact_set(
			&found->fact, FACT_FAILED, "another process always ran on one of the CPUs");
}

void bench_contention_all(struct bench *bench)
{
	const struct bench_plan *plan = bench->plan;
	struct contention contention = {
		.cpus = plan->cpus, .cpu_count = plan->thread_cpu_count, .stop = &bench->stop};
	unsigned cpus = (unsigned)plan->thread_cpu_count;
	struct bench_subject subject;

	bench->done = 0;
	bench->total = TURNS * bench_count_wanted(plan);
	contention.ns = plan->time_ns / 2 / (int64_t)(bench->total ? bench->total : 1);
	bench_show_progress(bench);
	for (size_t place = 0;
		!bench->stop && (contention.call = bench_next(plan, &place, &subject));) {
		struct bench_contention *found = &bench->contentions[bench->contention_count++];

		found->subject = subject;
		found->threads = plan->threads;
		found->cpus = plan->threads < cpus ? plan->threads : cpus;
		measure_call(bench, &contention, found);
		bench->done = TURNS * bench->contention_count;
	}
	fact_set_known(&bench->fact);
}
