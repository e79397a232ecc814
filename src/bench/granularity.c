/* SPDX-License-Identifier: MIT */
/*
 * The resolution of each clock: as clock_getres() states it, and the smallest step that is
 * observed between two readings.
 */
#include "model.h"

#include <stdbool.h>
#include <string.h>

#include "base/child.h"
#include "base/text.h"
#include "base/time.h"
#include "measure/cpus.h"

/* ---- one clock ---- */

/* Enough to see a small one among them; a COARSE clock steps every 1 to 10 ms. */
#define STEPS_WANTED 5000
#define STEPS_LEAST 3
#define NS_MOST 10000000
#define NS_MOST_OF_SLOW_CLOCKS 60000000

/* The time is checked after as many readings. */
#define READINGS_AT_ONCE 100

/*
 * False if the clock cannot be read. On 32-bit architectures a call by the vDSO or the kernel
 * writes either struct timespec: of two 64-bit words, or of two 32-bit ones, which leave the
 * second 64-bit word as it was.
 */
static bool read_ns(const struct call *clock, int64_t *ns)
{
	union call_result now = {.wide = {-1, -1}};

	if (clock->function.clock(clock->clock, &now.timespec) != 0)
		return false;
	if (now.wide[1] >= 0)
		*ns = now.wide[0] * NS_PER_SECOND + now.wide[1];
	else
		*ns = (int64_t)now.narrow[0] * NS_PER_SECOND + now.narrow[1];
	return true;
}

struct watcher {
	int64_t last;
	int64_t least; /* step; 0: none yet */
	uint64_t steps;
};

static bool watch_some(
	const struct call *clock, struct watcher *watcher, struct clock_granularity *step)
{
	for (int i = 0; i < READINGS_AT_ONCE; i++) {
		int64_t now, advance;

		if (!read_ns(clock, &now))
			return false;
		advance = now - watcher->last;
		watcher->last = now;
		step->readings++;
		step->unchanged += advance == 0;
		/* A clock that is set back steps, but says nothing about how finely. */
		if (advance <= 0)
			continue;
		watcher->steps++;
		if (!watcher->least || advance < watcher->least)
			watcher->least = advance;
	}
	return true;
}

static bool is_enough(const struct watcher *watcher, int64_t elapsed)
{
	if (watcher->steps >= STEPS_WANTED || elapsed >= NS_MOST_OF_SLOW_CLOCKS)
		return true;
	return watcher->steps >= STEPS_LEAST && elapsed >= NS_MOST;
}

static void find_step(const struct call *clock, struct clock_granularity *step)
{
	int64_t start = kernel_clock_ns(CLOCK_MONOTONIC);
	struct watcher watcher = {0};

	if (!read_ns(clock, &watcher.last)) {
		fact_set(&step->step_ns.fact, FACT_ABSENT, "the kernel does not have this clock");
		return;
	}
	do {
		if (!watch_some(clock, &watcher, step))
			break;
	} while (!is_enough(&watcher, kernel_clock_ns(CLOCK_MONOTONIC) - start));
	if (watcher.least)
		fact_set_number(&step->step_ns, watcher.least);
	else
		fact_set(&step->step_ns.fact, FACT_FAILED, "the clock did not advance");
}

/* ---- the planned clocks ---- */

struct reading {
	const struct call *call;
	struct clock_granularity *step;
};

static void read_clock(void *argument)
{
	struct reading *reading = argument;
	struct number_fact *resolution = &reading->step->resolution_ns;
	struct timespec value;

	if (clock_getres(reading->call->clock, &value) == 0)
		fact_set_number(resolution, (int64_t)value.tv_sec * NS_PER_SECOND + value.tv_nsec);
	else
		fact_set(&resolution->fact, FACT_ABSENT, "the kernel does not have this clock");
	find_step(reading->call, reading->step);
}

static void find_all(void *argument)
{
	struct bench *bench = argument;
	const struct bench_plan *plan = bench->plan;

	cpus_pin_here();
	for (size_t i = 0; i < plan->calls->count && !bench->stop; i++) {
		struct bench_clock *clock = &bench->clocks[bench->clock_count];
		const struct call_row *row = &plan->calls->rows[i];
		const bool *wanted = plan->wanted[i];
		struct reading reading = {&row->path[PATH_VDSO], &clock->step};
		int signal;

		if (strcmp(row->call, "clock_gettime") != 0 ||
			!(wanted[PATH_VDSO] || wanted[PATH_LIBC] || wanted[PATH_SYSCALL]))
			continue;
		/* Programs read it by the vDSO if that serves the clock, else by libc. */
		if (!reading.call->function.any)
			reading.call = &row->path[PATH_LIBC];
		text_copy(clock->clock, sizeof(clock->clock), row->clock);
		signal = fault_guard(read_clock, &reading);
		if (signal)
			fact_set(&clock->step.step_ns.fact, FACT_FAILED,
				"reading the clock ends with %s", fault_signal_name(signal));
		bench->clock_count++;
	}
}

void bench_clock_all(struct bench *bench)
{
	/* NS_MOST_OF_SLOW_CLOCKS for each clock is less than 1 s. */
	struct deadline deadline = deadline_after(DEADLINE_SLACK_NS);
	struct fact why = {0};

	/* The clocks that were read before it was stopped are kept. */
	child_run(find_all, bench, &deadline, &why);
}
