/* SPDX-License-Identifier: MIT */
/*
 * The baselines are the costs that the clock calls are compared with, and that they consist of:
 * ways into the kernel and back, the counter, calls that no vDSO serves.
 */
#include "model.h"

#include <sys/syscall.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <ucontext.h>
#endif

#include "base/child.h"
#include "measure/loop.h"
#include "measure/timebase.h"

/* No table of calls has this number, not even those of x32 and compat. */
#define NUMBER_OF_NO_CALL (-1)

#define CONTEXT_STACK_SIZE (64 * 1024)

const struct bench_baseline bench_baselines[BASELINE_COUNT] = {
	[BASELINE_ENTRY] = {.id = "entry", .text = "an invalid system call"},
	[BASELINE_GETPPID] = {.id = "getppid", .text = "getppid"},
	[BASELINE_CLOCK_SYSCALL] = {.id = "clock_syscall",
		.text = "clock_gettime MONOTONIC by system call"},
	[BASELINE_SIGPROCMASK] = {.id = "rt_sigprocmask", .text = "rt_sigprocmask"},
	[BASELINE_SWAPCONTEXT] = {.id = "swapcontext_pair", .text = "swapcontext, round trip"},
	[BASELINE_COUNTER] = {.id = "counter", .text = "the counter, unordered"},
	[BASELINE_ORDERED] = {.id = "ordered_counter", .text = "the counter, ordered"},
	[BASELINE_CLOCK_VDSO] = {.id = "clock_vdso", .text = "clock_gettime MONOTONIC by the vDSO"},
	[BASELINE_EMPTY] = {.id = "empty_function", .text = "an empty function, by pointer"},
	[BASELINE_LOOP] = {.id = "loop", .text = "the empty timing loop"},
};

static time_t call_nothing(time_t *unused)
{
	(void)unused;
	return (time_t)syscall(NUMBER_OF_NO_CALL);
}

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

#if defined(__GLIBC__)
static ucontext_t here, there;

static void come_back(void)
{
	for (;;)
		swapcontext(&there, &here);
}

static void repeat_swapcontext(size_t count)
{
	LOOP_REPEAT(swapcontext(&here, &there), count);
}
#endif

/* musl has no contexts. */
static loop_function *make_context(void)
{
#if defined(__GLIBC__)
	static char stack[CONTEXT_STACK_SIZE];

	if (getcontext(&there) < 0)
		return NULL;
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	makecontext(&there, come_back, 0);
	return repeat_swapcontext;
#else
	return NULL;
#endif
}

static void try_no_call(void *unused)
{
	(void)unused;
	call_nothing(NULL);
}

void baseline_set_up(struct timed_call cases[BASELINE_COUNT], const struct call clock[PATH_COUNT])
{
	struct deadline deadline = deadline_after(DEADLINE_SLACK_NS);
	struct fact why = {0};
	bool counter = counter_probe(&why);
	bool survives = child_run(try_no_call, NULL, NULL, &deadline, &why);
	const struct call calls[BASELINE_COUNT] = {
		[BASELINE_ENTRY] = {.shape = SHAPE_TIME,
			.function.time = survives ? call_nothing : NULL},
		[BASELINE_GETPPID] = call_syscall_floor(),
		[BASELINE_CLOCK_SYSCALL] = clock[PATH_SYSCALL],
		[BASELINE_SIGPROCMASK] = {.shape = SHAPE_TIME, .function.time = raw_sigprocmask},
		[BASELINE_SWAPCONTEXT] = call_loop(make_context()),
		[BASELINE_COUNTER] = call_loop(counter ? counter_repeat : NULL),
		[BASELINE_ORDERED] = call_loop(counter ? counter_repeat_ordered : NULL),
		[BASELINE_CLOCK_VDSO] = clock[PATH_VDSO],
		[BASELINE_EMPTY] = {.shape = SHAPE_CLOCK, .function.clock = empty},
		[BASELINE_LOOP] = call_loop(loop_nothing),
	};

	for (size_t i = 0; i < BASELINE_COUNT; i++)
		cases[i].call = calls[i];
}
