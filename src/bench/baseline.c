/* SPDX-License-Identifier: MIT */
/*
 * The baselines are the costs that the clock calls are compared with, and that they consist of:
 * ways into the kernel and back, the counter, calls that no vDSO serves.
 */
#include "model.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "measure/loop.h"
#include "measure/timebase.h"

const struct bench_baseline bench_baselines[BASELINE_COUNT] = {
	[BASELINE_GETPPID] = {.id = "getppid", .text = "getppid"},
	[BASELINE_CLOCK_SYSCALL] = {.id = "clock_syscall",
		.text = "clock_gettime MONOTONIC by system call"},
	[BASELINE_SIGPROCMASK] = {.id = "rt_sigprocmask", .text = "rt_sigprocmask"},
	[BASELINE_COUNTER] = {.id = "counter", .text = "the counter, unordered"},
	[BASELINE_ORDERED] = {.id = "ordered_counter", .text = "the counter, ordered"},
	[BASELINE_CLOCK_VDSO] = {.id = "clock_vdso", .text = "clock_gettime MONOTONIC by the vDSO"},
	[BASELINE_EMPTY] = {.id = "empty_function", .text = "an empty function, by pointer"},
	[BASELINE_LOOP] = {.id = "loop", .text = "the empty timing loop"},
};

static time_t raw_sigprocmask(time_t *unused)
{
	(void)unused;
	return (time_t)syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, NULL, (size_t)_NSIG / 8);
}

static LOOP_FUNCTION int empty(clockid_t clock, struct timespec *now)
{
	__asm__ volatile("" : : "r"(clock), "r"(now));
	return 0;
}

void baseline_set_up(struct timed_call cases[BASELINE_COUNT], const struct call clock[PATH_COUNT])
{
	struct fact why = {0};
	bool counter = counter_probe(&why);
	const struct call calls[BASELINE_COUNT] = {
		[BASELINE_GETPPID] = call_syscall_floor(),
		[BASELINE_CLOCK_SYSCALL] = clock[PATH_SYSCALL],
		[BASELINE_SIGPROCMASK] = {.shape = SHAPE_TIME, .function.time = raw_sigprocmask},
		[BASELINE_COUNTER] = call_loop(counter ? counter_repeat : NULL),
		[BASELINE_ORDERED] = call_loop(counter ? counter_repeat_ordered : NULL),
		[BASELINE_CLOCK_VDSO] = clock[PATH_VDSO],
		[BASELINE_EMPTY] = {.shape = SHAPE_CLOCK, .function.clock = empty},
		[BASELINE_LOOP] = call_loop(loop_nothing),
	};

	for (size_t i = 0; i < BASELINE_COUNT; i++)
		cases[i].call = calls[i];
}
