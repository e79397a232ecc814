/* SPDX-License-Identifier: MIT */
/*
 * The command diff: two documents of check, and whether the new one is worse. A cost has changed
 * only if it did beyond the noise of both runs; what else differs of the host is a suspect.
 */
#include "model.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "commands.h"

static const struct answer answers[] = {
	[DIFF_UNKNOWN] = {"unknown", COLOR_MAGENTA, 2, "a verdict is undetermined"},
	[DIFF_SAME] = {"same", COLOR_GREEN, 0, "the same"},
	[DIFF_BETTER] = {"better", COLOR_GREEN, 0, "better"},
	[DIFF_WORSE] = {"worse", COLOR_RED, 1, "the verdict, the clock mode or a cost got worse"},
	{0},
};

/* ---- costs ---- */

/*
 * The slower run's fastest batch must exceed what most batches of the faster one take by this
 * factor. Between 200 checks of one host, half of them beside four busy loops on its two CPUs, it
 * stayed below 1.4, and calls of 3 ns differed by 2 ns.
 */
#define RISE_LEAST 1.5
#define RISE_NS_LEAST 2

static bool is_above(struct diff_times slower, struct diff_times faster)
{
	return slower.least >= RISE_LEAST * faster.most &&
	       slower.least >= RISE_NS_LEAST + faster.most;
}

static void add_cost(struct diff *diff, struct diff_cost cost)
{
	cost.change = is_above(cost.new, cost.old)   ? DIFF_WORSE
	              : is_above(cost.old, cost.new) ? DIFF_BETTER
	                                             : DIFF_SAME;
	diff->worse_count += cost.change == DIFF_WORSE;
	diff->better_count += cost.change == DIFF_BETTER;
	diff->costs[diff->cost_count++] = cost;
}

static struct diff_times times_of(const struct path_evidence *path)
{
	return (struct diff_times){
		path->min_ns, fmax(path->min_ns, fmax(path->median_ns, path->p99_ns))};
}

/*
 * Leaves out what no vDSO serves: raw system calls, which programs do not make, and the clocks of
 * CPU time.
 */
static void compare_costs(struct diff *diff)
{
	const struct evidence *old = &diff->old.evidence, *new = &diff->new.evidence;

	for (size_t i = 0; i < old->call_count; i++) {
		const struct call_evidence *call = &old->calls[i];
		const struct call_evidence *now = call_evidence_of(new, call->call, call->clock);

		if (!now || clock_is_cpu_time(call->clock))
			continue;
		for (enum call_path path = PATH_VDSO; path <= PATH_LIBC; path++) {
			const struct path_evidence *paths[] = {&call->path[path], &now->path[path]};

			if (!fact_is_known(&paths[0]->fact) || !fact_is_known(&paths[1]->fact))
				continue;
			add_cost(diff, (struct diff_cost){.call = call->call,
					       .clock = call->clock,
					       .path = path,
					       .old = times_of(paths[0]),
					       .new = times_of(paths[1])});
		}
	}
	if (fact_is_known(&old->timing.counter_ns.fact) &&
		fact_is_known(&new->timing.counter_ns.fact))
		add_cost(diff,
			(struct diff_cost){.call = "counter",
				.clock = "",
				.path = PATH_COUNT,
				.old = {old->timing.counter_ns.value, old->timing.counter_ns.value},
				.new = {new->timing.counter_ns.value,
					new->timing.counter_ns.value}});
}

/* ---- states and suspects ---- */

/* The higher the worse; below zero: unknown. */
static enum diff_change compare_ranks(int old, int new)
{
	return old < 0 || new < 0 || old == new ? DIFF_SAME : new > old ? DIFF_WORSE : DIFF_BETTER;
}

/* An undetermined verdict is neither better nor worse; ok is not worse than anything. */
static enum diff_change compare_verdicts(enum verdict_kind old, enum verdict_kind new)
{
	if (new == VERDICT_UNKNOWN || (old == VERDICT_UNKNOWN && new != VERDICT_OK))
		return DIFF_UNKNOWN;
	return compare_ranks(verdict_severities[old], verdict_severities[new]);
}

