/* SPDX-License-Identifier: MIT */
/*
 * The data of a benchmark: its plan, and what is measured by it. Children fill in the parts
 * (table, counts); the text and the JSON print them.
 */
#ifndef VDSOCHECK_BENCH_MODEL_H
#define VDSOCHECK_BENCH_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"
#include "evidence.h"
#include "measure/call.h"
#include "measure/sampler.h"
#include "report.h"

#define BENCH_COUNT_MAX 16
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
	unsigned paths;     /* a set of bits of enum call_path; 0: all */
	int64_t time_ns;    /* duration of the table */
	size_t count_count; /* 0: no counts */
	uint64_t counts[BENCH_COUNT_MAX];
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

struct bench_row {
	struct bench_subject subject;
	struct ns_stats stats;
	struct real_fact ratio; /* time of a system call over this one */
};

/* ---- counts ---- */

/* N calls in one go, measured as time(1) does. */
struct bench_run {
	struct bench_subject subject;
	struct fact fact;
	uint64_t wanted;
	uint64_t calls; /* fewer if it was stopped */
	double real_s;
	double user_s;
	double sys_s;
	double ns; /* CPU time of a call, user and system */
};

/* ---- a benchmark ---- */

struct bench {
	const struct bench_plan *plan; /* not owned */
	volatile bool stop;            /* set by the owner, from a signal handler: end soon */
	volatile uint64_t done;        /* part of `total` that is done, for a progress display */
	volatile uint64_t total;
	unsigned stop_polls;    /* looks at the child since it is to stop */
	bool stopped;           /* it was stopped before it was complete */
	bool found;             /* there is a number at all; bench_evaluate() */
	struct fact fact;       /* known: what was planned was measured */
	struct number_fact cpu; /* that the table was measured on */
	size_t row_count;
	struct bench_row *rows;
	size_t run_count;
	struct bench_run *runs;
	size_t bytes; /* size of the memory that all this lies in */
};

/* ---- shared.c ---- */

/*
 * Returns memory for all that the plan makes, shared with children; NULL with the reason in *why.
 * Free with bench_free(), which takes NULL, too.
 */
struct bench *bench_new(const struct bench_plan *plan, struct fact *why);
void bench_free(struct bench *bench);

/* Shows how much of the struct bench is done, on a terminal. False: goes on; see child_run(). */
bool bench_show_progress(void *bench);

/* Measures the rows; the runs: table.c, count.c. */
void bench_table_measure(struct bench *bench);
void bench_count_all(struct bench *bench);

/* ---- analysis.c: what the numbers mean; pure ---- */

/* The call that the answer is about: clock_gettime(CLOCK_MONOTONIC), else the first; or NULL. */
const struct bench_row *bench_answer_row(const struct bench *bench);

/* The cost of the row's call by this path; NULL: unknown, or no row. */
const struct ns_stats *bench_find_stats(
	const struct bench *bench, const struct bench_row *row, enum call_path path);

/* Computes the ratios and the ns of the runs, and whether there is a number at all. */
void bench_evaluate(struct bench *bench);

/* How far the numbers can be trusted on a machine that others use too. */
struct noise {
	struct fact fact;       /* known: the answer's call was measured often enough for a mean */
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
	double time_s; /* planned seconds */
};

/* Draws the conclusions from the numbers, and sets the answer. */
void bench_conclude(struct bench_report *report);

/* The answer in one sentence, from the table or else the first number. */
void bench_answer(const struct bench *bench, char *text, size_t size);

void bench_text(const void *data, struct page *page);
extern const struct field bench_fields[];

/* Keys and columns of the lists. */
extern const struct field bench_row_fields[], bench_run_fields[];

#endif
