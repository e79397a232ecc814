/* SPDX-License-Identifier: MIT */
/*
 * The data of `vdsocheck diff`: two documents of the same command, and what differs between them.
 */
#ifndef VDSOCHECK_DIFF_MODEL_H
#define VDSOCHECK_DIFF_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"
#include "document.h"
#include "evidence.h"
#include "judge.h"

#define DIFF_SCHEMA "vdsocheck-diff/1"

#define DIFF_SUMMARY_SIZE 320
#define DIFF_COST_MAX (CALL_MAX * PATH_COUNT + 1)
#define DIFF_STATE_MAX 3
#define DIFF_SUSPECT_MAX 20

/* A benchmark on many CPUs has rows for each of them; a document has room for no more. */
#define DIFF_ROW_MAX 4096
#define DIFF_BASELINE_MAX 64

enum diff_answer { DIFF_SAME, DIFF_BETTER, DIFF_WORSE, DIFF_UNKNOWN };

/* A row of a benchmark, as it is read; times are ns per call, NAN where they are null. */
struct diff_row {
	char call[CALL_NAME_SIZE]; /* of a baseline: its id */
	char clock[CALL_NAME_SIZE];
	enum call_path path;
	double min_ns, median_ns, p99_ns;
};

/* What a call takes by a path, in ns: the least batch, and where most batches end. */
struct diff_cost {
	char call[CALL_NAME_SIZE];  /* "counter": a read of the CPU's counter */
	char clock[CALL_NAME_SIZE]; /* "": none */
	enum call_path path;        /* PATH_COUNT: none */
	double least_ns, most_ns;
};

struct diff_document {
	const char *file; /* for messages */
	bool is_bench;
	struct evidence evidence;   /* of a benchmark: timestamp, clocksource and host */
	struct diagnosis diagnosis; /* of a check */
	size_t row_count, baseline_count;
	struct diff_row rows[DIFF_ROW_MAX], baselines[DIFF_BASELINE_MAX];
	size_t cost_count;
	struct diff_cost costs[DIFF_COST_MAX];
};

/* A property in words; "" is unknown. */
struct diff_property {
	const char *name;
	char before[FACT_TEXT_SIZE], now[FACT_TEXT_SIZE];
	enum diff_answer change;
};

/* A cost that both documents have. */
struct diff_change {
	struct diff_cost before, now;
	enum diff_answer change;
};

struct diff {
	struct timestamp_evidence timestamp;
	struct diff_document old, new;
	/* After diff_find(). */
	bool two_hosts;
	size_t state_count;
	struct diff_property states[DIFF_STATE_MAX];
	size_t change_count, worse_count, better_count; /* costs */
	struct diff_change changes[DIFF_COST_MAX];
	size_t suspect_count;
	struct diff_property suspects[DIFF_SUSPECT_MAX];
	enum diff_answer answer;
	char summary[DIFF_SUMMARY_SIZE]; /* one sentence */
	int exit_status;
};

/* ---- document.c ---- */

#define DIFF_PART_COUNT 5 /* with the empty one at the end */

/* The parts to read a document of check or of bench by. `document` has to be zeroed. */
void diff_document_parts(
	struct document_part parts[DIFF_PART_COUNT], struct diff_document *document);

/* After reading: lists the costs, and judges a check anew. */
void diff_document_judge(struct diff_document *document);

/* ---- find.c: pure ---- */

/* Compares the documents, which are of the same command. */
void diff_find(struct diff *diff);

/* ---- text.c, json.c ---- */

/* "same", "better", "worse", "unknown"; ended by NULL. */
extern const char *const diff_answers[];

/* "vdso", "libc", "syscall"; ended by NULL. */
extern const char *const diff_paths[];

/* Whether the struct diff_change is of a call, not of the counter. */
bool diff_has_path(const void *change);

/* Both take a struct diff. */
bool diff_write_text(const void *result, const struct style *style, FILE *out);
bool diff_write_json(const void *result, const struct style *style, FILE *out);
extern const struct field diff_fields[];

#endif