/* The CPU's counter alone, then a page of the hypervisor around it, then no mode. */
static int mode_rank(const struct vclock_evidence *vclock)
{
	if (vclock->how == VCLOCK_UNKNOWN || !*vclock->name)
		return -1;
	if (vclock->mode == VCLOCK_MODE_NONE)
		return 2;
	return strcmp(vclock->name, "pvclock") == 0 || strcmp(vclock->name, "hvclock") == 0;
}

static void add_state(struct diff *diff, const char *name, const char *old, const char *new,
	enum diff_change change)
{
	struct diff_property *state = &diff->states[diff->state_count++];

	state->name = name;
	state->change = change;
	text_clean(state->old, sizeof(state->old), old);
	text_clean(state->new, sizeof(state->new), new);
}

static int wall_clock_rank(enum wall_clock_state state)
{
	return state == WALL_CLOCK_UNKNOWN ? -1 : state != WALL_CLOCK_RIGHT;
}

/* Clocksources have no order: the mode counts. The wall clock is listed where it was compared. */
static void compare_states(struct diff *diff)
{
	const struct evidence *old = &diff->old.evidence, *new = &diff->new.evidence;
	enum verdict_kind old_verdict = diff->old.diagnosis.verdict.kind;
	enum verdict_kind new_verdict = diff->new.diagnosis.verdict.kind;
	enum wall_clock_state old_clock = diff->old.diagnosis.wall_clock.state;
	enum wall_clock_state new_clock = diff->new.diagnosis.wall_clock.state;

	add_state(diff, "verdict", verdict_answers[old_verdict].word,
		verdict_answers[new_verdict].word, compare_verdicts(old_verdict, new_verdict));
	add_state(
		diff, "clocksource", old->clocksource.current, new->clocksource.current, DIFF_SAME);
	add_state(diff, "clock mode", old->vclock.name, new->vclock.name,
		compare_ranks(mode_rank(&old->vclock), mode_rank(&new->vclock)));
	if (old_clock || new_clock)
		add_state(diff, "wall clock", wall_clock_names[old_clock],
			wall_clock_names[new_clock],
			compare_ranks(wall_clock_rank(old_clock), wall_clock_rank(new_clock)));
}

