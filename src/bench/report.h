/* SPDX-License-Identifier: MIT */
/* What `vdsocheck bench` found, for people and, schema "vdsocheck-bench/1", for programs. */
#ifndef VDSOCHECK_BENCH_REPORT_H
#define VDSOCHECK_BENCH_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"
#include "document.h"
#include "evidence.h"
#include "model.h"

#define BENCH_SCHEMA "vdsocheck-bench/1"

struct bench_report {
	const struct evidence *evidence; /* moment, clocksource and host */
	const struct bench *bench;
	struct noise noise;
	struct breakdown breakdown;
	int exit_status;
	const char *verdict;
	double time_s;     /* planned */
	char summary[160]; /* the answer, one line; or empty */
};

/* What the numbers come to. Neither is copied. */
struct bench_report bench_report_make(const struct evidence *evidence, const struct bench *bench);

/* What a reader came for, in one line: of the table, else of the first that was measured. */
void bench_report_answer(const struct bench *bench, char *text, size_t size);

/* These take a struct bench_report. */
bool bench_report_text(const void *result, const struct style *style, FILE *out);
extern const struct field bench_report_fields[];
bool bench_report_json(const void *result, const struct style *style, FILE *out);

/*
 * Begins a line with the call and its path; the call only where it is not that of the line
 * above, `before`, which is NULL in the first one.
 */
void bench_report_write_name(
	const struct bench_subject *subject, const struct bench_subject *before, FILE *out);

/* Ends a line that has come to `column` with why there are no numbers; wraps it there. */
void bench_report_write_reason(const struct fact *fact, int column, FILE *out);

/* What a system call and a vDSO call consist of; nothing if neither was measured. */
void bench_report_breakdown(const struct bench_report *report, FILE *out);

/* The tables of long runs and of contention; nothing if there are none. */
void bench_report_runs(const struct bench *bench, FILE *out);
void bench_report_contention(const struct bench *bench, FILE *out);

/* The histogram of the row's single calls; nothing if there is none. */
void bench_report_histogram(const struct bench_row *row, FILE *out);

#endif
