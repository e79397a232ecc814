/* SPDX-License-Identifier: MIT */
/*
 * The command fleet: documents of many hosts are read one after the other, and of each only what
 * is shown is kept. Each is judged anew, as --from does, since the version that wrote it may have
 * judged otherwise. A document that cannot be read is named and does not keep the others from
 * being read. The screen fits 24 lines, the document has all groups; src/share/sql has the rest.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "commands.h"
#include "judge.h"
#include "report.h"

/* Further broken documents are counted, not named. */
#define NAMED_MAX 20

/* Directories in one another: more than any collection of documents has. */
#define DEPTH_MAX 16

/* By verdict. */
static const struct answer answers[] = {
	[VERDICT_UNKNOWN] = {"unknown", COLOR_MAGENTA, 2,
		"a host is undetermined, or a document could not be read"},
	[VERDICT_OK] = {"ok", COLOR_GREEN, 0,
		"the clock calls of all hosts are served by the vDSO"},
	[VERDICT_FALLBACK] = {"fallback", COLOR_RED, 1, "a host falls back to system calls"},
	[VERDICT_SLOW] = {"slow", COLOR_YELLOW, 1, "is slow"},
	[VERDICT_WRONG] = {"wrong", COLOR_RED, 1, "has wrong values"},
	{0},
};

