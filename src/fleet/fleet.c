/* SPDX-License-Identifier: MIT */
/*
 * The command fleet: the documents of many hosts are judged anew, as --from does, since the version
 * that wrote one may have judged otherwise, and what is shown of each is kept. The screen fits 24
 * lines, the document has all groups; src/share/sql has the rest.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "commands.h"
#include "judge.h"
#include "report.h"

/* Further broken documents are counted, not named. */
#define NAMED_MAX 20

struct fleet_host {
	const char *name; /* owned */
	enum verdict_kind verdict;
	const char *cause; /* id of the first cause; static; or "none found" */
	char kernel[FACT_TEXT_SIZE];
	double call_ns, lost_ns; /* ns per call, and against the vDSO; NAN: unknown */
};

/* Hosts that have something in common; the name is not owned. */
struct fleet_group {
	const char *name;
	size_t hosts;
};

enum { BY_VERDICT, BY_CAUSE, BY_KERNEL, GROUPINGS };

struct fleet {
	struct report report;
	bool not_found; /* an operand could not be read */
	size_t count, room;
	struct fleet_host *hosts; /* after sum_up() the dearest first, those that are ok last */
	size_t broken;            /* documents that could not be read */
	/* After sum_up(). */
	size_t affected; /* hosts that are not ok */
	struct {
		size_t count, room;
		struct fleet_group *list;
	} groups[GROUPINGS];
};

/* What is read of a document. */
static struct fleet_document {
	struct evidence evidence;
	char file[PATH_MAX]; /* whose document it was, for `check --from`; "": not known */
} document;

static volatile bool stop;

/* ---- reading ---- */

/* Without a name of its own, the host is called by its file or `place`, where it was found. */
static void add_host(void *argument, const char *place)
{
	static struct diagnosis diagnosis;
	struct fleet *fleet = argument;
	const struct evidence *evidence = &document.evidence;
	const char *name = evidence->host.name.value;
	struct fleet_host host = {.cause = "none found", .call_ns = NAN, .lost_ns = NAN};

	/* Hosts that still have the name of their image cannot be told apart by it. */
	if (!*name || text_starts(text_span(name), "localhost"))
		name = *document.file ? document.file : place;
	diagnose(evidence, &diagnosis);
	host.name = xstrdup(name);
	host.verdict = diagnosis.verdict.kind;
	if (diagnosis.cause_count)
		host.cause = diagnosis.causes[0].id;
	if (fact_is_known(&diagnosis.cost.call_ns.fact))
		host.call_ns = diagnosis.cost.call_ns.value;
	if (fact_is_known(&diagnosis.cost.vdso_ns.fact))
		host.lost_ns = diagnosis.cost.lost_ns;
	text_clean(host.kernel, sizeof(host.kernel),
		*evidence->host.kernel.value ? evidence->host.kernel.value : "unknown");
	fleet->hosts = array_grow(fleet->hosts, fleet->count, &fleet->room, sizeof(host));
	fleet->hosts[fleet->count++] = host;
	if (fleet->count % 100 == 0)
		progress_say("reading: %zu hosts", fleet->count);
}

#define OF struct fleet_document

static const struct field document_fields[] = {
	{TEXT("file", file)},
	{EVIDENCE_TIME(evidence)},
	{EVIDENCE(evidence)},
	{0},
};

static void note_broken(void *argument, const char *place, const char *why)
{
	struct fleet *fleet = argument;

	if (++fleet->broken <= NAMED_MAX)
		cli_error("%s: %s", place, why);
}

static void read_operand(struct fleet *fleet, const char *path)
{
	const struct document_reader reader = {.fields = document_fields,
		.to = &document,
		.size = sizeof(document),
		.take = add_host,
		.refuse = note_broken,
		.argument = fleet,
		.stop = &stop};
	struct fact why = {0};

	if (document_read_all(path, &reader, &why) || stop)
		return;
	cli_error("%s: %s", document_name(path), why.reason);
	fleet->not_found = true;
}

/* ---- sums ---- */

/* Hosts that are ok come last; those that lose most come first, what they lose being known. */
static int compare_hosts(const void *first, const void *second)
{
	const struct fleet_host *a = first, *b = second;
	const double pairs[][2] = {
		{a->verdict != VERDICT_OK, b->verdict != VERDICT_OK},
		{isnan(a->lost_ns) ? -1 : a->lost_ns, isnan(b->lost_ns) ? -1 : b->lost_ns},
		{verdict_severities[a->verdict], verdict_severities[b->verdict]},
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (pairs[i][0] != pairs[i][1])
			return pairs[i][0] > pairs[i][1] ? -1 : 1;
	}
	return strcmp(a->name, b->name);
}

