/* SPDX-License-Identifier: MIT */
/*
 * Reads the documents: of a check all its evidence, of a benchmark the clocksource, the host and
 * the times. Both become the same list of costs.
 */
#include "model.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

/* ---- a document of bench ---- */

#define OF struct diff_row
#define TIMES                                                                                      \
	{NS("min_ns", min_ns), .options = FIELD_NAN_NONE},                                         \
		{NS("median_ns", median_ns), .options = FIELD_NAN_NONE},                           \
	{                                                                                          \
		NS("batch_p99_ns", p99_ns), .options = FIELD_NAN_NONE                              \
	}

static const struct field row_fields[] = {
	{TEXT("call", call), .options = FIELD_NEEDED | FIELD_FILLED},
	{TEXT("clock", clock)},
	{WORD("path", path, diff_paths), .options = FIELD_NEEDED | FIELD_FILLED},
	TIMES,
	{0},
};

static const struct field baseline_fields[] = {
	{TEXT("id", call), .options = FIELD_NEEDED | FIELD_FILLED},
	TIMES,
	{0},
};

#undef OF
#define OF struct clocksource_evidence

static const struct field clocksource_fields[] = {
	{TEXT("current", current), .fact = FACT(current_fact)},
	{0},
};

#undef OF
#define OF struct host_evidence
#define HOST(name, member) TEXT(name, member.value), .fact = FACT(member.fact)

static const struct field host_fields[] = {
	{HOST("kernel", kernel)},
	{HOST("arch", arch)},
	{HOST("cpu_model", cpu)},
	{HOST("hypervisor", hypervisor)},
	{HOST("container", container)},
	{HOST("libc", libc)},
	{0},
};

#undef OF
#define OF struct diff_document

static const struct field bench_fields[] = {
	{OBJECT("clocksource", evidence.clocksource, clocksource_fields)},
	{OBJECT("host", evidence.host, host_fields)},
	{LIST("calls", rows, row_count, row_fields), .options = FIELD_NEEDED | FIELD_FILLED},
	{LIST("baselines", baselines, baseline_count, baseline_fields),
		.options = FIELD_NEEDED | FIELD_FILLED},
	{0},
};

static const char *settle_bench(void *to, const json_t *from)
{
	struct diff_document *document = to;

	(void)from;
	document->is_bench = true;
	return NULL;
}

/* ---- costs ---- */

/* Rows of one call on several CPUs are one cost. */
static void add_cost(struct diff_document *document, const struct diff_row *row)
{
	struct diff_cost *cost = document->costs, *end = cost + document->cost_count;
	double most_ns = fmax(row->min_ns, fmax(row->median_ns, row->p99_ns));

	while (cost < end && (cost->path != row->path || strcmp(cost->call, row->call) != 0 ||
				     strcmp(cost->clock, row->clock) != 0))
		cost++;
	if (isnan(row->min_ns) || cost == document->costs + DIFF_COST_MAX)
		return;
	if (cost == end) {
		*cost = (struct diff_cost){
			.path = row->path, .least_ns = row->min_ns, .most_ns = most_ns};
		text_copy(cost->call, sizeof(cost->call), row->call);
		text_copy(cost->clock, sizeof(cost->clock), row->clock);
		document->cost_count++;
	}
	cost->least_ns = fmin(cost->least_ns, row->min_ns);
	cost->most_ns = fmax(cost->most_ns, most_ns);
}

/* Not the raw system calls of a check, which are few and which programs do not make. */
static void add_check_costs(struct diff_document *document)
{
	const struct evidence *evidence = &document->evidence;
	const struct timing_evidence *timing = &evidence->timing;
	struct diff_row row = {.call = "counter", .path = PATH_COUNT};

	if (fact_is_known(&timing->counter_fact)) {
		row.min_ns = timing->counter_ns;
		add_cost(document, &row);
	}
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		text_copy(row.call, sizeof(row.call), call->call);
		text_copy(row.clock, sizeof(row.clock), call->clock);
		for (row.path = PATH_VDSO; row.path <= PATH_LIBC; row.path++) {
			const struct path_evidence *path = &call->path[row.path];

			row.min_ns = path->min_ns;
			row.median_ns = path->median_ns;
			row.p99_ns = path->p99_ns;
			if (path->timed)
				add_cost(document, &row);
		}
	}
}

static void add_bench_costs(struct diff_document *document)
{
	for (size_t i = 0; i < document->baseline_count; i++) {
		document->baselines[i].path = PATH_COUNT;
		if (strcmp(document->baselines[i].call, "counter") == 0)
			add_cost(document, &document->baselines[i]);
	}
	for (size_t i = 0; i < document->row_count; i++)
		add_cost(document, &document->rows[i]);
}

void diff_document_parts(
	struct document_part parts[DIFF_PART_COUNT], struct diff_document *document)
{
	struct evidence *evidence = &document->evidence;

	parts[0] = timestamp_part(NULL, &evidence->timestamp);
	parts[1] = evidence_part(NULL, evidence);
	parts[2] = parts[0];
	parts[2].schema = BENCH_SCHEMA;
	parts[3] = (struct document_part){.fields = bench_fields,
		.to = document,
		.settle = settle_bench,
		.schema = BENCH_SCHEMA};
	parts[4] = (struct document_part){0};
}

void diff_document_judge(struct diff_document *document)
{
	if (document->is_bench) {
		add_bench_costs(document);
	} else {
		diagnose(&document->evidence, &document->diagnosis);
		add_check_costs(document);
	}
}
