/* SPDX-License-Identifier: MIT */
/*
 * Finds the resolution of each clock: by clock_getres(), and as the smallest step between two
 * readings.
 */
#include "model.h"

#include <string.h>

#include "base/child.h"
#include "base/time.h"
#include "measure/cpus.h"

/* The smallest step is likely among this many; a COARSE clock steps every 1 to 10 ms. */
#define STEPS_WANTED 5000
#define STEPS_LEAST 3
#define NS_MOST 10000000
#define NS_MOST_OF_SLOW_CLOCKS 60000000

#define NO_CLOCK "the kernel does not have this clock"

/* The time is checked after this many readings. */
#define READINGS_AT_ONCE 100

/*
 * False if the clock cannot be read. A call may write either struct timespec (union call_result):
 * that of two 32-bit words leaves the second 64-bit word as it was.
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

struct reading {
	const struct call *call;
	struct bench_clock *clock;
};

/* Reads the clock until its smallest step has been seen often enough. */
static void read_clock(void *argument)
{
	const struct call *call = ((struct reading *)argument)->call;
	struct bench_clock *clock = ((struct reading *)argument)->clock;
	struct number_fact *resolution = &clock->resolution_ns;
	struct timespec value;
	int64_t start = kernel_clock_ns(CLOCK_MONOTONIC), elapsed = 0, least = 0, last, now;
	uint64_t steps = 0;

	if (clock_getres(call->clock, &value) == 0)
		fact_set_number(resolution, (int64_t)value.tv_sec * NS_PER_SECOND + value.tv_nsec);
	else
		fact_set(&resolution->fact, FACT_ABSENT, NO_CLOCK);
	if (!read_ns(call, &last)) {
		fact_set(&clock->step_ns.fact, FACT_ABSENT, NO_CLOCK);
		return;
	}
	while (steps < STEPS_WANTED && elapsed < NS_MOST_OF_SLOW_CLOCKS &&
		(steps < STEPS_LEAST || elapsed < NS_MOST)) {
		for (int i = 0; i < READINGS_AT_ONCE && read_ns(call, &now); i++) {
			int64_t advance = now - last;

			last = now;
			clock->readings++;
			clock->unchanged += advance == 0;
			/* A clock that is set back steps, but says nothing about how finely. */
			if (advance <= 0)
				continue;
			steps++;
			if (!least || advance < least)
				least = advance;
		}
		elapsed = kernel_clock_ns(CLOCK_MONOTONIC) - start;
	}
	if (least)
		fact_set_number(&clock->step_ns, least);
	else
		fact_set(&clock->step_ns.fact, FACT_FAILED, "the clock did not advance");
}

static void read_clocks(void *argument)
{
	struct bench *bench = argument;
	const struct bench_plan *plan = bench->plan;

	cpus_pin_here();
	for (size_t i = 0; i < plan->calls->count && !bench->stop; i++) {
		const struct call_row *row = &plan->calls->rows[i];
		struct reading reading = {
			&row->path[PATH_VDSO], &bench->clocks[bench->clock_count]};
		int signal;

		if (strcmp(row->call, "clock_gettime") != 0 || !bench_wants(plan, row))
			continue;
		/* Programs read it by the vDSO if that serves the clock, else by libc. */
		if (!reading.call->function.any)
			reading.call = &row->path[PATH_LIBC];
		reading.clock->clock = row->clock;
		signal = fault_guard(read_clock, &reading);
		if (signal)
			fact_set(&reading.clock->step_ns.fact, FACT_FAILED,
				"reading the clock ends with %s", fault_signal_name(signal));
		bench->clock_count++;
	}
}

void bench_clock_all(struct bench *bench)
{
	/* NS_MOST_OF_SLOW_CLOCKS for each clock is less than 1 s. */
	struct deadline deadline = deadline_after(DEADLINE_SLACK_NS);

	/* The clocks that were read before it was stopped are kept. */
	child_run(read_clocks, bench, &deadline, &(struct fact){0});
}
