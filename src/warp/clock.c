/* SPDX-License-Identifier: MIT */
/*
 * Reads a clock as one number, in order: what the thread loaded before is loaded before the clock
 * is read. Without that a CPU may read its counter early, and the warp would be an artefact of
 * the measurement. It also reports when CLOCK_REALTIME was set, which looks like a warp.
 */
#include "model.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/time.h"
#include "measure/timebase.h"

/*
 * On x86 what orders the counter in the vDSO and in counter_read_ordered() (lfence, rdtscp)
 * orders loads too; arm's isb alone does not.
 */
#if defined(__x86_64__) || defined(__i386__)
#define ORDER_LOADS() __asm__ volatile("" ::: "memory")
#elif defined(__aarch64__)
#define ORDER_LOADS() __asm__ volatile("dsb ish\n\tisb" ::: "memory")
#elif defined(__arm__) && defined(__ARM_ARCH) && __ARM_ARCH >= 7
#define ORDER_LOADS() __asm__ volatile("dsb ish\n\tisb" ::: "memory")
#elif defined(__powerpc64__)
#define ORDER_LOADS() __asm__ volatile("sync\n\tisync" ::: "memory")
#elif defined(__riscv)
#define ORDER_LOADS() __asm__ volatile("fence iorw, iorw" ::: "memory")
#else
#define ORDER_LOADS() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

const char *warp_clock_name(enum warp_clock_id id)
{
	static const char *const names[] = {
		[WARP_COUNTER] = "counter",
		[WARP_MONOTONIC] = "CLOCK_MONOTONIC",
		[WARP_REALTIME] = "CLOCK_REALTIME",
		[WARP_TIMEOFDAY] = "gettimeofday",
		[WARP_KERNEL] = "vDSO against kernel",
	};

	return id == WARP_COUNTER && *counter_name() ? counter_name() : names[id];
}

static int warp_call(const struct call *call, union call_result *words)
{
	if (call->shape == SHAPE_TIMEOFDAY)
		return call->function.timeofday(&words->timeval, NULL);
	return call->function.clock(call->clock, &words->timespec);
}

int64_t warp_clock_read(const struct warp_clock *clock, unsigned turn)
{
	const struct warp_path *path = &clock->paths[turn & 1];
	union call_result words;
	int64_t seconds, rest;

	ORDER_LOADS();
	if (path->counter)
		return (int64_t)counter_read_ordered();
	if (warp_call(&path->call, &words) != 0)
		return 0;
	seconds = path->wide ? words.wide[0] : words.narrow[0];
	rest = path->wide ? words.wide[1] : words.narrow[1];
	return seconds * NS_PER_SECOND +
	       rest * (path->call.shape == SHAPE_TIMEOFDAY ? NS_PER_US : 1);
}

struct attempt {
	struct warp_path *path;
	int result;
};

/* The words that the call leaves alone show how wide they are. */
static void attempt_path(void *argument)
{
	struct attempt *attempt = argument;
	union call_result words;

	memset(&words, CALL_UNWRITTEN, sizeof(words));
	attempt->result = warp_call(&attempt->path->call, &words);
	attempt->path->wide = words.wide[1] != -1;
}

static bool can_read(struct warp_path *path, struct fact *why)
{
	struct attempt attempt = {.path = path};
	int signal = fault_guard(attempt_path, &attempt);

	if (signal)
		fact_set(why, FACT_FAILED, "reading it ends with %s", fault_signal_name(signal));
	else if (attempt.result != 0)
		fact_set(why, FACT_DENIED, "the kernel refuses the system call");
	return !signal && attempt.result == 0;
}

bool warp_clock_prepare(enum warp_clock_id id, const struct call_table *calls,
	struct warp_clock *clock, struct fact *why)
{
	const struct call *row;
	enum call_path path;

	if (id == WARP_COUNTER) {
		clock->paths[0] = clock->paths[1] = (struct warp_path){.counter = true};
		counter_probe(why);
		return fact_is_known(why);
	}
	if (id == WARP_TIMEOFDAY)
		row = call_find(calls, "gettimeofday", "");
	else
		row = call_find(calls, "clock_gettime",
			id == WARP_REALTIME ? "CLOCK_REALTIME" : "CLOCK_MONOTONIC");
	if (!row) {
		fact_set(why, FACT_ABSENT, "no such call here");
		return false;
	}
	path = row[PATH_VDSO].function.any ? PATH_VDSO : PATH_LIBC;
	if (id == WARP_KERNEL && (path != PATH_VDSO || !row[PATH_SYSCALL].function.any)) {
		fact_set(why, FACT_ABSENT, "no vDSO function to compare with the kernel");
		return false;
	}
	clock->paths[0] = clock->paths[1] = (struct warp_path){.call = row[path]};
	if (id == WARP_KERNEL)
		clock->paths[1].call = row[PATH_SYSCALL];
	if (!can_read(&clock->paths[0], why) || !can_read(&clock->paths[1], why))
		return false;
	fact_set_known(why);
	return true;
}

/* The timer must not expire during a run. */
#define FAR_SECONDS (30 * 24 * 3600)

#ifndef TFD_TIMER_CANCEL_ON_SET
#define TFD_TIMER_CANCEL_ON_SET (1 << 1)
#endif

static bool arm_timer(int timer)
{
	struct itimerspec far = {
		.it_value.tv_sec =
			(time_t)(kernel_clock_ns(CLOCK_REALTIME) / NS_PER_SECOND + FAR_SECONDS)};
	int result =
		timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far, NULL);

	/* ECANCELED reports an earlier change; the timer is armed nevertheless. */
	return result == 0 || errno == ECANCELED;
}

int settime_timer_open(void)
{
	int timer = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);

	if (timer >= 0 && !arm_timer(timer)) {
		close(timer);
		timer = -1;
	}
	return timer;
}

bool settime_timer_fired(int timer)
{
	uint64_t expirations;

	if (timer < 0 || (read(timer, &expirations, sizeof(expirations)) < 0 && errno == EAGAIN))
		return false;
	arm_timer(timer);
	return true;
}
