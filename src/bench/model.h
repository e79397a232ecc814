/* SPDX-License-Identifier: MIT */
/*
 * The data of a benchmark: what is to be measured, and what was found. The parts (table, counts,
 * contention) write it from children, the text and the JSON read it.
 */
#ifndef VDSOCHECK_BENCH_MODEL_H
#define VDSOCHECK_BENCH_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/fact.h"
#include "base/time.h"
#include "cli/command.h"
#include "document.h"
#include "evidence.h"
#include "measure/call.h"
#include "measure/cpus.h"
#include "measure/sampler.h"

#define BENCH_COUNT_MAX 16
#define BENCH_THREADS_MAX 1024

/* ---- what is to be measured ---- */

struct bench_plan {
	const struct call_table *calls; /* not owned */
	bool wanted[CALL_MAX][PATH_COUNT];
	int64_t time_ns;  /* for table, histograms and contention */
	size_t cpu_count; /* for table and counts, one after the other; 0: any CPU */
	const int *cpus;  /* for these and for contention; not owned */
	bool selected;    /* calls or clocks were named */
	bool histogram;
	size_t count_count; /* counts; 0: none */
	uint64_t counts[BENCH_COUNT_MAX];
	unsigned threads; /* contention: workers; 0: none */
	size_t thread_cpu_count;
};

/* One call by one path. */
struct bench_subject {
	char call[CALL_NAME_SIZE];
	char clock[CALL_NAME_SIZE]; /* empty if the call takes none */
	enum call_path path;
};

/* plan.c: how many calls the plan wants, each path counted. */
size_t bench_count_wanted(const struct bench_plan *plan);

/* The wanted calls, one after the other: false at the end. Start with *at = 0. */
bool bench_next(const struct bench_plan *plan, size_t *at, struct bench_subject *subject,
	const struct call **call);

/* "vdso", "libc", "syscall"; ended by NULL. */
extern const char *const bench_paths[];

/* ---- options.c, plan.c: the words of the command line ---- */

#define BENCH_NAMES_MAX 16

/* Words of the command line. */
struct bench_names {
	size_t count;
	struct span at[BENCH_NAMES_MAX];
};

struct bench_request {
	bool details; /* all calls and the clocks, unless chosen by name; else the deciding ones */
	struct bench_names calls;
	struct bench_names clocks;
	bool path_asked;
	bool paths[PATH_COUNT];
	size_t cpu_count; /* 0: any CPU */
	int cpus[CPUS_MAX];
	bool histogram;
	int64_t duration_ns; /* 0: not given */
	unsigned threads;    /* 0: none */
	size_t count_count;
	uint64_t counts[BENCH_COUNT_MAX];
};

extern const struct option_row bench_options[];

/* Stores a value in the struct bench_request of cli->own. */
bool bench_take(struct cli *cli, int id, const char *value);

/* Whether the options go together; false after an error message. */
bool bench_options_fit(const struct bench_request *request);

/*
 * The plan for the calls of the table, which it refers to, as it does to the request. False after a
 * message if the names leave no call.
 */
bool bench_plan_make(
	struct bench_request *request, const struct call_table *calls, struct bench_plan *plan);

/* ---- what was found: the table ---- */

#define HISTOGRAM_BUCKETS 1280

/* Times of single calls: what averages over batches hide. */
struct histogram {
	uint64_t calls;
	double p50_ns, p90_ns, p99_ns, p999_ns, max_ns; /* to 2%; histogram_finish() */
	uint64_t buckets[HISTOGRAM_BUCKETS];            /* calls in each; the last one has no end */
};

struct bench_row {
	struct bench_subject subject;
	int cpu; /* -1: could not be pinned */
	struct ns_stats stats;
	struct histogram histogram; /* empty unless planned */
};