/* The largest first. */
static int compare_groups(const void *first, const void *second)
{
	const struct fleet_group *a = first, *b = second;

	if (a->hosts != b->hosts)
		return a->hosts > b->hosts ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* A fleet has a few dozens of kernels and causes: a search is enough. */
static void count_in(struct fleet *fleet, int grouping, const char *name)
{
	size_t place = 0, *count = &fleet->groups[grouping].count;
	struct fleet_group *list = fleet->groups[grouping].list;

	while (place < *count && strcmp(list[place].name, name) != 0)
		place++;
	if (place == *count) {
		list = array_grow(list, *count, &fleet->groups[grouping].room, sizeof(*list));
		list[(*count)++] = (struct fleet_group){.name = name};
		fleet->groups[grouping].list = list;
	}
	list[place].hosts++;
}

/* The answer is the worst verdict; with broken documents it is not better than unknown. */
static void sum_up(struct fleet *fleet)
{
	enum verdict_kind worst = fleet->broken ? VERDICT_UNKNOWN : VERDICT_OK;
	char shown[96], broken[64] = "";
	size_t ok, of_worst = 0;

	qsort(fleet->hosts, fleet->count, sizeof(*fleet->hosts), compare_hosts);
	for (size_t i = 0; i < fleet->count; i++) {
		const struct fleet_host *host = &fleet->hosts[i];

		if (verdict_severities[host->verdict] > verdict_severities[worst])
			worst = host->verdict;
		count_in(fleet, BY_VERDICT, verdict_answers[host->verdict].word);
		if (host->verdict == VERDICT_OK)
			continue;
		fleet->affected++;
		count_in(fleet, BY_CAUSE, host->cause);
		count_in(fleet, BY_KERNEL, host->kernel);
	}
	for (int i = 0; i < GROUPINGS; i++) {
		if (fleet->groups[i].count)
			qsort(fleet->groups[i].list, fleet->groups[i].count,
				sizeof(struct fleet_group), compare_groups);
	}
	ok = fleet->count - fleet->affected;
	if (fleet->broken)
		snprintf(broken, sizeof(broken), " %zu document%s not read.", fleet->broken,
			fleet->broken == 1 ? " was" : "s were");
	for (size_t i = 0; i < fleet->count; i++)
		of_worst += worst != VERDICT_OK && fleet->hosts[i].verdict == worst;
	if (of_worst)
		snprintf(shown, sizeof(shown), "%zu of %zu host%s %s this verdict, %zu", of_worst,
			fleet->count, fleet->count == 1 ? "" : "s", of_worst == 1 ? "has" : "have",
			ok);
	else
		snprintf(shown, sizeof(shown), "%zu of %zu host%s", ok, fleet->count,
			fleet->count == 1 ? "" : "s");
	report_answer(&fleet->report, &verdict_answers[worst], NULL, NULL, "%s %s ok.%s", shown,
		ok == 1 ? "is" : "are", broken);
	if (fleet->not_found)
		fleet->report.exit_status = EXIT_TROUBLE;
}

/* ---- the document, and the columns of the tables ---- */

#undef OF
#define OF struct fleet_group

/* What the columns before the bar leave of a line. */
#define BAR_WIDTH (wrap_columns() - 52)

/* `whole` is the number of hosts that the table is about. */
static void print_share(const void *object, const void *whole, FILE *out)
{
	const struct fleet_group *group = object;
	const size_t *all = whole;

	fprintf(out, "%.0f%%", 100 * (double)group->hosts / (double)*all);
}

static void print_bar(const void *object, const void *whole, FILE *out)
{
	const struct fleet_group *group = object;
	const size_t *all = whole;

	if (BAR_WIDTH < 1)
		fputc(' ', out);
	for (int i = 0; i < BAR_WIDTH * (double)group->hosts / (double)*all; i++)
		fputc('#', out);
}

static const struct field group_fields[] = {
	{STRING("name", name), .options = FIELD_FILLED, .title = "", .width = 32, .left = true,
		.doc = "what the hosts have in common, \"unknown\" or \"none found\""},
	{INTEGER("hosts", hosts, INT64_MAX), .title = "hosts", .width = 8,
		.doc = "number of these hosts"},
	{INTEGER("share", hosts, INT64_MAX), .options = FIELD_COLUMN, .title = "share", .width = 8,
		.cell = print_share},
	{INTEGER("bar", hosts, INT64_MAX), .options = FIELD_COLUMN, .title = "", .left = true,
		.cell = print_bar},
	{0},
};

#undef OF
#define OF struct fleet_host

static const struct field dear_fields[] = {
	{STRING("cause", cause), .options = FIELD_FILLED, .title = "first cause", .width = 32,
		.left = true, .doc = "id of the first cause, or \"none found\""},
	{NS("call_ns", call_ns), .title = "ns each", .width = 8,
		.doc = "ns per deciding call, the costliest one; null: unknown"},
	{NS("lost_ns", lost_ns), .title = "ns lost", .width = 8,
		.doc = "ns lost per call against the vDSO; null: unknown"},
	{ANSWER("verdict", verdict, verdict_answers), .doc = "verdict, judged anew"},
	{TEXT("kernel", kernel), .options = FIELD_FILLED,
		.doc = "release of the kernel, or \"unknown\""},
	{STRING("name", name), .options = FIELD_FILLED, .title = "host", .left = true,
		.doc = "name of the host, or else file of its document"},
	{0},
};

#undef OF
#define OF struct fleet
#define GROUPS(key, grouping)                                                                      \
	LIST_AT(key, groups[grouping].list, groups[grouping].count, group_fields)

static const struct field fleet_fields[] = {
	{INTEGER("hosts", count, INT64_MAX), .doc = "number of hosts"},
	{INTEGER("documents_broken", broken, INT64_MAX), .doc = "documents that could not be read"},
	{GROUPS("by_verdict", BY_VERDICT), .doc = "hosts by verdict"},
	{GROUPS("by_first_cause", BY_CAUSE), .doc = "hosts that are not ok, by their first cause"},
	{GROUPS("by_kernel", BY_KERNEL), .doc = "hosts that are not ok, by release of the kernel"},
	{LIST_AT("dearest", hosts, affected, dear_fields),
		.doc = "hosts that are not ok; those that lose most first"},
	{0},
};

/* ---- the screen ---- */

/* With these rows of the tables the screen fits 24 lines. */
static const size_t tops[GROUPINGS] = {VERDICT_WRONG + 1, 4, 3};
#define TOP_HOSTS 3

/* The groups beyond the top are one row. */
static void write_groups(
	const struct fleet *fleet, int grouping, const char *heading, struct page *page)
{
	const struct fleet_group *list = fleet->groups[grouping].list;
	size_t count = fleet->groups[grouping].count, all = 0, used = 0;
	struct fleet_group rows[VERDICT_WRONG + 1] = {{NULL, 0}};
	char others[48];

	for (size_t i = 0; i < count; i++) {
		all += list[i].hosts;
		if (i < tops[grouping])
			rows[used++] = list[i];
		else
			rows[used - 1].hosts += list[i].hosts;
	}
	if (used < count) {
		snprintf(others, sizeof(others), "%zu others", count - used + 1);
		rows[used - 1].name = others;
	}
	if (grouping != BY_VERDICT)
		fputc('\n', page->out);
	table_write(&(struct table){.fields = group_fields,
			    .heading = heading,
			    .whole = &all,
			    TABLE_ROWS(rows, used)},
		page->out);
}

static void fleet_text(const void *data, struct page *page)
{
	const struct fleet *fleet = data;
	size_t most = fleet->affected < TOP_HOSTS ? fleet->affected : TOP_HOSTS;

	write_groups(fleet, BY_VERDICT, "verdict", page);
	if (!fleet->affected)
		return;
	write_groups(fleet, BY_CAUSE, "first cause of those not ok", page);
	write_groups(fleet, BY_KERNEL, "their kernel", page);
	page_table(page, &(struct table){.fields = dear_fields, TABLE_ROWS(fleet->hosts, most)});
}

/* ---- the command ---- */

static bool measure(struct cli *cli)
{
	struct fleet *fleet = cli->data;
	size_t operands = cli->operand_count;

	if (!operands && isatty(STDIN_FILENO))
		return cli_usage_error(
			"specify files or directories, or provide documents on standard input");
	work_begin(cli, "reading", &stop);
	for (size_t i = 0; (i < operands || i == 0) && !stop; i++)
		read_operand(fleet, operands ? cli->operands[i] : "-");
	work_end();
	if (fleet->broken > NAMED_MAX)
		cli_error("%zu more documents cannot be read", fleet->broken - NAMED_MAX);
	if (fleet->count)
		sum_up(fleet);
	else if (!fleet->broken && !fleet->not_found && !stop)
		cli_error("no documents in %s%s", operands ? cli->operands[0] : "standard input",
			operands > 1 ? " and the others" : "");
	return fleet->count;
}

static void release(void *data)
{
	struct fleet *fleet = data;

	for (size_t i = 0; i < fleet->count; i++)
		free((char *)(uintptr_t)fleet->hosts[i].name);
	for (int i = 0; i < GROUPINGS; i++)
		free(fleet->groups[i].list);
	free(fleet->hosts);
}

static const struct report_type type = {.schema = "vdsocheck-fleet/1",
	.fields = fleet_fields,
	.measure = measure,
	.text = fleet_text,
	.release = release};

const struct command fleet_command = {
	.name = "fleet",
	.summary = "summarize the documents of many hosts",
	.help = "Reads documents written by 'vdsocheck --json' on many hosts, judges each anew, "
		"and prints how many are ok, the verdicts, first causes and kernels of the others, "
		"and the hosts that lose most. A file contains one document or "
		"several, pretty-printed or one per line; in a directory, all files are read, "
		"including those in directories below it; without operands, standard input is "
		"read.",
	.status =
		"3 usage error, a FILE or DIR that cannot be opened, no document, or failed output; "
		"it is that of the worst host, or 2 if a document cannot be read and none is worse.",
	.answers = verdict_answers,
	.formats = report_formats,
	.report = &type,
	.size = sizeof(struct fleet),
	.run = report_run,
	.operands = "[FILE|DIR]...",
	.never_verbose = true,
};
