/* SPDX-License-Identifier: MIT */
#include "seccomp_overhead.h"

#include <errno.h>
#include <seccomp.h>

#include "base/child.h"
#include "measure/call.h"
#include "measure/counter.h"
#include "measure/cpus.h"
#include "measure/samples.h"

#define CHILD_NS 20000000000
#define BATCH_NS 20000
#define ROUNDS 100

/*
 * Numbers that no call has, so that forbidding them does no harm; the call that is measured
 * passes all of them, as it passes a container's rules.
 */
#define FIRST_NUMBER 2000

/* 0 or a negative errno. */
static int fill_filter(scmp_filter_ctx filter)
{
	int error = 0;

	for (int i = 0; i < SECCOMP_OVERHEAD_RULES && !error; i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), FIRST_NUMBER + i, 0);
	return error ? error : seccomp_load(filter);
}

static bool set_filter(struct fact *fact)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int error = filter ? fill_filter(filter) : -ENOMEM;

	seccomp_release(filter);
	if (error)
		fact_set_errno(fact, -error, "seccomp filter");
	return error == 0;
}

/* Nanoseconds of getppid now; 0, with the reason in *why, if it could not be measured. */
static double measure_now(struct fact *why)
{
	static double samples[ROUNDS];
	const struct sampler_limits limits = {.rounds_least = ROUNDS, .rounds_most = ROUNDS};
	struct call entry = call_entry();
	struct series series = {.repeat = series_repeat_call,
		.subject = &entry,
		.samples = samples,
		.capacity = ROUNDS};
	struct sampler sampler = {.series = &series, .count = 1};
	struct fact counter = {0};

	counter_probe(&counter);
	if (!sampler_start(&sampler, fact_is_known(&counter), BATCH_NS, why))
		return 0;
	sampler_run(&sampler, &limits);
	if (!series_is_measured(&series)) {
		fact_set(why, FACT_FAILED, "every measurement of getppid was disturbed");
		return 0;
	}
	return series.least * sampler_ns_per_tick(&sampler);
}

static void measure(void *argument)
{
	struct seccomp_overhead *stats = argument;

	cpus_pin(sched_mark_take().cpu);
	stats->without_ns = measure_now(&stats->fact);
	if (stats->without_ns == 0 || !set_filter(&stats->fact))
		return;
	stats->with_ns = measure_now(&stats->fact);
	if (stats->with_ns > 0)
		fact_set_known(&stats->fact);
}

void seccomp_overhead_find(struct seccomp_overhead *stats)
{
	struct deadline deadline = deadline_after(CHILD_NS);
	struct fact why = {0};

	if (!child_compute(measure, stats, sizeof(*stats), &deadline, &why))
		stats->fact = why;
}
