/* SPDX-License-Identifier: MIT */
/* The data of `vdsocheck diff`: two documents of check, and what differs between them. */
#ifndef VDSOCHECK_DIFF_MODEL_H
#define VDSOCHECK_DIFF_MODEL_H

#include <limits.h>

#include "judge.h"
#include "report.h"

#define DIFF_COST_MAX (CALL_MAX * PATH_COUNT + 1)
#define DIFF_SUSPECT_MAX 20

/* How a value or the whole changed; the places of the command's answers. */
enum diff_change { DIFF_UNKNOWN, DIFF_SAME, DIFF_BETTER, DIFF_WORSE };

/* Times of the batches, in ns per call. */
struct diff_times {
	double least;
	double most; /* 99th percentile or, without one, median */
};

/* The cost of a call by a path, which both documents have. */
struct diff_cost {
	const char *call, *clock; /* "counter": a read of the CPU's counter; "": no clock */
	enum call_path path;      /* PATH_COUNT: of the counter */
	struct diff_times old, new;
	enum diff_change change;
};

/* A property of both documents, as text; "": unknown. */
struct diff_property {
	const char *name;
	char old[FACT_TEXT_SIZE], new[FACT_TEXT_SIZE];
	enum diff_change change;
};

struct diff_document {
	char file[PATH_MAX]; /* for messages; control characters replaced */
	struct evidence evidence;
	struct diagnosis diagnosis;
};

struct diff {
	struct report report;
	struct diff_document old, new;
	/* After diff_compare(). */
	bool two_hosts;
	size_t cost_count, state_count, suspect_count;
	size_t worse_count, better_count; /* costs */
	struct diff_cost costs[DIFF_COST_MAX];
	struct diff_property states[4], suspects[DIFF_SUSPECT_MAX];
};

/* The keys that are read of a document. */
extern const struct field diff_document_fields[];

/* Judges both documents, compares them, and sets the answer; pure. */
void diff_compare(struct diff *diff);

#endif