/* The calls and loops that the clock calls are compared with. */
enum baseline {
	BASELINE_ENTRY, /* a system call of a number that no call has */
	BASELINE_GETPPID,
	BASELINE_CLOCK_SYSCALL, /* clock_gettime(CLOCK_MONOTONIC) by system call */
	BASELINE_SIGPROCMASK,
	BASELINE_SWAPCONTEXT, /* to another context and back */
	BASELINE_COUNTER,     /* the CPU's counter, unordered */
	BASELINE_ORDERED,     /* read as a vDSO reads it */
	BASELINE_CLOCK_VDSO,  /* clock_gettime(CLOCK_MONOTONIC) by the vDSO */
	BASELINE_EMPTY,       /* an empty function of clock_gettime's shape */
	BASELINE_LOOP,        /* the empty timing loop */
	BASELINE_COUNT,
};

/* The resolution of a clock: as the kernel states it, and as observed. */
struct clock_granularity {
	struct number_fact resolution_ns; /* clock_getres() */
	struct number_fact step_ns;       /* the smallest step between two readings */
	uint64_t readings;
	uint64_t unchanged; /* readings equal to the one before */
};

struct bench_clock {
	char clock[CALL_NAME_SIZE];
	struct clock_granularity step;
};

/* ---- what was found: counts and contention ---- */

/* N calls in one go, measured as time(1) does. */
struct bench_count {
	struct bench_subject subject;
	int cpu; /* -1: not pinned */
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
	/* ns of one CPU per call, in the best window of several turns. */
	double alone_ns;
	double together_ns;
	double slowest_ns; /* of the worker that made the fewest calls in that window */
};

/* ---- a benchmark ---- */

struct bench {
	const struct bench_plan *plan; /* not owned */
	volatile bool stop;            /* set by the owner, from a signal handler: end soon */
	volatile uint64_t done;        /* of `total`, for a progress display */
	volatile uint64_t total;
	bool stopped;     /* something is missing because of it */
	struct fact fact; /* known: what was planned was measured */
	size_t row_count;
	struct bench_row *rows;
	struct ns_stats baselines[BASELINE_COUNT];
	size_t clock_count;
	struct bench_clock clocks[CALL_MAX];
	size_t run_count;
	struct bench_count *runs;
	size_t contention_count;
	struct bench_contention *contentions;
	size_t bytes; /* of the memory that all this lies in */
};

/* Called with the struct bench some times a second while children measure. */
typedef void bench_progress(void *bench);

/* bench.c */

/*
 * Room for what the plan will find, shared with children; NULL with the reason in *why.
 * Free with bench_free().
 */
struct bench *bench_new(const struct bench_plan *plan, struct fact *why);
void bench_free(struct bench *bench);

/* Whether there is a number at all: a benchmark may have been stopped before its first. */
bool bench_has_found(const struct bench *bench);

/* The parts, each by its own file. `progress` may be NULL. */

/* table.c: fills rows and baselines. */
void bench_table_measure(struct bench *bench, bench_progress *progress);

/* count.c: fills runs, each count of the plan for each call, in the plan's order. */
void bench_count_all(struct bench *bench, bench_progress *progress);

/* contention.c: fills contentions, each planned call alone and together, in turns. */
void bench_contention_all(struct bench *bench, bench_progress *progress);

/* contention.c, for bench_contention_all() and the tests. */

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

/* granularity.c: fills clocks, every clock that clock_gettime is planned for. */
void bench_clock_all(struct bench *bench);

/* histogram.c */

/* The bucket's lower end, in ns; the upper one is the next one's. The first begins at 0. */
double histogram_edge(size_t bucket);

/* The bucket of such times. */
size_t histogram_bucket(double ns);

void histogram_count(struct histogram *histogram, double ns);

/* Finds the percentiles, when all calls are counted. */
void histogram_finish(struct histogram *histogram);

/* Times a batch of single calls; the overhead of the timebase is subtracted. */
void histogram_take(struct histogram *histogram, const struct timed_call *one,
	const struct timebase *timebase, double ns_per_tick);

/* baseline.c */

struct baseline_name {
	const char *id;   /* "entry", "getppid" ...: stable, for programs */
	const char *text; /* for people; at most 39 characters */
};

