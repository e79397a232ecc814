/* SPDX-License-Identifier: MIT */
/*
 * The command fleet: documents of many hosts are read one after the other, and of each only what
 * is shown is kept. A document that cannot be read is named and does not keep the others from
 * being read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "collect.h"
#include "commands.h"
#include "document.h"
#include "model.h"

/* Further broken documents are counted, not named, without --verbose. */
#define NAMED_MAX 20

/* ":17", the line of a document */
#define LINE_SIZE 24

/* Directories in one another: more than any collection of documents has. */
#define DEPTH_MAX 16
#define TOO_DEEP "more than 16 directories deep"

enum id { OPTION_TOP = OPTION_OWN, OPTION_RATE };

struct request {
	uint64_t top; /* 0: not given */
	double rate;  /* calls per second; 0: that of each document */
	struct fleet fleet;
	char path[PATH_MAX]; /* of what is being read; one for all levels, as stacks may be small */
	bool not_found;      /* an operand could not be read */
};

static volatile bool stop;

static bool take(struct cli *cli, int id, const char *value)
{
	struct request *request = cli->own;

	if (id == OPTION_TOP)
		return take_count("--top", text_span(value), "rows, such as 20", &request->top);
	return take_rate("--rate", value, &request->rate);
}

/* ---- documents ---- */

#define OF struct fleet_document

static const struct field cost_fields[] = {
	{REAL("rate_per_s", rate, -1), .options = FIELD_NEGATIVE_NONE},
	{0},
};

/* The object `cost` has no struct of its own: its only value is the document's. */
static const struct field document_fields[] = {
	{TEXT("file", file)},
	{.key = "cost", .kind = FIELD_OBJECT, .size = sizeof(OF), .fields = cost_fields},
	{0},
};

#undef OF

/* `line` is 0 for what has none. */
static void note_broken(struct cli *cli, unsigned long line, const char *why)
{
	struct request *request = cli->own;
	size_t broken = ++request->fleet.broken;

	if (broken > NAMED_MAX && !cli->verbose)
		return;
	if (line)
		cli_error("%s:%lu: %s", request->path, line, why);
	else
		cli_error("%s: %s", request->path, why);
}

static void read_documents(struct cli *cli, struct document_stream *stream)
{
	static struct fleet_document document;
	static char place[PATH_MAX + LINE_SIZE]; /* "clocks.jsonl:17" */
	struct request *request = cli->own;
	const struct document_part parts[] = {
		timestamp_part(NULL, &document.evidence.timestamp),
		evidence_part(NULL, &document.evidence),
		{.fields = document_fields, .to = &document},
		{0},
	};
	enum document_found found = DOCUMENT_END;
	bool first = true;

	for (;; first = false) {
		struct fact why = {0};
		unsigned long line;

		memset(&document, 0, sizeof(document));
		found = document_stream_next(stream, parts, &line, &why);
		if (found == DOCUMENT_END)
			break;
		if (found == DOCUMENT_BROKEN) {
			/* The interrupt has cut it off. */
			if (stop)
				break;
			note_broken(cli, line, why.reason);
			continue;
		}
		text_copy(place, sizeof(place), request->path);
		if (!first || document_stream_has_more(stream))
			snprintf(place + strlen(place), LINE_SIZE, ":%lu", line);
		if (request->rate > 0)
			document.rate = request->rate;
		fleet_add(&request->fleet, &document, place);
		if (progress_is_shown() && request->fleet.count % 100 == 0)
			progress_say("reading: %zu hosts", request->fleet.count);
	}
	if (first && found == DOCUMENT_END && !stop)
		note_broken(cli, 1, "empty: no document");
}

/* ---- files and directories ---- */

/* Takes the file. */
static void read_file(struct cli *cli, int file)
{
	struct document_stream stream;

	document_stream_start(&stream, file);
	stream.stop = &stop;
	read_documents(cli, &stream);
	document_stream_end(&stream);
}

/* Hidden files are those of editors and of downloads under way. */
static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/*
 * Reads the directory at request->path, in the order of names. Other users may replace what is in
 * it at any time: only regular files and directories are opened, and symbolic links, which may
 * lead to another document or in a circle, are left out.
 */
