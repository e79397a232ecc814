/* SPDX-License-Identifier: MIT */
/*
 * Contention: a clock that is read from a device (hpet, acpi_pm) is read by one CPU at a time,
 * which a single thread does not show.
 *
 * N workers, each pinned to a CPU, make the same call and publish how many they have made. They are
 * processes: the kernel's locks are the same for both. The parent sleeps for windows of half a
 * millisecond and reads their progress; the best window is the result. A window in which a worker
 * lost its CPU to another process is discarded: the others had the device to themselves in it. The
 * parent wakes up on the last CPU: the worker there makes calls as the others do, but its time is
 * part of no result.
 */

#include <math.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/fault.h"
#include "measure/counter.h"
#include "measure/cpus.h"
#include "measure/sampler.h"
#include "measure/timebase.h"
#include "model.h"

/* Calls between two updates of a worker's progress, which takes a system call. */
#define BATCH_NS 100000

#define WINDOW_NS 500000
#define WINDOWS_LEAST 3

/* A window is as long as the slowest worker takes for a batch, up to this. */
#define WINDOW_MOST_NS 50000000

/*
 * Where workers take turns on a CPU, preemptions are not read. Updates are frequent: a batch that
 * a window's end cuts is counted whole or not at all.
 */
#define BATCH_OF_TURNS_NS 5000
#define WINDOW_OF_TURNS_NS 1000000

/* The parent must not wait behind all of them. */
#define NICE_OF_TURNS 10

/*
 * Workers publish their progress at different times: a preemption of one can fall into the window
 * before or after that of another. Only a window between two undisturbed ones counts.
 */
#define WINDOWS_UNDISTURBED 3

/* On a machine too busy for undisturbed windows the run ends so much later. */
#define OVERRUN_NS 200000000

/* Beyond twice the time and DEADLINE_SLACK_NS: for workers that share a CPU. */
#define SLACK_PER_WORKER_NS 50000000

/* A worker that is not ready by then is not waited for. */
#define START_NS 2000000000

/* Alone and together in turn, so that both see the machine at its best. */
#define TURNS 4

struct progress {
	uint64_t ticks; /* spent in the calls, without the updates between them */
	size_t calls;
	long preemptions; /* involuntary context switches */
};

/* Written by one worker; neighbouring cache lines are fetched in pairs. */
struct worker {
	unsigned updates;            /* the number of the last one */
	struct progress progress[2]; /* by the lowest bit of its number */
} __attribute__((aligned(128)));

/* In memory that the parent and all workers share. */
struct shared {
	const struct contention *contention;
	volatile bool started, over;
	unsigned ready;
	int signal; /* the call ended with it */
	struct worker workers[BENCH_THREADS_MAX];
};

struct start {
	struct shared *shared;
	unsigned index;
};

static bool is_over(const struct shared *shared)
{
	return shared->over || *shared->contention->stop;
}

static bool takes_turns(const struct contention *contention)
{
	return contention->workers > contention->cpu_count;
}

static void sleep_ns(int64_t ns)
{
	const struct timespec time = {.tv_nsec = (long)ns};

	nanosleep(&time, NULL);
}

static void publish(struct worker *worker, const struct progress *progress)
{
	unsigned number = worker->updates + 1;

	worker->progress[number & 1] = *progress;
	__atomic_store_n(&worker->updates, number, __ATOMIC_RELEASE);
}

/* An update during the copy may have overwritten it. */
static struct progress read_progress(const struct worker *worker)
{
	struct progress progress;
	unsigned number;

	do {
		number = __atomic_load_n(&worker->updates, __ATOMIC_ACQUIRE);
		progress = worker->progress[number & 1];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&worker->updates, __ATOMIC_RELAXED) != number);
	return progress;
}