static bool is_suspect(const struct diff *diff, const char *name)
{
	for (size_t i = 0; i < diff->suspect_count; i++) {
		if (strcmp(diff->suspects[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Another base, which KVM set while the kernel ran: at a restore, a migration or a resume. */
static void find_restore(struct diff *diff)
{
	const struct base_evidence *old = &diff->old.evidence.base, *new = &diff->new.evidence.base;
	struct diff_property *suspect = &diff->suspects[diff->suspect_count];
	bool is_restored =
		diff->old.diagnosis.wall_clock.restored || diff->new.diagnosis.wall_clock.restored;

	if (!fact_is_known(&old->fact) || !fact_is_known(&new->fact) || !is_restored ||
		old->ticks == new->ticks || diff->suspect_count == DIFF_SUSPECT_MAX)
		return;
	suspect->name = "restored, migrated or paused at";
	snprintf(suspect->old, sizeof(suspect->old), "%.1f s", old->at_s);
	snprintf(suspect->new, sizeof(suspect->new), "%.1f s", new->at_s);
	diff->suspect_count++;
}

static bool differ(const char *old, const char *new)
{
	return *old && *new &&strcmp(old, new) != 0;
}

/* Each fact of the host with a title that both documents have, and that differs. */
static void find_suspects(struct diff *diff)
{
	const struct host_evidence *old = &diff->old.evidence.host, *new = &diff->new.evidence.host;

	for (const struct field *field = host_fields; field->key; field++) {
		struct diff_property *suspect = &diff->suspects[diff->suspect_count];

		if (!field->title || field->options & FIELD_OWN ||
			diff->suspect_count == DIFF_SUSPECT_MAX ||
			(field->follows && is_suspect(diff, field->follows)))
			continue;
		suspect->name = field->title;
		field_text(field, old, suspect->old, sizeof(suspect->old));
		field_text(field, new, suspect->new, sizeof(suspect->new));
		diff->suspect_count += differ(suspect->old, suspect->new);
	}
	find_restore(diff);
	if (*old->name.value && *new->name.value)
		diff->two_hosts = differ(old->name.value, new->name.value);
	else
		diff->two_hosts = differ(old->instance_id.value, new->instance_id.value) ||
		                  is_suspect(diff, "architecture") || is_suspect(diff, "CPU");
}

/* ---- the answer ---- */

/* Names the states that changed so, and the first such cost: deciding calls come first. */
static void name_changes(const struct diff *diff, enum diff_change answer, struct strbuf *text)
{
	const struct diff_cost *cost = diff->costs, *end = cost + diff->cost_count;

	for (size_t i = 0; i < diff->state_count; i++) {
		const struct diff_property *state = &diff->states[i];

		if (state->change == answer)
			strbuf_add(text, "%sthe %s was %s and is %s", text->used ? ", " : "",
				state->name, state->old, state->new);
	}
	while (cost < end && cost->change != answer)
		cost++;
	if (cost == end)
		return;
	if (text->used)
		strbuf_add(text, "; ");
	if (cost->path == PATH_COUNT)
		strbuf_add(text, "reading the CPU's counter");
	else
		strbuf_add(text, "%s", as_call(cost->call, cost->clock));
	strbuf_add(text, " took %s ns and takes %s ns", as_ns(cost->old.least),
		as_ns(cost->new.least));
}

void diff_compare(struct diff *diff)
{
	bool found[] = {[DIFF_SAME] = true, [DIFF_WORSE] = false};
	enum diff_change answer = DIFF_WORSE;
	struct strbuf text = {.used = 0};

	diagnose(&diff->old.evidence, &diff->old.diagnosis);
	diagnose(&diff->new.evidence, &diff->new.diagnosis);
	compare_costs(diff);
	compare_states(diff);
	find_suspects(diff);
	found[DIFF_WORSE] = diff->worse_count;
	found[DIFF_BETTER] = diff->better_count;
	for (size_t i = 0; i < diff->state_count; i++)
		found[diff->states[i].change] = true;
	if (!found[DIFF_WORSE])
		answer = found[DIFF_UNKNOWN]  ? DIFF_UNKNOWN
		         : found[DIFF_BETTER] ? DIFF_BETTER
		                              : DIFF_SAME;
	if (answer == DIFF_UNKNOWN)
		strbuf_add(&text, "the verdict of %s is undetermined",
			diff->new.diagnosis.verdict.kind == VERDICT_UNKNOWN ? diff->new.file
									    : diff->old.file);
	else if (answer != DIFF_SAME)
		name_changes(diff, answer, &text);
	else if (diff->cost_count)
		strbuf_add(&text,
			"the verdict is %s in both; none of %s costs differs beyond the spread of "
			"the runs",
			diff->states[0].new, as_count(diff->cost_count));
	else
		strbuf_add(&text, "the verdict is %s in both; no cost is in both",
			diff->states[0].new);
	report_answer(&diff->report, &answers[answer], NULL, NULL, "%s.", text.text);
}

/* ---- the document, and the columns of the table ---- */

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
		.doc = "verdict, clocksource, clock mode or wall clock"},
	{TEXT("old", old), .doc = "its value in the old document; null: unknown"},
	{TEXT("new", new), .doc = "its value in the new document; null: unknown"},
	{ANSWER("change", change, answers), .options = FIELD_FILLED,
		.doc = "how the new value compares; a clocksource alone is neither better nor worse"},
	{0},
};

static const struct field suspect_fields[] = {
	{STRING("property", name), .options = FIELD_FILLED,
		.doc = "property of the host that differs"},
	{TEXT("old", old), .options = FIELD_FILLED, .doc = "its value in the old document"},
	{TEXT("new", new), .options = FIELD_FILLED, .doc = "its value in the new document"},
	{0},
};

static void print_name(const void *object, const void *whole, FILE *out)
{
	const struct diff_cost *cost = object;

	(void)whole;
	fputs(as_call(cost->call, cost->clock), out);
}

static void print_change(const void *object, const void *whole, FILE *out)
{
	enum diff_change change = ((const struct diff_cost *)object)->change;

	(void)whole;
	if (change != DIFF_SAME)
		fputs(answers[change].word, out);
}

#undef OF
#define OF struct diff_cost

static const struct field cost_fields[] = {
	{STRING("call", call), .options = FIELD_FILLED, .title = "ns per call", .width = 34,
		.left = true, .cell = print_name,
		.doc = "name of the call; counter: a read of the CPU's counter"},
	{STRING("clock", clock), .doc = "clock that it reads; null: the call takes none"},
	{WORD("path", path, call_path_names), .title = "by", .width = 9, .left = true,
		.doc = "path of the call: by the vDSO, by libc, or by raw system call; null: of "
		       "the counter"},
	{NS("old_ns", old.least), .options = FIELD_FILLED, .title = "old", .width = 10,
		.doc = "ns per call in the old document, least of the batches"},
	{NS("old_most_ns", old.most), .options = FIELD_FILLED,
		.doc = "ns per call in the old document, 99th percentile of the batches or, "
		       "without one, median"},
	{NS("new_ns", new.least), .options = FIELD_FILLED, .title = "new", .width = 10,
		.doc = "ns per call in the new document, least of the batches"},
	{NS("new_most_ns", new.most), .options = FIELD_FILLED,
		.doc = "ns per call in the new document, 99th percentile of the batches or, "
		       "without one, median"},
	{ANSWER("change", change, answers), .options = FIELD_FILLED, .title = "change",
		.left = true, .cell = print_change,
		.doc = "worse: new_ns is at least 1.5 times old_most_ns and 2 ns more; better: "
		       "the same the other way round; same: neither"},
	{0},
};

#undef OF
#define OF struct diff

static const struct field diff_fields[] = {
	{FLAG("two_hosts", two_hosts), .options = FIELD_FILLED,
		.doc = "whether the host's name differs or, where it is not in both documents, the "
		       "instance ID, the architecture or the CPU"},
	{OBJECT("old", old, document_fields), .doc = "first document"},
	{OBJECT("new", new, document_fields), .doc = "second document"},
	{LIST("states", states, state_count, state_fields), .options = FIELD_FILLED,
		.doc = "verdict, clocksource and clock mode"},
	{LIST("costs", costs, cost_count, cost_fields), .options = FIELD_FILLED,
		.doc = "costs of calls that both documents have, but for system calls and clocks of "
		       "CPU time, which no vDSO serves"},
	{LIST("suspects", suspects, suspect_count, suspect_fields), .options = FIELD_FILLED,
		.doc = "properties of the host that differ: what may be behind a change"},
	{0},
};

/* ---- the text ---- */

/* The answer then fits a terminal of 24 lines; beside many suspects, with one row less. */
#define SCREEN_COSTS 4
#define SUSPECTS_MANY 6

/* "clocks.json, web-1, 2026-11-21T15:02:11Z" */
static void write_document(
	struct page *page, const char *label, const struct diff_document *document)
{
	const struct text_fact *facts[] = {
		&document->evidence.host.name, &document->evidence.timestamp.time};

	page_line(page, label, "%s", document->file);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		if (fact_is_known(&facts[i]->fact))
			page_add(page, ", %s", facts[i]->value);
	}
}

/* Writes the costs that changed; all of them with -v, and the first ones if none did. */
static void write_costs(struct page *page, const struct diff *diff)
{
	static struct diff_cost shown[DIFF_COST_MAX];
	size_t most = diff->suspect_count > SUSPECTS_MANY ? SCREEN_COSTS - 1 : SCREEN_COSTS;
	bool all = page->all || !(diff->worse_count + diff->better_count);
	struct table table = {.fields = cost_fields, TABLE_ROWS(shown, 0)};
	size_t count = 0;

	for (size_t i = 0; i < diff->cost_count; i++) {
		if (all || diff->costs[i].change != DIFF_SAME)
			shown[count++] = diff->costs[i];
	}
	table.count = page->all || count < most ? count : most;
	page_table(page, &table);
	if (count > table.count)
		fprintf(page->out, "  and %zu more (-v)\n", count - table.count);
}

static void diff_text(const void *data, struct page *page)
{
	const struct diff *diff = data;
	const struct diagnosis *diagnosis = &diff->new.diagnosis;
	bool worse = diff->report.answer == &answers[DIFF_WORSE];

	fputc('\n', page->out);
	write_document(page, "old", &diff->old);
	write_document(page, "new", &diff->new);
	if (diff->two_hosts)
		page_line(page, "", "The documents are of two hosts.");
	for (size_t i = 0; i < diff->state_count; i++) {
		const char *old = *diff->states[i].old ? diff->states[i].old : "unknown";
		const char *new = *diff->states[i].new ? diff->states[i].new : "unknown";

		if (strcmp(old, new) == 0)
			page_line(page, diff->states[i].name, "%s in both", new);
		else
			page_line(page, diff->states[i].name, "%s -> %s", old, new);
	}
	/* The causes of the new verdict, which the document alone explains in full. */
	for (size_t i = 0; i < diagnosis->cause_count && diagnosis->verdict.kind != VERDICT_OK;
		i++) {
		if (i)
			page_add(page, ", %s", diagnosis->causes[i].id);
		else
			page_line(page, "causes", "%s", diagnosis->causes[i].id);
	}
	if (worse && !diff->suspect_count)
		page_line(page, "suspects", "none: nothing else in the documents differs");
	for (size_t i = 0; i < diff->suspect_count; i++) {
		const struct diff_property *suspect = &diff->suspects[i];

		if (i)
			page_add(page, "; ");
		else
			page_line(page, worse ? "suspects" : "also differ", "%s", "");
		page_add(page, "%s: %s -> %s", suspect->name, suspect->old, suspect->new);
	}
	write_costs(page, diff);
}

/* ---- the command ---- */

#undef OF
#define OF struct diff_document

const struct field diff_document_fields[] = {
	{EVIDENCE_TIME(evidence)},
	{EVIDENCE(evidence)},
	{0},
};

static bool read_document(struct diff_document *document, const char *path)
{
	struct fact why = {0};

	text_clean(document->file, sizeof(document->file), document_name(path));
	if (!document_read(path, diff_document_fields, document, &why))
		return cli_error("%s: %s", document->file, why.reason);
	return true;
}

static bool measure(struct cli *cli)
{
	struct diff *diff = cli->data;

	if (cli->operand_count != 2)
		return cli_usage_error("specify two documents, the old one first");
	if (strcmp(cli->operands[0], "-") == 0 && strcmp(cli->operands[1], "-") == 0)
		return cli_usage_error("only one of the documents can be standard input");
	if (!read_document(&diff->old, cli->operands[0]) ||
		!read_document(&diff->new, cli->operands[1]))
		return false;
	diff_compare(diff);
	return true;
}

static const struct report_type type = {.schema = "vdsocheck-diff/1",
	.fields = diff_fields,
	.indent = 16,
	.measure = measure,
	.text = diff_text};

const struct command diff_command = {
	.name = "diff",
	.summary = "compare two documents: did the clock calls get worse?",
	.help = "Compares two documents of 'vdsocheck --json', such as those before and after an "
		"update, or those of two images. Reports whether the verdict, the clock mode or "
		"the cost of a call got worse, beyond the noise of both runs, and what else "
		"differs: kernel, boot parameters, hypervisor, instance type, CPU, microcode, "
		"libc. One of the two may be '-', standard input.",
	.status = "3 usage error, a document that cannot be read, or failed output.",
	.answers = answers,
	.formats = report_formats,
	.report = &type,
	.size = sizeof(struct diff),
	.run = report_run,
	.operands = "OLD NEW",
};