static void read_directory(struct cli *cli, unsigned depth)
{
	struct request *request = cli->own;
	size_t length = strlen(request->path), room = sizeof(request->path) - length;
	struct dirent **names = NULL;
	int count = depth > DEPTH_MAX ? -1 : scandir(request->path, &names, is_shown, alphasort);

	if (depth > DEPTH_MAX)
		note_broken(cli, 0, TOO_DEEP);
	else if (count < 0)
		note_broken(cli, 0, strerror(errno));
	for (int i = 0; i < count; i++) {
		struct stat status;
		int file = -1;

		errno = ENAMETOOLONG;
		if (!stop &&
			snprintf(request->path + length, room, "/%s", names[i]->d_name) < (int)room)
			file = file_open_regular(AT_FDCWD, request->path, O_RDONLY, &status);
		if (file < 0 && errno != EOPNOTSUPP && !stop) {
			note_broken(cli, 0, strerror(errno));
		} else if (file >= 0 && S_ISDIR(status.st_mode)) {
			close(file);
			read_directory(cli, depth + 1);
		} else if (file >= 0) {
			read_file(cli, file);
		}
		request->path[length] = '\0';
		free(names[i]);
	}
	free(names);
}

/* The operand may be a link, a FIFO, /dev/fd/N. */
static void read_operand(struct cli *cli, const char *path)
{
	struct request *request = cli->own;
	struct fact why = {0};
	struct stat status;
	int file = document_open(path, &why);

	if (file < 0) {
		cli_error("%s: %s", document_name(path), why.reason);
		request->not_found = true;
		return;
	}
	text_copy(request->path, sizeof(request->path), document_name(path));
	if (file > STDIN_FILENO && fstat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
		close(file);
		read_directory(cli, 0);
	} else {
		read_file(cli, file);
	}
}

/* ---- the command ---- */

static void read_all(struct cli *cli)
{
	struct request *request = cli->own;

	work_begin(cli, "reading", &stop);
	if (!cli->operand_count)
		read_operand(cli, "-");
	for (size_t i = 0; i < cli->operand_count && !stop; i++)
		read_operand(cli, cli->operands[i]);
	work_end();
	if (request->fleet.broken > NAMED_MAX && !cli->verbose)
		cli_error("%zu more documents cannot be read; -v names them",
			request->fleet.broken - NAMED_MAX);
}

static int run(struct cli *cli)
{
	struct request *request = cli->own;
	struct fleet *fleet = &request->fleet;
	struct timestamp_evidence timestamp = {0};
	struct fleet_report report = {.fleet = fleet,
		.timestamp = &timestamp,
		.rate = request->rate,
		.top = (size_t)request->top,
		.all = cli->verbose,
		.exit_status = EXIT_TROUBLE};

	if (!cli->operand_count && isatty(STDIN_FILENO)) {
		cli_usage_error(
			"specify files or directories, or provide documents on standard input");
		return EXIT_TROUBLE;
	}
	timestamp_collect(&cli->root, &timestamp, &cli->deadline);
	read_all(cli);
	if (fleet->count) {
		fleet_sum(fleet);
		fleet_summarize(fleet, report.summary);
		report.hosts = fleet->hosts;
		report.host_count = report.all ? fleet->count : fleet->sums.affected;
		if (!request->not_found)
			report.exit_status = verdict_exit_status(fleet->verdict);
		cli_print(cli, &report);
	} else if (!fleet->broken && !request->not_found && !stop) {
		cli_error("no documents to read");
	}
	fleet_free(fleet);
	return report.exit_status;
}

static const struct option_row options[] = {
	{OPTION_TOP, "top", "N",
		"show N hosts and N rows of each group (default 6, hosts and causes); -v shows all, "
		"and JSON always has all"},
	{OPTION_RATE, "rate", "CALLS[/s]",
		"estimate the CPU cost at CALLS calls per second of each host: 485000, 485k"},
	{0},
};

static const struct format formats[] = {
	{.name = "text", .write = fleet_report_text},
	{.name = "json", .write = fleet_report_json},
	{0},
};

const struct command fleet_command = {
	.name = "fleet",
	.summary = "summarize the documents of many hosts, the worst first",
	.help = "Reads documents written by 'vdsocheck --json' on many hosts, judges each anew, "
		"and prints how many are slow, the worst hosts and the causes; with --top or -v "
		"also groups by kernel, clocksource and instance type. A file contains one "
		"document or several, pretty-printed or one per line; of a directory all files "
		"are read, also those in directories below it; without operands, standard input.",
	.status =
		"that of the worst host: 0 served by the vDSO, 1 fallback or slow, 2 undetermined, "
		"or a document that could not be read; 3 usage error, a FILE or DIR that cannot be "
		"opened, no document, or failed output.",
	.options = options,
	.formats = formats,
	.size = sizeof(struct request),
	.take = take,
	.run = run,
	.operands = "[FILE|DIR]...",
};