static void work(void *argument)
{
	const struct start *start = argument;
	struct shared *shared = start->shared;
	const struct contention *contention = shared->contention;
	struct worker *worker = &shared->workers[start->index];
	struct timed_call one = {.call = *contention->call};
	bool turns = takes_turns(contention);
	double batch_ns = turns ? BATCH_OF_TURNS_NS : BATCH_NS;
	struct progress progress = {0};
	struct rusage usage = {.ru_nivcsw = 0};
	struct timebase timebase;

	if (turns)
		setpriority(PRIO_PROCESS, 0, NICE_OF_TURNS);
	cpus_pin(contention->cpus[start->index % contention->cpu_count]);
	if (timebase_start(&timebase, counter_is_readable()))
		timed_call_calibrate(
			&one, &timebase, (uint64_t)(batch_ns / timebase_ns_per_tick(&timebase)));
	if (one.signal)
		shared->signal = one.signal;
	if (one.signal || !one.iterations)
		shared->over = true;
	publish(worker, &progress);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	while (!shared->started && !is_over(shared))
		sleep_ns(WINDOW_NS);
	while (!is_over(shared)) {
		uint64_t begin = timebase_ticks(&timebase);

		call_repeat(&one.call, one.iterations);
		progress.ticks += timebase_since(&timebase, begin);
		progress.calls += one.iterations;
		if (!turns && getrusage(RUSAGE_SELF, &usage) == 0)
			progress.preemptions = usage.ru_nivcsw;
		publish(worker, &progress);
	}
}

/* ---- the parent ---- */

/* A window, which becomes the one before the next. */
struct window {
	uint64_t start, end; /* in ticks */
	unsigned sleeps;     /* of the parent in it */
	struct progress from[BENCH_THREADS_MAX], to[BENCH_THREADS_MAX];
};

static void take_window(
	const struct shared *shared, const struct timebase *timebase, struct window *window)
{
	const struct contention *contention = shared->contention;
	unsigned most = WINDOW_MOST_NS / WINDOW_NS, least = 1;
	bool complete = false;

	if (takes_turns(contention))
		most = least = WINDOW_OF_TURNS_NS / WINDOW_NS;
	window->start = window->end;
	for (window->sleeps = 0; window->sleeps < most && !is_over(shared);) {
		sleep_ns(WINDOW_NS);
		window->sleeps++;
		complete = true;
		for (unsigned i = 0; i < contention->workers; i++) {
			if (window->sleeps == 1)
				window->from[i] = window->to[i];
			window->to[i] = read_progress(&shared->workers[i]);
			complete = complete && window->to[i].calls != window->from[i].calls;
		}
		if (complete && window->sleeps >= least)
			break;
	}
	window->end = timebase_ticks(timebase);
}

/*
 * In ticks; false if the window was disturbed. More workers than CPUs take turns: this does not
 * disturb them. A worker that made no call, for want of a CPU or of a lock, is left out.
 */
static bool judge_window(const struct contention *contention, const struct window *window,
	struct contention_result *result)
{
	bool turns = takes_turns(contention), undisturbed = true;
	unsigned measured = 0, active = 0;
	double rate = 0, slowest = 0;

	for (unsigned i = 0; i < contention->workers; i++) {
		const struct progress *from = &window->from[i], *to = &window->to[i];
		bool beside_parent = !turns && i + 1 == contention->cpu_count;
		double ticks =
			(double)(turns ? window->end - window->start : to->ticks - from->ticks);
		double calls = (double)(to->calls - from->calls);

		if (to->preemptions - from->preemptions >
			(beside_parent ? (long)window->sleeps : 0))
			undisturbed = false;
		if (beside_parent && i > 0)
			continue;
		measured++;
		if (calls > 0) {
			active++;
			rate += calls / ticks;
			slowest = fmax(slowest, ticks / calls);
		}
	}
	*result = (struct contention_result){0};
	if (active) {
		double cpus = turns ? (double)contention->cpu_count : measured;

		*result = (struct contention_result){
			.ns = cpus / rate, .slowest_ns = slowest * cpus / active};
	}
	return undisturbed;
}

/* Keeps the best window, converted by a timebase that is most exact at the end. */
static void take_windows(
	struct shared *shared, const struct timebase *timebase, struct contention_result *best)
{
	static struct window window;
	const struct contention *contention = shared->contention;
	int64_t begin = kernel_clock_ns(CLOCK_MONOTONIC), elapsed;
	struct contention_result result = {0};
	int undisturbed = 0, good = 0;
	double ns_per_tick;

