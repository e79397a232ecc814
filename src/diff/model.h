/* SPDX-License-Identifier: MIT */
/*
 * The data of `vdsocheck diff`: two documents of check, and what differs between them.
 */
#ifndef VDSOCHECK_DIFF_MODEL_H
#define VDSOCHECK_DIFF_MODEL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"
#include "document.h"
#include "evidence.h"
#include "judge.h"

#define DIFF_SCHEMA "vdsocheck-diff/1"

#define DIFF_COST_MAX (CALL_MAX * PATH_COUNT + 1)

enum diff_answer { DIFF_SAME, DIFF_BETTER, DIFF_WORSE, DIFF_UNKNOWN };

/* Times of the batches, in ns per call. */
struct diff_times {
	double least_ns, median_ns; /* NAN: null, or not in the document */
	double most_ns;             /* 99th percentile, or median without one */
};

/* The cost of a call by a path. */
struct diff_cost {
	char call[CALL_NAME_SIZE];  /* "counter": a read of the CPU's counter */
	char clock[CALL_NAME_SIZE]; /* "": none */
	enum call_path path;        /* PATH_COUNT: none */
	struct diff_times before, now;
	enum diff_answer change;
};

struct diff_document {
	char file[PATH_MAX]; /* for messages; control characters replaced */
	struct evidence evidence;
	struct diagnosis diagnosis;
};

/* A property in words, those of the documents or static; "" is unknown. */
struct diff_property {
	const char *name, *before, *now;
	enum diff_answer change;
};

struct diff {
	struct timestamp_evidence timestamp;
	struct diff_document old, new;
	size_t cost_count;
	struct diff_cost costs[DIFF_COST_MAX]; /* after diff_find(): those that both have */
	/* After diff_find(). */
	bool two_hosts;
	size_t worse_count, better_count; /* costs */
	size_t state_count, suspect_count;
	struct diff_property states[3], suspects[20];
	char digits[20][2][24]; /* before and now of suspects that are numbers */
	enum diff_answer answer;
	char summary[320]; /* one sentence */
	int exit_status;
};

/* ---- find.c: pure ---- */

/* After reading one of the two: adds its costs to the list, and judges it anew. */
void diff_document_judge(struct diff *diff, struct diff_document *document);

/* Compares the documents. */
void diff_find(struct diff *diff);

/* ---- report.c ---- */

/* Both take a struct diff. */
bool diff_write_text(const void *result, const struct style *style, FILE *out);
bool diff_write_json(const void *result, const struct style *style, FILE *out);
extern const struct field diff_fields[];

#endif
