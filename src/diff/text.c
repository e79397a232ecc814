/* SPDX-License-Identifier: MIT */
/* The comparison for people: the answer, what it rests on, what may be behind it, the costs. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/text.h"
#include "model.h"

#define INDENT 16

/* With these the answer fits a terminal of 24 lines, also beside many suspects. */
#define SCREEN_COSTS 4
#define SUSPECTS_MANY 6

static const struct heading headings[] = {
	[DIFF_SAME] = {"SAME", COLOR_GREEN},
	[DIFF_BETTER] = {"BETTER", COLOR_GREEN},
	[DIFF_WORSE] = {"WORSE", COLOR_RED},
	[DIFF_UNKNOWN] = {"UNKNOWN", COLOR_MAGENTA},
};

/* "clocks.json, web-1, 2026-11-21T15:02:11Z" */
static void write_document(const char *label, const struct diff_document *document, FILE *out)
{
	const struct evidence *evidence = &document->evidence;
	struct strbuf text = {.used = 0};

	strbuf_add(&text, "%s", document->file);
	if (fact_is_known(&evidence->host.name.fact))
		strbuf_add(&text, ", %s", evidence->host.name.value);
	if (fact_is_known(&evidence->timestamp.time.fact))
		strbuf_add(&text, ", %s", evidence->timestamp.time.value);
	wrap_print(out, label, INDENT, text.text);
}

/* "tsc in both", "tsc -> hpet" */
static void write_state(const struct diff_property *state, FILE *out)
{
	const char *before = *state->before ? state->before : "unknown";
	const char *now = *state->now ? state->now : "unknown";
	struct strbuf text = {.used = 0};

	if (strcmp(before, now) == 0)
		strbuf_add(&text, "%s in both", now);
	else
		strbuf_add(&text, "%s -> %s", before, now);
	wrap_print(out, state->name, INDENT, text.text);
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

	if (diff->new.is_bench || diagnosis->verdict.kind == VERDICT_OK)
		return;
	for (size_t i = 0; i < diagnosis->cause_count; i++)
		strbuf_add(&text, "%s%s", i ? ", " : "", diagnosis->causes[i].id);
	if (text.used)
		wrap_print(out, "causes", INDENT, text.text);
}

/* ---- costs ---- */

static void print_name(const void *object, const void *whole, FILE *out)
{
	const struct diff_change *change = object;
	struct strbuf name = {.used = 0};

	(void)whole;
	describe_call_name(change->now.call, change->now.clock, &name);
	fputs(name.text, out);
}

static void print_change(const void *object, const void *whole, FILE *out)
{
	enum diff_answer change = ((const struct diff_change *)object)->change;

	(void)whole;
	if (change != DIFF_SAME)
		fputs(diff_answers[change], out);
}

#define OF struct diff_change

static const struct field columns[] = {
	{TEXT("call", now.call), .title = "ns per call", .width = 34, .left = true,
		.cell = print_name},
	{WORD("path", now.path, diff_paths), .has = diff_has_path, .title = "by", .width = 9,
		.left = true},
	{NS("old_ns", before.least_ns), .title = "old", .width = 10},
	{NS("new_ns", now.least_ns), .title = "new", .width = 10},
	{WORD("change", change, diff_answers), .title = "change", .left = true,
		.cell = print_change},
	{0},
};

/* Writes the costs that changed; all of them if `all`, and the first ones if none did. */
static void write_costs(const struct diff *diff, bool all, FILE *out)
{
	static struct diff_change shown[DIFF_COST_MAX];
	size_t changed = diff->worse_count + diff->better_count, count = 0;
	size_t most = diff->suspect_count > SUSPECTS_MANY ? SCREEN_COSTS - 1 : SCREEN_COSTS;
	struct table table = {.fields = columns, TABLE_ROWS(shown, 0)};

	for (size_t i = 0; i < diff->change_count; i++) {
		if (all || !changed || diff->changes[i].change != DIFF_SAME)
			shown[count++] = diff->changes[i];
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