	while (__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) < contention->workers &&
		kernel_clock_ns(CLOCK_MONOTONIC) - begin < START_NS && !is_over(shared))
		sleep_ns(WINDOW_NS);
	shared->started = true;
	begin = kernel_clock_ns(CLOCK_MONOTONIC);
	take_window(shared, timebase, &window); /* the start of the first */
	do {
		struct contention_result before = result;

		take_window(shared, timebase, &window);
		undisturbed = judge_window(contention, &window, &result) ? undisturbed + 1 : 0;
		if (takes_turns(contention)) {
			before = result;
			undisturbed = WINDOWS_UNDISTURBED;
		}
		if (undisturbed >= WINDOWS_UNDISTURBED && before.ns > 0 &&
			(!good++ || before.ns < best->ns))
			*best = before;
		elapsed = kernel_clock_ns(CLOCK_MONOTONIC) - begin;
	} while (!is_over(shared) && (good < WINDOWS_LEAST || elapsed < contention->ns) &&
		 elapsed < contention->ns + OVERRUN_NS);
	ns_per_tick = timebase_ns_per_tick(timebase);
	best->ns *= ns_per_tick;
	best->slowest_ns *= ns_per_tick;
}

bool contention_measure(
	const struct contention *contention, struct contention_result *result, struct fact *why)
{
	static int allowed[CPUS_MAX];
	static pid_t pids[BENCH_THREADS_MAX];
	size_t allowed_count = cpus_list(allowed, CPUS_MAX);
	struct shared *shared = child_share(sizeof(*shared), why);
	struct deadline deadline = deadline_within(
		&contention->deadline, 2 * contention->ns + DEADLINE_SLACK_NS +
					       (int64_t)contention->workers * SLACK_PER_WORKER_NS);
	struct timebase timebase;
	struct fact failure = {0};
	unsigned started = 0;
	bool well = true;

	if (!shared)
		return false;
	shared->contention = contention;
	for (; started < contention->workers && well && !is_over(shared); started++) {
		struct start start = {shared, started};

		pids[started] = child_start(work, &start, &deadline, &failure);
		well = pids[started] > 0;
	}
	*result = (struct contention_result){0};
	cpus_pin(contention->cpus[contention->cpu_count - 1]);
	if (well && timebase_start(&timebase, counter_is_readable()))
		take_windows(shared, &timebase, result);
	cpus_use(allowed, allowed_count);
	shared->over = true;
	for (unsigned i = 0; i < started; i++) {
		struct fact *reason = well ? &failure : &(struct fact){0};

		if (pids[i] > 0)
			well = child_await(pids[i], &deadline, reason) && well;
	}
	if (well && shared->signal) {
		fact_set(&failure, FACT_FAILED, "the call ends with %s",
			fault_signal_name(shared->signal));
		well = false;
	}
	if (!well)
		*why = failure;
	child_unshare(shared, sizeof(*shared));
	return well;
}

/* ---- the planned calls ---- */

static void measure_call(struct bench *bench, struct contention *contention,
	struct bench_contention *found, bench_progress *progress)
{
	struct contention_result least[2] = {{0}}, result; /* alone, together */

	if (!contention->call->function.any) {
		fact_set(&found->fact, FACT_ABSENT, "not available here");
		return;
	}
	for (int run = 0; run < 2 * TURNS && !bench->stop; run++) {
		struct contention_result *best = &least[run % 2];

		contention->workers = run % 2 ? found->threads : 1;
		if (!contention_measure(contention, &result, &found->fact))
			return;
		if (result.ns > 0 && (best->ns <= 0 || result.ns < best->ns))
			*best = result;
		bench->done += (uint64_t)run % 2;
		if (progress)
			progress(bench);
	}
	found->alone_ns = least[0].ns;
	found->together_ns = least[1].ns;
	found->slowest_ns = least[1].slowest_ns;
	if (found->alone_ns > 0 && found->together_ns > 0)
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
