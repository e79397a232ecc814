/* SPDX-License-Identifier: MIT */
/*
 * The data of a benchmark: its plan, and what is measured by it. Children fill in the parts
 * (table, counts, contention); the text and the JSON print them.
 */
#ifndef VDSOCHECK_BENCH_MODEL_H
#define VDSOCHECK_BENCH_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/fact.h"
#include "evidence.h"
#include "measure/call.h"
#include "measure/cpus.h"
#include "measure/sampler.h"
#include "report.h"

#define BENCH_COUNT_MAX 16
#define BENCH_THREADS_MAX 1024
#define BENCH_NAMES_MAX 16

/* ---- the plan: options.c ---- */

/* The lists of names on the command line. */
enum bench_list { LIST_CALLS, LIST_CLOCKS, LIST_COUNT };

struct bench_names {
	size_t count;
	struct span words[BENCH_NAMES_MAX];
};

struct bench_plan {
	const struct call_table *calls; /* not owned */
	bool details; /* all calls, unless chosen by name; else the deciding ones */
	struct bench_names names[LIST_COUNT];
	unsigned paths;   /* a set of bits of enum call_path; 0: all */
	int64_t time_ns;  /* duration of table, histograms and contention */
	size_t cpu_count; /* CPUs of table and counts, one after the other; 0: any CPU */
	int cpus[CPUS_MAX];
	bool histogram;
	size_t count_count; /* 0: no counts */
	uint64_t counts[BENCH_COUNT_MAX];
	unsigned threads;        /* workers of contention; 0: no contention */
	size_t thread_cpu_count; /* CPUs that the workers run on, the first of `cpus` */
};

/* One call by one path. */
struct bench_subject {
	const char *call;
	const char *clock; /* "" if the call takes none */
	enum call_path path;
};

extern const struct option_row bench_options[];

/* Stores a value in the plan of cli->data. */
bool bench_take(struct cli *cli, int id, const char *value);

/*
 * Completes the plan that the options began, for the calls of the table. False after a message if
 * the options do not go together, or if the names leave no call.
 */
bool bench_plan_make(struct bench_plan *plan, const struct call_table *calls);

/* Counts the wanted calls, by each path. */
size_t bench_count_wanted(const struct bench_plan *plan);

/* Returns the wanted calls one after the other; NULL at the end. Start with *place = 0. */
const struct call *bench_next(
	const struct bench_plan *plan, size_t *place, struct bench_subject *subject);

/* ---- the table ---- */

#define HISTOGRAM_BINS 15
#define HISTOGRAM_SAMPLES 16384

struct bin {
	double from_ns, to_ns; /* the last one has no end: NAN */
	uint64_t calls;        /* samples in it */
};

/* Times of single calls, which averages over batches hide. */
struct histogram {
	struct fact fact; /* known: calls were timed alone, and the rest holds */
	uint64_t calls;   /* samples */
	double step_ns;   /* of the counter: no time is more exact */
	double p50_ns, p90_ns, p99_ns, p999_ns;
	double max_ns; /* of all calls, not of the samples alone */
	size_t count;
	struct bin bins[HISTOGRAM_BINS];
};

/* Single calls while they are timed: samples in ticks, spread over all of them. */
struct single_calls {
	uint64_t seen, stride, most; /* calls, calls per sample, ticks of the longest */
	size_t count;
	uint32_t ticks[HISTOGRAM_SAMPLES];
};

struct bench_row {
	struct bench_subject subject;
	struct number_fact cpu;
	struct ns_stats stats;
	struct real_fact ratio; /* time of a system call over this one */
	struct histogram histogram;
};

/* The calls and loops that the clock calls are compared with. */
enum baseline {
	BASELINE_GETPPID,
	BASELINE_CLOCK_SYSCALL, /* clock_gettime(CLOCK_MONOTONIC) by system call */
	BASELINE_SIGPROCMASK,
	BASELINE_COUNTER,    /* the CPU's counter, unordered */
	BASELINE_ORDERED,    /* read as a vDSO reads it */
	BASELINE_CLOCK_VDSO, /* clock_gettime(CLOCK_MONOTONIC) by the vDSO */
	BASELINE_EMPTY,      /* an empty function of clock_gettime's shape */
	BASELINE_LOOP,       /* the empty timing loop */
	BASELINE_COUNT,
};

struct bench_baseline {
	const char *id;   /* "getppid", "loop" ...: stable, for programs */
	const char *text; /* for people; at most 39 characters */
	struct ns_stats stats;
};

/* ---- counts and contention ---- */

/* N calls in one go, measured as time(1) does. */
struct bench_run {
	struct bench_subject subject;
	struct number_fact cpu;
	struct fact fact;
	uint64_t wanted;
	uint64_t calls; /* fewer if it was stopped */
	double real_s;
	double user_s;
	double sys_s;
	double ns; /* CPU time of a call, user and system */
};

/* The best of some runs of threads. */
struct contention_result {
	double ns;    /* CPU time of a call, the mean of the threads; 0: not measured */
	double per_s; /* calls of all threads in a second */
};

/* The same call by one thread alone, and by many at the same time. */
struct bench_contention {
	struct bench_subject subject;
	struct fact fact;
	unsigned threads;
	unsigned cpus; /* CPUs that they ran on */
	struct contention_result alone;
	struct contention_result together;
	double factor; /* ns together over ns alone */
};

/* ---- a benchmark ---- */

