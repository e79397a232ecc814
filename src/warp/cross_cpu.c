/* SPDX-License-Identifier: MIT */
/*
 * The workers that read a clock on all CPUs at the same time. They live as long as the run and
 * pass a barrier before and after each slice; between two slices they sleep in it.
 */
#include "model.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/time.h"
#include "measure/cpus.h"

/* Two cache lines: the prefetcher of x86 CPUs loads lines in pairs. */
#define LINE_PAIR 128

/* The last value that a worker read; 0: none yet. */
struct last_value {
	int64_t value;
} __attribute__((aligned(LINE_PAIR)));

struct cpu_worker {
	struct cross_cpu *run;
	pthread_t thread;
	size_t index;
	struct cross_cpu_result *result;
};

/* The child has one. Pages of CPUs that it does not have are never touched. */
struct cross_cpu {
	size_t count;
	struct cpu_worker workers[WARP_CPU_MAX];
	struct last_value last[WARP_CPU_MAX];
	pthread_barrier_t barrier; /* the workers and the caller */
	const struct warp_clock *clock;
	bool exit; /* no more slices; set before the barrier */
	bool stop __attribute__((aligned(LINE_PAIR)));
};

/* A negative gap is a warp: what was read later is less than what was read before. */
static void compare_readings(
	struct cross_cpu_result *result, size_t against, int64_t earlier, int64_t reading)
{
	int64_t gap = reading - earlier;

	if (gap < result->least[against])
		result->least[against] = gap;
	if (gap >= 0)
		return;
	result->warps++;
	if (-gap > result->largest) {
		result->largest = -gap;
		result->against = against;
	}
}

static size_t next_peer(const struct cpu_worker *worker, size_t peer)
{
	peer = peer + 1 == worker->run->count ? 0 : peer + 1;
	if (peer == worker->index)
		peer = peer + 1 == worker->run->count ? 0 : peer + 1;
	return peer;
}

/*
 * Acquire and release: a value that is loaded here was read, and then published, before this
 * worker reads the clock. The worker's own previous value is compared like another CPU's.
 */
static void run_slice(struct cpu_worker *worker)
{
	struct cross_cpu *run = worker->run;
	struct cross_cpu_result *result = worker->result;
	size_t peer = next_peer(worker, worker->index);
	int64_t previous = 0;

	for (unsigned turn = 0; !__atomic_load_n(&run->stop, __ATOMIC_RELAXED); turn++) {
		int64_t seen = __atomic_load_n(&run->last[peer].value, __ATOMIC_ACQUIRE);
		int64_t reading = warp_clock_read(run->clock, turn);

		/* A call that failed did not read the clock. */
		if (!reading)
			continue;
		__atomic_store_n(&run->last[worker->index].value, reading, __ATOMIC_RELEASE);
		if (seen && peer != worker->index)
			compare_readings(result, peer, seen, reading);
		if (previous)
			compare_readings(result, worker->index, previous, reading);
		previous = reading;
		result->reads++;
		peer = next_peer(worker, peer);
	}
}

static void *run_cpu_worker(void *argument)
{
	struct cpu_worker *worker = argument;

	for (;;) {
		pthread_barrier_wait(&worker->run->barrier);
		if (worker->run->exit)
			return NULL;
		run_slice(worker);
		pthread_barrier_wait(&worker->run->barrier);
	}
}

void cross_cpu_run(struct cross_cpu *run, const struct warp_clock *clock, int64_t slice_ns)
{
	struct timespec left = timespec_of(slice_ns);

	for (size_t i = 0; i < run->count; i++) {
		struct cross_cpu_result *result = run->workers[i].result;

		run->last[i].value = 0;
		*result = (struct cross_cpu_result){.least = result->least};
		for (size_t k = 0; k < run->count; k++)
			result->least[k] = CROSS_CPU_NO_GAP;
	}
	run->clock = clock;
	run->stop = false;
	pthread_barrier_wait(&run->barrier);
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
	__atomic_store_n(&run->stop, true, __ATOMIC_RELAXED);
	pthread_barrier_wait(&run->barrier);
}

void cross_cpu_stop(struct cross_cpu *run)
{
	run->exit = true;
	pthread_barrier_wait(&run->barrier);
	for (size_t i = 0; i < run->count; i++)
		pthread_join(run->workers[i].thread, NULL);
	pthread_barrier_destroy(&run->barrier);
}

/* On an error the threads already started stay in the barrier until the child ends. */
struct cross_cpu *cross_cpu_start(
	const int *cpus, size_t count, struct cross_cpu_result *results, struct fact *why)
{
	static struct cross_cpu run;
	int error = pthread_barrier_init(&run.barrier, NULL, (unsigned)count + 1);

	if (error) {
		fact_set_errno(why, error, "a thread on each CPU");
		return NULL;
	}
	run.count = count;
	for (size_t i = 0; i < count; i++) {
		struct cpu_worker *worker = &run.workers[i];

		*worker = (struct cpu_worker){.run = &run, .index = i, .result = &results[i]};
		if (!cpus_start_thread(&worker->thread, cpus[i], run_cpu_worker, worker, why))
			return NULL;
	}
	return &run;
}
