/* SPDX-License-Identifier: MIT */
/* The same call on one CPU alone, and on many at the same time. */
#ifndef VDSOCHECK_BENCH_CONTENTION_H
#define VDSOCHECK_BENCH_CONTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/fact.h"
#include "measure/call.h"

/* One run of workers that make the same call. */
struct contention {
	const struct call *call; /* not owned */
	unsigned workers;        /* at most BENCH_THREADS_MAX */
	const int *cpus;         /* the workers are pinned to these in turn; not owned */
	size_t cpu_count;
	int64_t ns;                /* how long they make calls */
	const volatile bool *stop; /* ends the run early once it is true; not owned */
	struct deadline deadline;  /* of all runs together */
};

/* ns of one CPU per call, in the best window; 0 if every window was disturbed. */
struct contention_result {
	double ns;
	double slowest_ns; /* of the worker that made the fewest calls in that window */
};

/* Runs the workers. False with the reason if a worker ended early or the call crashes. */
bool contention_measure(
	const struct contention *contention, struct contention_result *result, struct fact *why);

#endif
