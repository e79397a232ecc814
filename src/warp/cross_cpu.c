/* SPDX-License-Identifier: MIT */
#include "cross_cpu.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure/affinity.h"

#define NS_PER_SECOND 1000000000

/* Two cache lines: CPUs fetch a neighbour along. */
#define LINE_PAIR 128

#define STACK_SIZE (64 * 1024 + (size_t)PTHREAD_STACK_MIN)

/* What a CPU read last; 0: nothing yet. */
struct slot {
	int64_t value;
} __attribute__((aligned(LINE_PAIR)));

struct racer {
	struct warp_race *race;
	pthread_t thread;
	size_t index;
	int cpu;
	bool pinned;
	struct warp_score *score;
};

struct warp_race {
	size_t count;
	struct racer *racers;
	struct slot *slots;
	pthread_barrier_t gate; /* before and after each slice: racers and the caller */
	const struct warp_clock *clock;
	const int64_t *injected;
	bool over; /* no more slices */
	bool stop __attribute__((aligned(LINE_PAIR)));
};

static void note_warp(struct warp_score *score, size_t against, int64_t size)
{
	score->warps++;
	if (size <= score->largest)
		return;
	score->largest = size;
	score->against = against;
}

static void compare(struct warp_score *score, size_t against, int64_t before, int64_t now)
{
	int64_t gap = now - before;

	if (gap < score->least[against])
		score->least[against] = gap;
	if (gap < 0)
		note_warp(score, against, -gap);
}

static size_t next_peer(const struct racer *racer, size_t peer)
{
	peer = peer + 1 == racer->race->count ? 0 : peer + 1;
	if (peer == racer->index)
		peer = peer + 1 == racer->race->count ? 0 : peer + 1;
	return peer;
}

/*
 * Acquire and release: a value that is seen was read, and then published, before we read the
 * clock ourselves. An own earlier value is compared with like another CPU's.
 */
static void run_slice(struct racer *racer)
{
	struct warp_race *race = racer->race;
	struct warp_score *score = racer->score;
	int64_t injected = race->injected ? race->injected[racer->index] : 0;
	size_t peer = next_peer(racer, racer->index);
	int64_t own = 0;

	for (unsigned turn = 0; !__atomic_load_n(&race->stop, __ATOMIC_RELAXED); turn++) {
		int64_t before = __atomic_load_n(&race->slots[peer].value, __ATOMIC_ACQUIRE);
		int64_t now = warp_clock_read(race->clock, turn) + injected;

		__atomic_store_n(&race->slots[racer->index].value, now, __ATOMIC_RELEASE);
		if (before && peer != racer->index)
			compare(score, peer, before, now);
		if (own)
			compare(score, racer->index, own, now);
		own = now;
		score->reads++;
		peer = next_peer(racer, peer);
	}
}

static void *race_along(void *argument)
{
	struct racer *racer = argument;

	racer->pinned = affinity_pin(racer->cpu);
	pthread_barrier_wait(&racer->race->gate);
	for (;;) {
		pthread_barrier_wait(&racer->race->gate);
		if (racer->race->over)
			return NULL;
		run_slice(racer);
		pthread_barrier_wait(&racer->race->gate);
	}
}

static void clear_score(struct warp_score *score, size_t count)
{
	int64_t *least = score->least;

	for (size_t i = 0; i < count; i++)
		least[i] = WARP_RACE_NO_GAP;
	*score = (struct warp_score){.least = least};
}

static void sleep_ns(int64_t ns)
{
	struct timespec left = {
		.tv_sec = (time_t)(ns / NS_PER_SECOND), .tv_nsec = (long)(ns % NS_PER_SECOND)};

	while (nanosleep(&left, &left) < 0)
		;
}

void warp_race_run(struct warp_race *race, const struct warp_clock *clock, int64_t slice_ns,
	const int64_t *injected)
{
	for (size_t i = 0; i < race->count; i++) {
		race->slots[i].value = 0;
		clear_score(race->racers[i].score, race->count);
	}
	race->clock = clock;
	race->injected = injected;
	race->stop = false;
	pthread_barrier_wait(&race->gate);
	sleep_ns(slice_ns);
	__atomic_store_n(&race->stop, true, __ATOMIC_RELAXED);
	pthread_barrier_wait(&race->gate);
}

void warp_race_end(struct warp_race *race)
{
	race->over = true;
	pthread_barrier_wait(&race->gate);
	for (size_t i = 0; i < race->count; i++)
		pthread_join(race->racers[i].thread, NULL);
	pthread_barrier_destroy(&race->gate);
	free(race->slots);
	free(race->racers);
	free(race);
}

/* 0 or an errno value. A part that has been started waits at the gate until the child ends. */
static int start_threads(struct warp_race *race, const int *cpus, struct warp_score *scores)
{
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);

	if (error)
		return error;
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	for (size_t i = 0; i < race->count && !error; i++) {
		struct racer *racer = &race->racers[i];

		*racer = (struct racer){
			.race = race, .index = i, .cpu = cpus[i], .score = &scores[i]};
		error = pthread_create(&racer->thread, &attributes, race_along, racer);
	}
	pthread_attr_destroy(&attributes);
	return error;
}

static bool are_pinned(const struct warp_race *race, struct fact *why)
{
	for (size_t i = 0; i < race->count; i++) {
		if (!race->racers[i].pinned) {
			fact_set(why, FACT_DENIED, "no thread may be tied to CPU %d",
				race->racers[i].cpu);
			return false;
		}
	}
	return true;
}

static struct warp_race *make_race(size_t count)
{
	struct warp_race *race = aligned_alloc(LINE_PAIR, sizeof(*race));

	if (!race)
		return NULL;
	memset(race, 0, sizeof(*race));
	race->count = count;
	race->racers = calloc(count, sizeof(*race->racers));
	race->slots = aligned_alloc(LINE_PAIR, count * sizeof(*race->slots));
	if (race->racers && race->slots &&
		pthread_barrier_init(&race->gate, NULL, (unsigned)count + 1) == 0)
		return race;
	free(race->racers);
	free(race->slots);
	free(race);
	return NULL;
}

struct warp_race *warp_race_start(
	const int *cpus, size_t count, struct warp_score *scores, struct fact *why)
{
	struct warp_race *race = make_race(count);
	int error;

	if (!race) {
		fact_set(why, FACT_FAILED, "no memory for %zu threads", count);
		return NULL;
	}
	error = start_threads(race, cpus, scores);
	if (error) {
		fact_set_errno(why, error, "a thread on each CPU");
		return NULL;
	}
	pthread_barrier_wait(&race->gate);
	if (are_pinned(race, why))
		return race;
	warp_race_end(race);
	return NULL;
}
