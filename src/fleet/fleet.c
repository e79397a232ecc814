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

struct fleet_request {
	struct fleet fleet;
	char path[PATH_MAX]; /* of what is being read; one for all levels, as stacks may be small */
	bool not_found;      /* an operand could not be read */
};

static volatile bool stop;

static bool fleet_take(struct cli *cli, int id, const char *value)
{
	struct fleet_request *request = cli->data;

	if (id == OPTION_TOP)
		return take_count(
			"--top", text_span(value), "rows, such as 20", &request->fleet.top);
	return take_rate("--rate", value, &request->fleet.rate);
}

#define OF struct fleet_document

static const struct field cost_fields[] = {
	{REAL("rate_per_s", rate, -1)},
	{0},
};

/* The object `cost` has no struct of its own: its only value is the document's. */
static const struct field document_fields[] = {
	{TEXT("file", file)},
	{.key = "cost", .kind = FIELD_OBJECT, .size = sizeof(OF), .fields = cost_fields},
	{0},
};

#undef OF

/* `line` is 0 if the problem is not in a line. */
static void note_broken(struct fleet_request *request, unsigned long line, const char *why)
{
	if (++request->fleet.broken > NAMED_MAX && !request->fleet.all)
		return;
	if (line)
		cli_error("%s:%lu: %s", request->path, line, why);
	else
		cli_error("%s: %s", request->path, why);
}

/* Takes the file, which is the one at request->path. */
static void read_file(struct fleet_request *request, int file)
{
	static struct fleet_document document;
	static char place[PATH_MAX + LINE_SIZE]; /* "clocks.jsonl:17" */
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
			note_broken(request, line, why.reason);
			continue;
		}
		text_copy(place, sizeof(place), request->path);
		if (found || document_stream_has_more(&stream))
			text_append(place, sizeof(place), ":%lu", line);
		fleet_add(&request->fleet, &document, place);
		if (request->fleet.count % 100 == 0)
			progress_say("reading: %zu hosts", request->fleet.count);
	}
	if (!found && !stop)
		note_broken(request, 1, "empty: no document");
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
static void read_directory(struct fleet_request *request, unsigned depth)
{
	size_t length = strlen(request->path), room = sizeof(request->path) - length;
	struct dirent **names = NULL;
	int count = depth > DEPTH_MAX ? -1 : scandir(request->path, &names, is_shown, alphasort);

	if (count < 0)
		note_broken(request, 0, depth > DEPTH_MAX ? TOO_DEEP : strerror(errno));
	for (int i = 0; i < count; i++) {
		struct stat status;
		int file = -1;

		errno = ENAMETOOLONG;
		if (!stop &&
			snprintf(request->path + length, room, "/%s", names[i]->d_name) < (int)room)
			file = file_open_regular(AT_FDCWD, request->path, O_RDONLY, &status);
		if (file < 0 && errno != EOPNOTSUPP && !stop) {
			note_broken(request, 0, strerror(errno));
		} else if (file >= 0 && S_ISDIR(status.st_mode)) {
			close(file);
			read_directory(request, depth + 1);
		} else if (file >= 0) {
			read_file(request, file);
		}
		request->path[length] = '\0';
		free(names[i]);
	}
	free(names);
}

/* The operand may be a link, a FIFO, /dev/fd/N. */
static void read_operand(struct fleet_request *request, const char *path)
{
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
		read_directory(request, 0);
	} else {
		read_file(request, file);
	}
}

static int fleet_run(struct cli *cli)
{
	struct fleet_request *request = cli->data;
	struct fleet *fleet = &request->fleet;
	int status = EXIT_TROUBLE;

	if (!cli->operand_count && isatty(STDIN_FILENO)) {
		cli_usage_error(
			"specify files or directories, or provide documents on standard input");
		return EXIT_TROUBLE;
	}
	fleet->all = cli->style.verbose;
	timestamp_collect(&cli->root, &fleet->timestamp, &cli->deadline);
	work_begin(cli, "reading", &stop);
	if (!cli->operand_count)
		read_operand(request, "-");
	for (size_t i = 0; i < cli->operand_count && !stop; i++)
		read_operand(request, cli->operands[i]);
	work_end();
	if (fleet->broken > NAMED_MAX && !fleet->all)
		cli_error("%zu more documents cannot be read; -v names them",
			fleet->broken - NAMED_MAX);
	if (fleet->count) {
		fleet_sum(fleet);
		fleet_summarize(fleet);
		if (!request->not_found)
			status = verdict_exit_status(fleet->verdict);
		fleet->exit_status = status;
		cli_print(cli, fleet);
	} else if (!fleet->broken && !request->not_found && !stop) {
		cli_error("no documents to read");
	}
	fleet_free(fleet);
	return status;
}

static const struct option_row options[] = {
	{OPTION_TOP, "top", "N",
		"show N hosts and N rows of each group (default: 6 hosts and 6 causes); -v shows "
		"all, and JSON always has all"},
	{OPTION_RATE, "rate", "CALLS[/s]",
		"estimate the CPU cost at CALLS calls per second of each host, such as 485k; "
		"'vdsocheck trace' counts a program's"},
	{0},
};

static const struct format formats[] = {
	{.name = "text", .write = fleet_write_text},
	{.name = "json", .write = fleet_write_json},
	{0},
};

const struct command fleet_command = {
	.name = "fleet",
	.summary = "summarize the documents of many hosts, the worst first",
	.help = "Reads documents written by 'vdsocheck --json' on many hosts, judges each anew, "
		"and prints how many are slow or wrong, the worst hosts and the causes; with --top or -v "
		"also groups by kernel, clocksource and instance type. A file contains one "
		"document or several, pretty-printed or one per line; in a directory, all files "
		"are read, including those in directories below it; without operands, standard "
		"input is read.",
	.status =
		"that of the worst host: 0 served by the vDSO, 1 fallback, slow or wrong, 2 undetermined, "
		"or a document that could not be read; 3 usage error, a FILE or DIR that cannot be "
		"opened, no document, or failed output.",
	.options = options,
	.formats = formats,
	.size = sizeof(struct fleet_request),
	.take = fleet_take,
	.run = fleet_run,
	.operands = "[FILE|DIR]...",
};