struct bench {
	const struct bench_plan *plan; /* not owned */
	volatile bool stop;            /* set by the owner, from a signal handler: end soon */
	volatile uint64_t done;        /* part of `total` that is done, for a progress display */
	volatile uint64_t total;
	unsigned stop_polls; /* looks at the child since it is to stop */
	bool stopped;        /* it was stopped before it was complete */
	bool found;          /* there is a number at all; bench_evaluate() */
	struct fact fact;    /* known: what was planned was measured */
	size_t row_count;
	struct bench_row *rows;
	size_t baseline_count; /* 0 without rows */
	struct bench_baseline baselines[BASELINE_COUNT];
	size_t run_count;
	struct bench_run *runs;
	size_t contention_count;
	struct bench_contention *contentions;
	size_t bytes; /* size of the memory that all this lies in */
};

/* ---- shared.c ---- */

/*
 * Returns memory for all that the plan makes, shared with children; NULL with the reason in *why.
 * Free with bench_free(), which takes NULL, too.
 */
struct bench *bench_new(const struct bench_plan *plan, struct fact *why);
void bench_free(struct bench *bench);

/* Pins this process to that CPU of the plan. */
struct number_fact bench_pin(const struct bench_plan *plan, size_t place);

/* Shows how much of the struct bench is done, on a terminal. False: goes on; see child_run(). */
bool bench_show_progress(void *bench);

/*
 * Each measures a part of the plan in a file of its own: rows and baselines (table.c); runs
 * (count.c); contentions (contention.c).
 */
void bench_table_measure(struct bench *bench);
void bench_count_all(struct bench *bench);
void bench_contention_all(struct bench *bench);

/* ---- histogram.c ---- */

/* Times a batch of single calls; the overhead of the timebase is subtracted. */
void histogram_take(struct single_calls *calls, const struct timed_call *timed,
	const struct timebase *timebase);

/* Sorts the samples and fills the bins, when all calls are timed. */
void histogram_finish(struct histogram *histogram, struct single_calls *calls, double ns_per_tick);

/* Draws the histograms of all rows that have one, or that of the answer's call alone. */
void bench_write_histograms(const struct bench *bench, bool all, FILE *out);

/* ---- baseline.c ---- */

/* The ids and texts of the baselines, without times. */
extern const struct bench_baseline bench_baselines[BASELINE_COUNT];

/*
 * Sets the call of each case; those not available here have no function. `clock` is
 * clock_gettime(CLOCK_MONOTONIC), by each path. May fork: a filter around this process may kill
 * one that makes a call unknown to it.
 */
void baseline_set_up(struct timed_call cases[BASELINE_COUNT], const struct call clock[PATH_COUNT]);

/* ---- analysis.c: what the numbers mean; pure ---- */

/* True for the rows of clock_gettime(CLOCK_MONOTONIC), which the breakdown is of. NULL: false. */
bool bench_is_of_monotonic(const struct bench_row *row);

/* The call that the answer is about: clock_gettime(CLOCK_MONOTONIC), else the first; or NULL. */
const struct bench_row *bench_answer_row(const struct bench *bench);

/* The cost of the row's call by this path on the row's CPU; NULL: unknown, or no row. */
const struct ns_stats *bench_find_stats(
	const struct bench *bench, const struct bench_row *row, enum call_path path);

/* Computes the ratios and the ns of the runs, and whether there is a number at all. */
void bench_evaluate(struct bench *bench);

bool bench_is_same_cpu(const struct number_fact *left, const struct number_fact *right);

/* The parts of a call's cost, in ns: none is below zero, although the CPU may overlap two. */
struct breakdown {
	struct real_fact syscall;         /* clock_gettime(CLOCK_MONOTONIC) by system call */
	struct real_fact entry;           /* into the kernel and back, with the seccomp filters */
	struct real_fact kernel;          /* finding the clock, reading it, copying the time */
	struct real_fact vdso;            /* clock_gettime(CLOCK_MONOTONIC) by the vDSO */
	struct real_fact counter;         /* reading the CPU's counter */
	struct real_fact order;           /* waiting for earlier instructions */
	struct real_fact arithmetic;      /* the rest: from ticks to seconds and nanoseconds */
	bool vdso_takes_as_long_as_entry; /* arithmetic is unknown: there may be a system call */
};

struct breakdown breakdown_find(const struct bench *bench);

/* How far the numbers can be trusted on a machine that others use too. */
struct noise {
	struct fact fact;       /* known: something was measured often enough for a mean */
	bool quiet;             /* the answer can be trusted */
	uint64_t batches;       /* batches begun, over all rows */
	double discarded_share; /* share of the batches discarded because the thread lost its CPU */
	double outlier_share;   /* share of the samples that is left out of the means */
	double median_excess;   /* median of the rows' medians over their minima, less 1 */
	double answer_excess;   /* the largest of these of the call that the answer names */
};

struct noise noise_find(const struct bench *bench);

/* ---- text.c, json.c ---- */

/* cli->data. */
struct bench_report {
	struct report report;
	struct bench_plan plan;
	struct evidence evidence; /* clocksource and host */
	struct call_table calls;
	struct bench *bench; /* bench_free() */
	struct noise noise;
	struct breakdown breakdown;
	double time_s; /* planned seconds */
};

/* Draws the conclusions from the numbers, and sets the answer. */
void bench_conclude(struct bench_report *report);

/* The answer in one sentence, from the table or else the first number. */
void bench_answer(const struct bench *bench, char *text, size_t size);

void bench_text(const void *data, struct page *page);
extern const struct field bench_fields[];

/* Keys and columns of the lists. */
extern const struct field bench_row_fields[], bench_baseline_fields[];
extern const struct field bench_run_fields[], bench_contention_fields[];

#endif
