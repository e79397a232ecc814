/* SPDX-License-Identifier: MIT */
/*
 * Prints the comparison: as a document, which is written and never read; and for people, the
 * answer, what it rests on, what may be behind it, and the costs.
 */
#include <string.h>

#include "cli/text.h"
#include "model.h"

/* The order is that of enum diff_answer. */
static const char *const answers[] = {"same", "better", "worse", "unknown", NULL};

/* ---- fields and columns ---- */

#define OF struct diff_document

static const struct field document_fields[] = {
	{TEXT("file", file), .options = FIELD_FILLED, .doc = "path of the document"},
	{TEXT("time", evidence.timestamp.time.value),
		.doc = "when the host was checked, UTC, as 2026-11-21T15:02:11Z; null: unknown"},
	{TEXT("host", evidence.host.name.value), .doc = "name of the host; null: not in it"},
	{0},
};

#undef OF
#define OF struct diff_property

static const struct field state_fields[] = {
	{STRING("state", name), .options = FIELD_FILLED,
		.doc = "verdict, clocksource or clock mode"},
	{STRING("old", before), .doc = "its value in the old document; null: unknown"},
	{STRING("new", now), .doc = "its value in the new document; null: unknown"},
	{WORD("change", change, answers), .options = FIELD_FILLED,
		.doc = "how the new value compares; a clocksource alone is neither better nor worse"},
	{0},
};

static const struct field suspect_fields[] = {
	{STRING("property", name), .options = FIELD_FILLED,
		.doc = "property of the host that differs"},
	{STRING("old", before), .options = FIELD_FILLED, .doc = "its value in the old document"},
	{STRING("new", now), .options = FIELD_FILLED, .doc = "its value in the new document"},
	{0},
};

static void print_name(const void *object, const void *whole, FILE *out)
{
	const struct diff_cost *cost = object;
	struct strbuf name = {.used = 0};

	(void)whole;
	describe_call_name(cost->call, cost->clock, &name);
	fputs(name.text, out);
}

static void print_change(const void *object, const void *whole, FILE *out)
{
	enum diff_answer change = ((const struct diff_cost *)object)->change;

	(void)whole;
	if (change != DIFF_SAME)
		fputs(answers[change], out);
}

#undef OF
#define OF struct diff_cost

static const struct field cost_fields[] = {
	{TEXT("call", call), .options = FIELD_FILLED, .title = "ns per call", .width = 34,
		.left = true, .cell = print_name,
		.doc = "name of the call; counter: a read of the CPU's counter"},
	{TEXT("clock", clock), .doc = "clock that it reads; null: the call takes none"},
	{WORD("path", path, call_path_names), .title = "by", .width = 9, .left = true,
		.doc = "path of the call: by the vDSO, by libc, or by raw system call; null: of "
		       "the counter"},
	{NS("old_ns", before.least_ns), .options = FIELD_FILLED, .title = "old", .width = 10,
		.doc = "ns per call in the old document, least of the batches"},
	{NS("old_most_ns", before.most_ns), .options = FIELD_FILLED,
		.doc = "ns per call in the old document, 99th percentile of the batches or, "
		       "without one, median"},
	{NS("new_ns", now.least_ns), .options = FIELD_FILLED, .title = "new", .width = 10,
		.doc = "ns per call in the new document, least of the batches"},
	{NS("new_most_ns", now.most_ns), .options = FIELD_FILLED,
		.doc = "ns per call in the new document, 99th percentile of the batches or, "
		       "without one, median"},
	{WORD("change", change, answers), .options = FIELD_FILLED, .title = "change", .left = true,
		.cell = print_change,
		.doc = "worse: new_ns is at least 1.5 times old_most_ns and 2 ns more; better: "
		       "the same the other way round; same: neither"},
	{0},
};

#undef OF
#define OF struct diff

const struct field diff_fields[] = {
	{INLINE(timestamp, timestamp_fields)},
	{WORD("verdict", answer, answers), .options = FIELD_FILLED,
		.doc = "worse: verdict, clock mode or a cost is; unknown: not worse, but a verdict "
		       "is undetermined; better, same: else"},
	{INTEGER("exit_status", exit_status, 2), .options = FIELD_FILLED,
		.doc = "0: same or better; 1: worse; 2: undetermined"},
	{TEXT("summary", summary), .options = FIELD_FILLED, .doc = "answer in a sentence"},
	{FLAG("two_hosts", two_hosts), .options = FIELD_FILLED,
		.doc = "whether the host's name differs or, where it is not in both documents, the "
		       "instance ID, the architecture or the CPU"},
	{OBJECT("old", old, document_fields), .doc = "first document"},
	{OBJECT("new", new, document_fields), .doc = "second document"},
	{LIST("states", states, state_count, state_fields), .options = FIELD_FILLED,
		.doc = "verdict, clocksource and clock mode"},
	{LIST("costs", costs, cost_count, cost_fields), .options = FIELD_FILLED,
		.doc = "costs of calls that both documents have"},
	{LIST("suspects", suspects, suspect_count, suspect_fields), .options = FIELD_FILLED,
		.doc = "properties of the host that differ: what may be behind a change"},
	{0},
};

