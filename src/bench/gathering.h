/* SPDX-License-Identifier: MIT */
/*
 * One gathering: threads that make the same call at the same time, and how many calls came
 * of it. Who waits for whom does not matter: what one thread gains by pushing forward the
 * others lose. Times in which another process had one of the CPUs are left out.
 */
#ifndef VDSOCHECK_BENCH_GATHERING_H
#define VDSOCHECK_BENCH_GATHERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"
#include "measure/call.h"

#define GATHERING_THREADS_MAX 1024

struct gathering {
	const struct call *call; /* not owned */
	unsigned threads;
	const int *cpus; /* pinned to, in turn; not owned */
	size_t cpu_count;
	int64_t ns;                /* as long as they make calls */
	const volatile bool *stop; /* ends it at once when it turns true; not owned */
};

/* ns of one CPU for each call. Zero: nothing was measured. */
struct gathering_price {
	double ns;         /* of all threads, in the best slice of the time */
	double slowest_ns; /* of the thread that made the fewest calls */
};

/* False with the reason if a thread was not to be had or did not come to its end. */
bool gathering_measure(
	const struct gathering *gathering, struct gathering_price *price, struct fact *why);

#endif