struct fleet_host {
	char *name; /* owned */
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
	char path[PATH_MAX]; /* of what is being read; one for all levels */
	bool not_found;      /* an operand could not be read */
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
struct fleet_document {
	struct evidence evidence;
	char file[PATH_MAX]; /* whose document it was, for `check --from`; "": not known */
};

static volatile bool stop;

/* ---- reading ---- */

/* Without a name of its own, the host is called by its file or `place`, where it was found. */
static void add_host(struct fleet *fleet, const struct fleet_document *document, const char *place)
{
	static struct diagnosis diagnosis;
	const struct evidence *evidence = &document->evidence;
	const char *name = evidence->host.name.value;
	struct fleet_host host = {.cause = "none found", .call_ns = NAN, .lost_ns = NAN};

	/* Hosts that still have the name of their image cannot be told apart by it. */
	if (!*name || text_starts(text_span(name), "localhost"))
		name = *document->file ? document->file : place;
	diagnose(evidence, &diagnosis);
	host.name = xstrdup(name);
	host.verdict = diagnosis.verdict.kind;
	if (diagnosis.cause_count)
		host.cause = diagnosis.causes[0].id;
	if (fact_is_known(&diagnosis.cost.call_ns.fact))
		host.call_ns = diagnosis.cost.call_ns.value;
	if (fact_is_known(&diagnosis.cost.vdso_ns.fact))
		host.lost_ns = diagnosis.cost.lost_ns;
	text_copy(host.kernel, sizeof(host.kernel),
		*evidence->host.kernel.value ? evidence->host.kernel.value : "unknown");
	fleet->hosts = array_grow(fleet->hosts, fleet->count, &fleet->room, sizeof(host));
	fleet->hosts[fleet->count++] = host;
}

#define OF struct fleet_document

static const struct field document_fields[] = {
	{TEXT("file", file)},
	{0},
};

/* `line` is 0 if the problem is not in a line. */
static void note_broken(struct fleet *fleet, unsigned long line, const char *why)
{
	char place[24] = "";

	if (++fleet->broken > NAMED_MAX)
		return;
	if (line)
		snprintf(place, sizeof(place), ":%lu", line);
	cli_error("%s%s: %s", fleet->path, place, why);
}

/* Takes the file, which is the one at fleet->path. */
static void read_file(struct fleet *fleet, int file)
{
	static struct fleet_document document;
	static char place[PATH_MAX + 24]; /* "clocks.jsonl:17" */
	const struct document_part parts[] = {
		timestamp_part(NULL, &document.evidence.timestamp),
		evidence_part(NULL, &document.evidence),
		{.fields = document_fields, .to = &document},
		{0},
	};
	struct document_stream stream;
	unsigned long line;
	size_t found = 0;

	document_stream_start(&stream, file);
	stream.stop = &stop;
	for (;; found++) {
		struct fact why = {0};
		enum document_found kind;

		memset(&document, 0, sizeof(document));
		kind = document_stream_next(&stream, parts, &line, &why);
		/* An interrupt may have cut a document off. */
		if (kind == DOCUMENT_END || (kind == DOCUMENT_BROKEN && stop))
			break;
		if (kind == DOCUMENT_BROKEN) {
			note_broken(fleet, line, why.reason);
			continue;
		}
		text_copy(place, sizeof(place), fleet->path);
		if (found || document_stream_has_more(&stream))
			text_append(place, sizeof(place), ":%lu", line);
		add_host(fleet, &document, place);
		if (fleet->count % 100 == 0)
			progress_say("reading: %zu hosts", fleet->count);
	}
	if (!found && !stop)
		note_broken(fleet, 1, "empty: no document");
	document_stream_end(&stream);
}

/* Hidden files are those of editors and of downloads under way. */
static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/*
 * Reads the directory at fleet->path, in the order of names. Other users may replace what is in
 * it at any time: only regular files and directories are opened, and symbolic links, which may
 * lead to another document or in a circle, are left out.
 */
static void read_directory(struct fleet *fleet, unsigned depth)
{
	size_t length = strlen(fleet->path), room = sizeof(fleet->path) - length;
	struct dirent **names = NULL;
	int count = depth > DEPTH_MAX ? -1 : scandir(fleet->path, &names, is_shown, alphasort);

	if (count < 0)
		note_broken(fleet, 0,
			depth > DEPTH_MAX ? "more than 16 directories deep" : strerror(errno));
	for (int i = 0; i < count; i++) {
		struct stat status;
		int file = -1;

		errno = ENAMETOOLONG;
		if (!stop &&
			snprintf(fleet->path + length, room, "/%s", names[i]->d_name) < (int)room)
			file = file_open_regular(AT_FDCWD, fleet->path, O_RDONLY, &status);
		if (file < 0 && errno != EOPNOTSUPP && !stop) {
			note_broken(fleet, 0, strerror(errno));
		} else if (file >= 0 && S_ISDIR(status.st_mode)) {
			close(file);
			read_directory(fleet, depth + 1);
		} else if (file >= 0) {
			read_file(fleet, file);
		}
		fleet->path[length] = '\0';
		free(names[i]);
	}
	free(names);
}

/* The operand may be a link, a FIFO, /dev/fd/N. */
static void read_operand(struct fleet *fleet, const char *path)
{
	struct fact why = {0};
	struct stat status;
	int file = document_open(path, &why);

	if (file < 0) {
		cli_error("%s: %s", document_name(path), why.reason);
		fleet->not_found = true;
		return;
	}
	text_copy(fleet->path, sizeof(fleet->path), document_name(path));
	if (file > STDIN_FILENO && fstat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
		close(file);
		read_directory(fleet, 0);
	} else {
		read_file(fleet, file);
	}
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
	char broken[64] = "";
	size_t ok;

	qsort(fleet->hosts, fleet->count, sizeof(*fleet->hosts), compare_hosts);
	for (size_t i = 0; i < fleet->count; i++) {
		const struct fleet_host *host = &fleet->hosts[i];

		if (verdict_severities[host->verdict] > verdict_severities[worst])
			worst = host->verdict;
		count_in(fleet, BY_VERDICT, verdict_names[host->verdict]);
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
	report_answer(&fleet->report, &answers[worst], NULL, NULL, "%zu of %zu host%s %s ok.%s", ok,
		fleet->count, fleet->count == 1 ? "" : "s", ok == 1 ? "is" : "are", broken);
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
	{WORD("verdict", verdict, verdict_names), .doc = "verdict, judged anew"},
	{TEXT("kernel", kernel), .options = FIELD_FILLED,
		.doc = "release of the kernel, or \"unknown\""},
	{.key = "name",
		.kind = FIELD_STRING,
		.options = FIELD_FILLED,
		MEMBER(name),
		.title = "host",
		.left = true,
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
	struct fleet_group rows[VERDICT_WRONG + 1];
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

	if (!cli->operand_count && isatty(STDIN_FILENO))
		return cli_usage_error(
			"specify files or directories, or provide documents on standard input");
	work_begin(cli, "reading", &stop);
	if (!cli->operand_count)
		read_operand(fleet, "-");
	for (size_t i = 0; i < cli->operand_count && !stop; i++)
		read_operand(fleet, cli->operands[i]);
	work_end();
	if (fleet->broken > NAMED_MAX)
		cli_error("%zu more documents cannot be read", fleet->broken - NAMED_MAX);
	if (fleet->count)
		sum_up(fleet);
	else if (!fleet->broken && !fleet->not_found && !stop)
		cli_error("no documents in %s%s",
			document_name(cli->operand_count ? cli->operands[0] : "-"),
			cli->operand_count > 1 ? " and the others" : "");
	return fleet->count;
}

static void release(void *data)
{
	struct fleet *fleet = data;

	for (size_t i = 0; i < fleet->count; i++)
		free(fleet->hosts[i].name);
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
		"3 usage error, a FILE or DIR that cannot be opened, no document, or failed output.",
	.answers = answers,
	.formats = report_formats,
	.report = &type,
	.size = sizeof(struct fleet),
	.run = report_run,
	.operands = "[FILE|DIR]...",
	.never_verbose = true,
};