bool diff_write_json(const void *result, const struct style *style, FILE *out)
{
	return document_write(DIFF_SCHEMA, diff_fields, result, style->compact, out);
}

/* ---- for people ---- */

#define INDENT 16

/* The answer then fits a terminal of 24 lines; beside many suspects, with one row less. */
#define SCREEN_COSTS 4
#define SUSPECTS_MANY 6

/* "clocks.json, web-1, 2026-11-21T15:02:11Z" */
static void write_document(const char *label, const struct diff_document *document, FILE *out)
{
	const struct text_fact *facts[] = {
		&document->evidence.host.name, &document->evidence.timestamp.time};
	struct strbuf text = {.used = 0};

	strbuf_add(&text, "%s", document->file);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		if (fact_is_known(&facts[i]->fact))
			strbuf_add(&text, ", %s", facts[i]->value);
	}
	wrap_print(out, label, INDENT, text.text);
}

/* "tsc in both", "tsc -> hpet" */
static void write_state(const struct diff_property *state, FILE *out)
{
	const char *before = *state->before ? state->before : "unknown";
	const char *now = *state->now ? state->now : "unknown";

	if (strcmp(before, now) == 0)
		wrap_format(out, state->name, INDENT, "%s in both", now);
	else
		wrap_format(out, state->name, INDENT, "%s -> %s", before, now);
}

static void write_suspects(const struct diff *diff, FILE *out)
{
	const char *label = diff->answer == DIFF_WORSE ? "suspects" : "also differ";
	struct strbuf text = {.used = 0};

	for (size_t i = 0; i < diff->suspect_count; i++)
		strbuf_add(&text, "%s%s: %s -> %s", i ? "; " : "", diff->suspects[i].name,
			diff->suspects[i].before, diff->suspects[i].now);
	if (text.used)
		wrap_print(out, label, INDENT, text.text);
	else if (diff->answer == DIFF_WORSE)
		wrap_print(out, label, INDENT, "none: nothing else in the documents differs");
}

/* The causes of the new verdict, which the document alone explains in full. */
static void write_causes(const struct diff *diff, FILE *out)
{
	const struct diagnosis *diagnosis = &diff->new.diagnosis;
	struct strbuf text = {.used = 0};

	for (size_t i = 0; i < diagnosis->cause_count; i++)
		strbuf_add(&text, "%s%s", i ? ", " : "", diagnosis->causes[i].id);
	if (text.used && diagnosis->verdict.kind != VERDICT_OK)
		wrap_print(out, "causes", INDENT, text.text);
}

/* Writes the costs that changed; all of them if `all`, and the first ones if none did. */
static void write_costs(const struct diff *diff, bool all, FILE *out)
{
	static struct diff_cost shown[DIFF_COST_MAX];
	size_t changed = diff->worse_count + diff->better_count, count = 0;
	size_t most = diff->suspect_count > SUSPECTS_MANY ? SCREEN_COSTS - 1 : SCREEN_COSTS;
	struct table table = {.fields = cost_fields, TABLE_ROWS(shown, 0)};

	for (size_t i = 0; i < diff->cost_count; i++) {
		if (all || !changed || diff->costs[i].change != DIFF_SAME)
			shown[count++] = diff->costs[i];
	}
	if (!count)
		return;
	table.count = all || count < most ? count : most;
	fputc('\n', out);
	table_write(&table, out);
	if (count > table.count)
		fprintf(out, "  and %zu more (-v)\n", count - table.count);
}

bool diff_write_text(const void *result, const struct style *style, FILE *out)
{
	static const struct heading headings[] = {
		[DIFF_SAME] = {"SAME", COLOR_GREEN},
		[DIFF_BETTER] = {"BETTER", COLOR_GREEN},
		[DIFF_WORSE] = {"WORSE", COLOR_RED},
		[DIFF_UNKNOWN] = {"UNKNOWN", COLOR_MAGENTA},
	};
	const struct diff *diff = result;

	wrap_answer(out, &headings[diff->answer], style->color, diff->summary);
	fputc('\n', out);
	write_document("old", &diff->old, out);
	write_document("new", &diff->new, out);
	if (diff->two_hosts)
		wrap_print(out, "", INDENT, "The documents are of two hosts.");
	for (size_t i = 0; i < diff->state_count; i++)
		write_state(&diff->states[i], out);
	write_causes(diff, out);
	write_suspects(diff, out);
	write_costs(diff, style->verbose, out);
	return true;
}