extern const struct baseline_name baseline_names[BASELINE_COUNT];

/*
 * Sets the call of each case; those not available here have no function. `clock` is
 * clock_gettime(CLOCK_MONOTONIC), by each path. May fork: a filter around this process may kill
 * one that makes a call unknown to it.
 */
void baseline_set_up(struct timed_call cases[BASELINE_COUNT], const struct call clock[PATH_COUNT]);

/* ---- what it means: analysis.c, pure ---- */

/* The call that the answer is about: clock_gettime(CLOCK_MONOTONIC), else the first; or NULL. */
const struct bench_row *bench_answer_row(const struct bench *bench);

/* Least ns of the row's call by this path on the row's CPU; NAN: unknown, or no row. */
double bench_min_ns(const struct bench *bench, const struct bench_row *row, enum call_path path);

/* How many times as long as the row a system call takes; NAN: unknown. */
double bench_ratio(const struct bench *bench, const struct bench_row *row);

/*
 * What a call's cost consists of, in ns. NAN: unknown; else never below zero, although the
 * CPU may do two things in the time of one.
 */
struct breakdown {
	/* clock_gettime(CLOCK_MONOTONIC) by system call */
	struct fact syscall_fact;
	double syscall;
	double entry;  /* into the kernel and back, filters and all */
	double kernel; /* what is done there: finding the clock, reading it, the copy */
	/* the same by the vDSO */
	struct fact vdso_fact;
	double vdso;
	double counter;                   /* reading the CPU's counter */
	double order;                     /* waiting for earlier instructions */
	double arithmetic;                /* the rest: from ticks to seconds and nanoseconds */
	bool vdso_takes_as_long_as_entry; /* arithmetic is unknown: there may be a system call */
};

struct breakdown breakdown_find(const struct bench *bench);

/* How far the numbers can be trusted on a machine that others use too. */
struct noise {
	struct fact fact;       /* known: something was measured often enough for a mean */
	bool quiet;             /* the answer can be trusted */
	uint64_t batches;       /* begun, over all rows */
	double discarded_share; /* of the batches, 0 to 1: others had the CPU */
	double outlier_share;   /* of the rest: left out of the means */
	double median_excess;   /* of the rows' medians over their minima: the median of these */
	double answer_excess;   /* the same of the rows that the answer names: the larger one */
};

struct noise noise_find(const struct bench *bench);

/* CPU time of a call, user and system, in ns: other processes are not part of it. */
double bench_run_ns(const struct bench_count *run);

/* ---- what is printed: text.c, details.c, json.c ---- */

#define BENCH_SCHEMA "vdsocheck-bench/1"

struct bench_report {
	const struct evidence *evidence; /* timestamp, clocksource and host */
	const struct bench *bench;
	struct noise noise;
	struct breakdown breakdown;
	int exit_status;
	const char *verdict;
	double time_s;     /* planned */
	char summary[200]; /* the answer; or empty */
};

/* The conclusions from the numbers. Neither is copied. */
struct bench_report bench_report_make(const struct evidence *evidence, const struct bench *bench);

/* The answer in one sentence: of the table, else of the first that was measured. */
void bench_answer(const struct bench *bench, char *text, size_t size);

/* The column that the text of a heading starts in. */
#define BENCH_INDENT 16

void bench_write_breakdown(const struct bench_report *report, FILE *out);

/* Draws the histograms of all rows that have one, or that of the answer's call alone. */
void bench_write_histograms(const struct bench *bench, bool all, FILE *out);

/* Both take a struct bench_report. */
bool bench_text(const void *result, const struct style *style, FILE *out);
extern const struct field bench_report_fields[];

/* Keys and columns of the lists. The title of the first column is replaced by a heading. */
extern const struct field bench_row_fields[], bench_baseline_fields[], bench_clock_fields[];
extern const struct field bench_run_fields[], bench_contention_fields[];
bool bench_json(const void *result, const struct style *style, FILE *out);

#endif
