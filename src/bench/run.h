/* SPDX-License-Identifier: MIT */
/*
 * The benchmark's hub: what is to be measured, and what was found. The parts of it (table,
 * counts, contention) write it in children, the command and render/ read it.
 */
#ifndef VDSOCHECK_BENCH_RUN_H
#define VDSOCHECK_BENCH_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baseline.h"
#include "evidence.h"
#include "granularity.h"
#include "histogram.h"
#include "measure/call.h"
#include "measure/statistics.h"
#include "seccomp_overhead.h"

#define BENCH_COUNT_MAX 16
#define BENCH_THREADS_MAX 1024

struct bench_plan {
	const struct call_table *calls; /* not owned */
	bool wanted[CALL_MAX][PATH_COUNT];
	int64_t time_ns;  /* for table, histograms and contention */
	size_t cpu_count; /* for table and long runs, one after the other; 0: wherever we are */
	const int *cpus;  /* for these and for contention; not owned */
	bool histogram;
	size_t count_count; /* long runs; 0: none */
	uint64_t counts[BENCH_COUNT_MAX];
	unsigned threads; /* contention: workers; 0: none */
	size_t thread_cpu_count;
};

/* One call by one way. */
struct bench_subject {
	char call[CALL_NAME_SIZE];
	char clock[CALL_NAME_SIZE]; /* empty if the call takes none */
	enum call_path path;
};

struct bench_row {
	struct bench_subject subject;
	int cpu; /* -1: could not be pinned */
	struct ns_stats stats;
	struct histogram histogram; /* of single calls; none unless planned */
};

struct bench_clock {
	char clock[CALL_NAME_SIZE];
	struct clock_granularity step;
};

/* So many calls in one go, as `time` tells of them. */
struct bench_count {
	struct bench_subject subject;
	int cpu; /* -1: not tied to one */
	struct fact fact;
	uint64_t wanted;
	uint64_t calls; /* fewer if it was stopped */
	double real_s;
	double user_s;
	double sys_s;
};

/* The same call on one CPU alone, and on many at the same time. */
struct bench_contention {
	struct bench_subject subject;
	struct fact fact;
	unsigned threads;
	unsigned cpus; /* that they ran on */
	/* Of one CPU for each call, in the best slice of several turns. */
	double alone_ns;
	double together_ns;
	double slowest_ns; /* of the thread that made the fewest calls at that time */
};

struct bench {
	volatile bool stop;     /* set by the owner, from a signal handler: end soon */
	volatile uint64_t done; /* of `total`, for who shows the progress */
	volatile uint64_t total;
	bool stopped;     /* something is missing because of it */
	struct fact fact; /* known: the table was measured */
	size_t row_count;
	struct bench_row *rows;
	struct ns_stats baselines[BASELINE_COUNT];
	struct seccomp_overhead filter;
	size_t clock_count;
	struct bench_clock clocks[CALL_MAX];
	size_t run_count;
	struct bench_count *runs;
	size_t contention_count;
	struct bench_contention *contentions;
	size_t bytes; /* of the memory that all this lies in */
};

/* Called some times a second while children measure. */
typedef void bench_progress(const struct bench *bench);

/*
 * Room for what the plan will find, shared with children; NULL with the reason in *why.
 * Free with bench_free().
 */
struct bench *bench_new(const struct bench_plan *plan, struct fact *why);
void bench_free(struct bench *bench);

/*
 * Measures: long runs and contention if they are planned, else the table with what it is
 * compared with. `progress` may be NULL.
 */
void bench_measure(struct bench *bench, const struct bench_plan *plan, bench_progress *progress);

/* Whether there is a number at all: a benchmark may have been stopped before its first. */
bool bench_has_found(const struct bench *bench);

/* "vdso", "libc", "syscall". */
const char *bench_path_name(enum call_path path);

/* How many calls the plan wants, each path counted. */
size_t bench_count_wanted(const struct bench_plan *plan);

/* The wanted calls, one after the other: false at the end. Start with *at = 0. */
bool bench_next(const struct bench_plan *plan, size_t *at, struct bench_subject *subject,
	const struct call **call);

#endif
