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
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/child.h"
#include "base/time.h"
#include "measure/cpus.h"
#include "measure/sampler.h"
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
	volatile size_t calls;
	atomic_uint sync; /* the last request of worker 0 that it answered */
	long preemptions; /* involuntary context switches, stored before that answer */
} __attribute__((aligned(128)));

/* The memory that all workers share. */
struct shared {
	volatile bool over;
	atomic_uint sync; /* request of worker 0 to report preemptions */
	struct fact why;  /* the reason of a worker that cannot make calls */
	struct contention_result result;
	struct worker workers[BENCH_THREADS_MAX];
};

/* Each worker is a process, with a copy of its own. */
static struct {
	const struct contention *contention;
	struct shared *shared;
	struct worker *worker;
	struct timed_call timed;
	struct sampler sampler;
	uint64_t until; /* the latest end of the run, in ticks */
} self;

/* ---- every worker ---- */

static bool may_continue(void)
{
	return !self.shared->over && !*self.contention->stop &&
	       (int64_t)(self.until - timebase_ticks(&self.sampler.timebase)) > 0;
}

/* Makes some batches of calls; then answers worker 0, if it asks for the preemptions. */
static void make_calls(void)
{
	struct worker *worker = self.worker;
	unsigned sync;

	for (int i = 0; i < BATCHES; i++) {
		call_repeat(&self.timed.call, self.timed.iterations);
		worker->calls = worker->calls + self.timed.iterations;
	}
	sync = self.shared->sync;
	if (worker->sync != sync) {
		struct rusage usage = {.ru_nivcsw = 0};

		getrusage(RUSAGE_SELF, &usage);
		worker->preemptions = usage.ru_nivcsw;
		worker->sync = sync;
	}
}

/* ---- worker 0 ---- */

/*
 * Waits, making calls, until every worker has reported its preemptions, and adds these up. False
 * if time is up.
 */
static bool sync_workers(long *preemptions)
{
	unsigned sync = ++self.shared->sync;

	*preemptions = 0;
	for (unsigned i = 0; i < self.contention->workers; i++) {
		while (self.shared->workers[i].sync != sync) {
			if (!may_continue())
				return false;
			make_calls();
		}
		*preemptions += self.shared->workers[i].preemptions;
	}
	return true;
}

/*
 * Returns the result in ticks. Worker 0 makes calls in each window; another one that got no CPU, or
 * no lock, and made none is left out.
 */
static struct contention_result take_window(uint64_t window_ticks)
{
	static size_t before[BENCH_THREADS_MAX];
	const struct worker *list = self.shared->workers;
	size_t workers = self.contention->workers, cpus = self.contention->cpu_count;
	uint64_t start = timebase_ticks(&self.sampler.timebase), ticks = 0;
	size_t total = 0, fewest = SIZE_MAX, active = 0;
	double cpu_ticks;

	for (size_t i = 0; i < workers; i++)
		before[i] = list[i].calls;
	for (int rounds = 0; rounds < WINDOW_ROUNDS_LEAST || ticks < window_ticks; rounds++) {
		make_calls();
		ticks = timebase_ticks(&self.sampler.timebase) - start;
		if (!may_continue())
			break;
	}
	for (size_t i = 0; i < workers; i++) {
		size_t calls = list[i].calls - before[i];

		total += calls;
		active += calls > 0;
		if (calls > 0 && calls < fewest)
			fewest = calls;
	}
	cpu_ticks = (double)ticks * (double)(workers < cpus ? workers : cpus);
	return (struct contention_result){
		cpu_ticks / (double)total, cpu_ticks / (double)active / (double)fewest};
}

/* Finds the best window. Workers that share CPUs preempt each other: this disturbs no window. */
static void take_windows(struct contention_result *best)
{
	const struct contention *contention = self.contention;
	const struct timebase *timebase = &self.sampler.timebase;
	bool share_cpus = contention->workers > contention->cpu_count;
	double ns_per_tick = timebase_ns_per_tick(timebase);
	uint64_t run_ticks = (uint64_t)((double)contention->ns / ns_per_tick), begin;
	long before = 0, after = 0;
	int good = 0;

	/* The first answers are the barrier at the start. */
	self.until = timebase_ticks(timebase) + (uint64_t)(START_NS / ns_per_tick);
	sync_workers(&before);
	begin = timebase_ticks(timebase);
	self.until = begin + run_ticks + (uint64_t)(OVERRUN_NS / ns_per_tick);
	while (may_continue() &&
		(good < WINDOWS_LEAST || timebase_ticks(timebase) - begin < run_ticks)) {
		struct contention_result result = take_window((uint64_t)(WINDOW_NS / ns_per_tick));
		bool disturbed = !share_cpus && (!sync_workers(&after) || after != before);

		before = after;
		if (!disturbed && (!good++ || result.ns < best->ns))
			*best = result;
	}
	/* The timebase is most exact at the end. */
	ns_per_tick = timebase_ns_per_tick(timebase);
	best->ns *= ns_per_tick;
	best->slowest_ns *= ns_per_tick;
}

/* ---- the run ---- */

static void work(void *index)
{
	const struct contention *contention = self.contention;
	struct shared *shared = self.shared;
	unsigned number = *(unsigned *)index;

	cpus_pin(contention->cpus[number % contention->cpu_count]);
	self.worker = &shared->workers[number];
	self.timed.call = *contention->call;
	self.sampler.cases = &self.timed;
	self.sampler.count = 1;
	if (sampler_start(&self.sampler, BATCH_NS, &shared->why)) {
		self.until = timebase_ticks(&self.sampler.timebase) + INT64_MAX;
		if (self.timed.signal)
			fact_set(&shared->why, FACT_FAILED, "the call ends with %s",
				fault_signal_name(self.timed.signal));
		else if (number == 0)
			take_windows(&shared->result);
		else
			while (may_continue())
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
	self.contention = contention;
	self.shared = shared;
	for (unsigned i = 0; well && i < contention->workers; i++) {
		pids[i] = child_start(work, &i, &deadline, why);
		well = pids[i] > 0;
	}
	/* Worker 0 ends the run, or its deadline does; the first reason counts. */
	for (unsigned i = 0; i < contention->workers && pids[i] > 0; i++) {
		struct fact later = {0};

		shared->over = shared->over || !well;
		well = child_await(pids[i], NULL, NULL, &deadline, well ? why : &later) && well;
	}
	if (well && *shared->why.reason) {
		*why = shared->why;
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
