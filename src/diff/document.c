/* SPDX-License-Identifier: MIT */
/*
 * Reads the documents: of a check all its evidence, of a benchmark the clocksource, the host and
 * the times. Both become the same list of costs.
 */
#include "model.h"

#include <math.h>
#include <string.h>

/* ---- a document of bench ---- */

#define OF struct diff_cost
#define TIME(name, member) NS(name, member), .options = FIELD_NAN_NONE

static const struct field row_fields[] = {
	{TEXT("call", call), .options = FIELD_NEEDED | FIELD_FILLED},
	{TEXT("clock", clock)},
	{WORD("path", path, call_path_names), .options = FIELD_NEEDED | FIELD_FILLED},
	{TIME("min_ns", before.least_ns)},
	{TIME("median_ns", before.median_ns)},
	{TIME("batch_p99_ns", before.most_ns)},
	{0},
};

static const struct field baseline_fields[] = {
	{TEXT("id", call), .options = FIELD_NEEDED | FIELD_FILLED},
	{TIME("min_ns", before.least_ns)},
	{TIME("median_ns", before.median_ns)},
	{TIME("batch_p99_ns", before.most_ns)},
	{0},
};

#undef OF
#define OF struct diff_document

static const struct field bench_fields[] = {
	{LIST("calls", rows, row_count, row_fields), .options = FIELD_NEEDED | FIELD_FILLED},
	{LIST("baselines", baselines, baseline_count, baseline_fields),
		.options = FIELD_NEEDED | FIELD_FILLED},
	{0},
};

static const char *settle_bench(void *to, const json_t *from)
{
	(void)from;
	((struct diff_document *)to)->is_bench = true;
	return NULL;
}

void diff_document_parts(
	struct document_part parts[DIFF_PART_COUNT], struct diff_document *document)
{
	struct evidence *evidence = &document->evidence;

	parts[0] = timestamp_part(NULL, &evidence->timestamp);
	parts[1] = evidence_part(NULL, evidence);
	parts[2] = parts[0];
	parts[3] = (struct document_part){.fields = surroundings_fields, .to = evidence};
	parts[4] = (struct document_part){
		.fields = bench_fields, .to = document, .settle = settle_bench};
	for (size_t i = 2; i <= 4; i++)
		parts[i].schema = BENCH_SCHEMA;
	parts[5] = (struct document_part){0};
}

/* ---- costs ---- */

/* Rows of one call on several CPUs are one cost. */
static void add_cost(struct diff *diff, const struct diff_document *document, struct diff_cost row)
{
	static const struct diff_times none = {NAN, NAN, NAN};
	const struct diff_times *times = &row.before;
	double most_ns = fmax(times->least_ns, fmax(times->median_ns, times->most_ns));
	struct diff_cost *cost = diff->costs, *end = cost + diff->cost_count;
	struct diff_times *sum;

	while (cost < end && (cost->path != row.path || strcmp(cost->call, row.call) != 0 ||
				     strcmp(cost->clock, row.clock) != 0))
		cost++;
	if (isnan(times->least_ns) || cost == diff->costs + DIFF_COST_MAX)
		return;
	if (cost == end) {
		*cost = row;
		cost->before = cost->now = none;
		diff->cost_count++;
	}
	/* fmin(3) and fmax(3) leave NAN out. */
	sum = document == &diff->old ? &cost->before : &cost->now;
	sum->least_ns = fmin(sum->least_ns, times->least_ns);
	sum->most_ns = fmax(sum->most_ns, most_ns);
}

static void add_bench_costs(struct diff *diff, struct diff_document *document)
{
	for (size_t i = 0; i < document->baseline_count; i++) {
		document->baselines[i].path = PATH_COUNT;
		if (strcmp(document->baselines[i].call, "counter") == 0)
			add_cost(diff, document, document->baselines[i]);
	}
	for (size_t i = 0; i < document->row_count; i++)
		add_cost(diff, document, document->rows[i]);
}

/* Leaves out the raw system calls of a check: they are few, and programs do not make them. */
static void add_check_costs(struct diff *diff, const struct diff_document *document)
{
	const struct evidence *evidence = &document->evidence;

	if (fact_is_known(&evidence->timing.counter_fact))
		add_cost(diff, document,
			(struct diff_cost){.call = "counter",
				.path = PATH_COUNT,
				.before.least_ns = evidence->timing.counter_ns});
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		for (enum call_path path = PATH_VDSO; path <= PATH_LIBC; path++) {
			const struct path_evidence *times = &call->path[path];
			struct diff_cost cost = {.path = path,
				.before = {times->min_ns, times->median_ns, times->p99_ns}};

			text_copy(cost.call, sizeof(cost.call), call->call);
			text_copy(cost.clock, sizeof(cost.clock), call->clock);
			if (fact_is_known(&times->fact))
				add_cost(diff, document, cost);
		}
	}
}

void diff_document_judge(struct diff *diff, struct diff_document *document)
{
	if (document->is_bench) {
		add_bench_costs(diff, document);
	} else {
		diagnose(&document->evidence, &document->diagnosis);
		add_check_costs(diff, document);
	}
}
