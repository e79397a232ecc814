/* SPDX-License-Identifier: MIT */
#include "baseline.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <ucontext.h>
#endif

#include "base/child.h"
#include "measure/counter.h"
#include "measure/loop.h"

/* No architecture has it, and it is in nobody's second table (x32, compat). */
#define NUMBER_OF_NO_CALL (-1)

#define PROBE_NS 5000000000
#define CONTEXT_STACK_SIZE (64 * 1024)

static const struct {
	const char *id;
	const char *text;
} names[] = {
	[BASELINE_ENTRY] = {"entry", "into the kernel and back, to no call"},
	[BASELINE_GETPPID] = {"getppid", "getppid"},
	[BASELINE_CLOCK_SYSCALL] = {"clock_syscall", "clock_gettime MONOTONIC by system call"},
	[BASELINE_SIGPROCMASK] = {"rt_sigprocmask", "rt_sigprocmask"},
	[BASELINE_SWAPCONTEXT] = {"swapcontext_pair", "swapcontext there and back"},
	[BASELINE_COUNTER] = {"counter", "the counter, read bare"},
	[BASELINE_ORDERED] = {"ordered_counter", "the counter, read in order"},
	[BASELINE_CLOCK_VDSO] = {"clock_vdso", "clock_gettime MONOTONIC by the vDSO"},
	[BASELINE_EMPTY] = {"empty_function", "an empty function through a pointer"},
	[BASELINE_LOOP] = {"loop", "the timed loop with nothing in it"},
};

const char *baseline_id(enum baseline baseline)
{
	return names[baseline].id;
}

const char *baseline_text(enum baseline baseline)
{
	return names[baseline].text;
}

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

static void repeat_nothing(const void *unused, size_t count)
{
	(void)unused;
	loop_nothing(count);
}

#if defined(__GLIBC__)

static ucontext_t here, there;

static void come_back(void)
{
	for (;;)
		swapcontext(&there, &here);
}

static bool make_context(void)
{
	static char stack[CONTEXT_STACK_SIZE];

	if (getcontext(&there) < 0)
		return false;
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	makecontext(&there, come_back, 0);
	return true;
}

static void repeat_swapcontext(const void *unused, size_t count)
{
	(void)unused;
	LOOP_REPEAT(swapcontext(&here, &there), count);
}

#else

/* musl has no contexts. */
static bool make_context(void)
{
	return false;
}

static void repeat_swapcontext(const void *unused, size_t count)
{
	(void)unused;
	(void)count;
}

#endif

static void try_no_call(void *unused)
{
	(void)unused;
	call_nothing(NULL);
}

static bool survives_no_call(void)
{
	struct deadline deadline = deadline_after(PROBE_NS);
	struct fact why = {0};

	return child_run(try_no_call, NULL, &deadline, &why);
}

static void set_call(struct series *series, struct call *place, struct call call)
{
	*place = call;
	series->repeat = call.function.any ? series_repeat_call : NULL;
	series->subject = place;
}

static struct call call_of(time_function *function)
{
	return (struct call){.shape = SHAPE_TIME, .function.time = function};
}

static void set_calls(struct series series[BASELINE_COUNT], struct baseline_calls *calls,
	const struct call clock[PATH_COUNT])
{
	const struct call chosen[BASELINE_COUNT] = {
		[BASELINE_ENTRY] = call_of(survives_no_call() ? call_nothing : NULL),
		[BASELINE_GETPPID] = call_entry(),
		[BASELINE_SIGPROCMASK] = call_of(raw_sigprocmask),
		[BASELINE_CLOCK_SYSCALL] = clock[PATH_SYSCALL],
		[BASELINE_CLOCK_VDSO] = clock[PATH_VDSO],
		[BASELINE_EMPTY] = {.shape = SHAPE_CLOCK, .function.clock = empty},
	};

	for (size_t i = 0; i < BASELINE_COUNT; i++)
		set_call(&series[i], &calls->call[i], chosen[i]);
}

void baseline_set_up(struct series series[BASELINE_COUNT], struct baseline_calls *calls,
	const struct call clock[PATH_COUNT])
{
	struct fact counter = {0};

	set_calls(series, calls, clock);
	counter_probe(&counter);
	if (fact_is_known(&counter)) {
		series[BASELINE_COUNTER].repeat = series_repeat_counter;
		series[BASELINE_ORDERED].repeat = series_repeat_ordered;
	}
	series[BASELINE_LOOP].repeat = repeat_nothing;
	if (make_context())
		series[BASELINE_SWAPCONTEXT].repeat = repeat_swapcontext;
}
