/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <string.h>

#include "base/fault.h"
#include "measure/counter.h"

#define NS_PER_SECOND 1000000000
#define NS_PER_MICROSECOND 1000

/* What no clock says: a word that was not written to. */
#define UNTOUCHED ((int64_t)0x5a5a5a5a5a5a5a5a)

/*
 * What was loaded before is loaded before the clock is read. Without it a CPU may read its
 * counter early, and a warp would be ours, not the hardware's. On x86 what orders the counter
 * in the vDSO and in counter_read_ordered() (lfence, rdtscp) orders loads too; arm's isb alone
 * does not.
 */
#if defined(__x86_64__) || defined(__i386__)
#define SETTLE() __asm__ volatile("" ::: "memory")
#elif defined(__aarch64__)
#define SETTLE() __asm__ volatile("dsb ish\n\tisb" ::: "memory")
#elif defined(__arm__) && defined(__ARM_ARCH) && __ARM_ARCH >= 7
#define SETTLE() __asm__ volatile("dsb ish\n\tisb" ::: "memory")
#elif defined(__powerpc64__)
#define SETTLE() __asm__ volatile("sync\n\tisync" ::: "memory")
#elif defined(__riscv)
#define SETTLE() __asm__ volatile("fence iorw, iorw" ::: "memory")
#else
#define SETTLE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

union clock_words {
	struct timespec timespec;
	struct timeval timeval;
	int64_t wide[4];
	int32_t narrow[8];
};

const char *warp_clock_name(enum warp_clock_id id)
{
	switch (id) {
	case WARP_COUNTER:
		return *counter_name() ? counter_name() : "counter";
	case WARP_MONOTONIC:
		return "CLOCK_MONOTONIC";
	case WARP_REALTIME:
		return "CLOCK_REALTIME";
	case WARP_TIMEOFDAY:
		return "gettimeofday";
	default:
		return "vDSO against kernel";
	}
}

static int make_call(const struct call *call, union clock_words *words)
{
	if (call->shape == SHAPE_TIMEOFDAY)
		return call->function.timeofday(&words->timeval, NULL);
	return call->function.clock(call->clock, &words->timespec);
}

static int64_t read_call(const struct warp_way *way)
{
	bool microseconds = way->call.shape == SHAPE_TIMEOFDAY;
	union clock_words words;
	int64_t seconds, rest;

	if (make_call(&way->call, &words) != 0)
		return 0;
	seconds = way->wide ? words.wide[0] : words.narrow[0];
	rest = way->wide ? words.wide[1] : words.narrow[1];
	return seconds * NS_PER_SECOND + rest * (microseconds ? NS_PER_MICROSECOND : 1);
}

int64_t warp_clock_read(const struct warp_clock *clock, unsigned turn)
{
	const struct warp_way *way = &clock->ways[turn & 1];

	SETTLE();
	if (way->counter)
		return (int64_t)counter_read_ordered();
	return read_call(way);
}

/* The row of this call; NULL if there is none. */
static const struct call *find_call(const struct evidence *names,
	const struct call (*calls)[PATH_COUNT], const char *call, const char *clock)
{
	for (size_t i = 0; i < names->call_count; i++) {
		if (strcmp(names->calls[i].call, call) == 0 &&
			strcmp(names->calls[i].clock, clock) == 0)
			return calls[i];
	}
	return NULL;
}

static const struct call *calls_of(
	enum warp_clock_id id, const struct evidence *names, const struct call (*calls)[PATH_COUNT])
{
	if (id == WARP_TIMEOFDAY)
		return find_call(names, calls, "gettimeofday", "");
	if (id == WARP_REALTIME)
		return find_call(names, calls, "clock_gettime", "CLOCK_REALTIME");
	return find_call(names, calls, "clock_gettime", "CLOCK_MONOTONIC");
}

static bool choose_ways(
	enum warp_clock_id id, const struct call *paths, struct warp_clock *clock, struct fact *why)
{
	enum call_path path = paths[PATH_VDSO].function.any ? PATH_VDSO : PATH_LIBC;

	if (id == WARP_KERNEL && (path != PATH_VDSO || !paths[PATH_SYSCALL].function.any)) {
		fact_set(why, FACT_ABSENT, "no vDSO function to compare with the kernel");
		return false;
	}
	clock->ways[0] = (struct warp_way){.call = paths[path]};
	clock->ways[1] = clock->ways[0];
	if (id == WARP_KERNEL)
		clock->ways[1].call = paths[PATH_SYSCALL];
	return true;
}

struct trial {
	struct warp_way *way;
	int result;
};

/* The width of the words is seen by what the call leaves alone. */
static void try_way(void *argument)
{
	struct trial *trial = argument;
	union clock_words words;

	for (size_t i = 0; i < sizeof(words.wide) / sizeof(words.wide[0]); i++)
		words.wide[i] = UNTOUCHED;
	trial->result = make_call(&trial->way->call, &words);
	trial->way->wide = words.wide[1] != UNTOUCHED;
}

static bool prove_way(struct warp_way *way, struct fact *why)
{
	struct trial trial = {.way = way};
	int signal = fault_guard(try_way, &trial);

	if (signal)
		fact_set(why, FACT_FAILED, "reading it ends with %s", fault_signal_name(signal));
	else if (trial.result != 0)
		fact_set(why, FACT_DENIED, "the kernel refuses to tell it");
	return !signal && trial.result == 0;
}

bool warp_clock_prepare(enum warp_clock_id id, const struct evidence *names,
	const struct call calls[CALL_MAX][PATH_COUNT], struct warp_clock *clock, struct fact *why)
{
	const struct call *paths;

	if (id == WARP_COUNTER) {
		clock->ways[0] = clock->ways[1] = (struct warp_way){.counter = true};
		counter_probe(why);
		return fact_is_known(why);
	}
	paths = calls_of(id, names, calls);
	if (!paths) {
		fact_set(why, FACT_ABSENT, "no such call here");
		return false;
	}
	if (!choose_ways(id, paths, clock, why) || !prove_way(&clock->ways[0], why) ||
		!prove_way(&clock->ways[1], why))
		return false;
	fact_set_known(why);
	return true;
}
