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
#include "report.h"

/* Further broken documents are counted, not named, without --verbose. */
#define NAMED_MAX 20

/* ":17", the line of a document */
#define LINE_SIZE 24

/* Directories in one another: more than any collection of documents has. */
#define DEPTH_MAX 16

enum id { OPTION_TOP = OPTION_OWN, OPTION_RATE };

struct request {
	uint64_t top; /* 0: not given */
	double rate;  /* calls per second; 0: that of each document */
	struct fleet fleet;
	char path[PATH_MAX]; /* of what is being read; one for all levels, as stacks may be small */
	bool not_found;      /* an operand could not be read */
	bool no_memory;
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
		moment_part(NULL, &document.evidence.moment),
		evidence_part(NULL, &document.evidence),
		{.fields = document_fields, .to = &document},
		{0},
	};
	enum document_found found = DOCUMENT_END;
	bool first = true;

	for (; !request->no_memory; first = false) {
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
		request->no_memory = !fleet_add(&request->fleet, &document, place);
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

struct names {
	char **list;
	size_t count, room;
};

static int by_name(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

static bool add_name(struct names *names, const char *name)
{
	char **list = array_grow(names->list, names->count, &names->room, sizeof(*list));

	if (!list)
		return false;
	names->list = list;
	list[names->count] = strdup(name);
	return list[names->count++];
}

/* Hidden files are those of editors and of downloads under way. False with errno. */
static bool list_names(DIR *directory, struct names *names)
{
	struct dirent *entry;

	for (errno = 0; (entry = readdir(directory)); errno = 0) {
		if (entry->d_name[0] != '.' && !add_name(names, entry->d_name))
			return false;
	}
	if (errno)
		return false;
	if (names->count)
		qsort(names->list, names->count, sizeof(*names->list), by_name);
	return true;
}

static bool read_directory(struct cli *cli, int file, unsigned depth, struct fact *why);

/*
 * Other users may rename what is in the directory at any time: what counts is what was opened,
 * and it is opened below the directory that was opened before. Symbolic links are left out: they
 * may lead to another document, or in a circle.
 */
static void read_entry(struct cli *cli, int directory, const char *name, unsigned depth)
{
	struct request *request = cli->own;
	size_t length = strlen(request->path), room = sizeof(request->path) - length;
	struct fact why = {0};
	struct stat status;
	int file = -1;

	errno = ENAMETOOLONG;
	if (snprintf(request->path + length, room, "/%s", name) < (int)room)
		file = file_open_regular(directory, name, O_RDONLY, &status);
	if (file < 0 && errno != EOPNOTSUPP)
		note_broken(cli, 0, strerror(errno));
	else if (file >= 0 && !S_ISDIR(status.st_mode))
		read_file(cli, file);
	else if (file >= 0 && !read_directory(cli, file, depth + 1, &why))
		note_broken(cli, 0, why.reason);
	request->path[length] = '\0';
}

/* In the order of names; takes the file. False with the reason if it cannot be read. */
static bool read_directory(struct cli *cli, int file, unsigned depth, struct fact *why)
{
	struct request *request = cli->own;
	struct names names = {0};
	DIR *directory = depth <= DEPTH_MAX ? fdopendir(file) : NULL;
	bool read = directory && list_names(directory, &names);

	if (depth > DEPTH_MAX)
		fact_set(why, FACT_FAILED, "more than %d directories deep", DEPTH_MAX);
	else if (!read)
		fact_set(why, FACT_FAILED, "%s", strerror(errno));
	for (size_t i = 0; i < names.count; i++) {
		if (read && !stop && !request->no_memory)
			read_entry(cli, file, names.list[i], depth);
		free(names.list[i]);
	}
	free(names.list);
	if (directory)
		closedir(directory);
	else
		close(file);
	return read;
}

/* What the user named may be a link, a FIFO, /dev/fd/N. */
static void read_operand(struct cli *cli, const char *path)
{
	struct request *request = cli->own;
	struct fact why = {0};
	struct stat status;
	int file = document_open(path, &why);
	bool is_directory =
		file > STDIN_FILENO && fstat(file, &status) == 0 && S_ISDIR(status.st_mode);

	text_copy(request->path, sizeof(request->path), document_name(path));
	if (file >= 0 && !is_directory) {
		read_file(cli, file);
	} else if (file < 0 || !read_directory(cli, file, 0, &why)) {
		cli_error("%s: %s", document_name(path), why.reason);
		request->not_found = true;
	}
}

/* ---- the command ---- */

static void read_all(struct cli *cli)
{
	struct request *request = cli->own;

	work_begin(cli, "reading", &stop);
	if (!cli->operand_count)
		read_operand(cli, "-");
	for (size_t i = 0; i < cli->operand_count && !stop && !request->no_memory; i++)
		read_operand(cli, cli->operands[i]);
	work_end();
	if (request->fleet.broken > NAMED_MAX && !cli->verbose)
		cli_error("%zu more documents cannot be read; -v names them",
			request->fleet.broken - NAMED_MAX);
}

/* Prints the report of what was read. */
static int print_report(struct cli *cli, const struct moment_evidence *moment)
{
	const struct request *request = cli->own;
	const struct fleet *fleet = &request->fleet;
	struct fleet_report report = {.fleet = fleet,
		.moment = moment,
		.rate = request->rate,
		.top = (size_t)request->top,
		.all = cli->verbose};

	if (!fleet->count) {
		if (!fleet->broken && !request->not_found && !stop)
			cli_error("no documents to read");
		return EXIT_TROUBLE;
	}
	fleet_summarize(fleet, report.summary);
	report.exit_status =
		request->not_found ? EXIT_TROUBLE : verdict_exit_status(fleet_verdict(fleet));
	cli_print(cli, &report);
	return report.exit_status;
}

static int run(struct cli *cli)
{
	struct request *request = cli->own;
	struct moment_evidence moment = {0};
	int status = EXIT_TROUBLE;

	if (!cli->operand_count && isatty(STDIN_FILENO)) {
		cli_usage_error(
			"specify files or directories, or provide documents on standard input");
		return EXIT_TROUBLE;
	}
	moment_collect(&cli->root, &moment, &cli->deadline);
	request->no_memory = !fleet_start(&request->fleet);
	if (!request->no_memory)
		read_all(cli);
	if (request->no_memory || !fleet_sum(&request->fleet))
		cli_error("out of memory after %zu hosts", request->fleet.count);
	else
		status = print_report(cli, &moment);
	fleet_free(&request->fleet);
	return status;
}

static const struct option_row options[] = {
	{OPTION_TOP, "top", "N",
		"show N hosts and N rows of each group (default 6, hosts and causes); -v shows all"},
	{OPTION_RATE, "rate", "CALLS[/s]",
		"estimate the CPU cost at CALLS calls per second of each host: 485000, 485k"},
	{0},
};

static const struct format formats[] = {
	{.name = "text", .write = fleet_report_text},
	{.name = "json", .write = fleet_report_json},
	{.name = "csv", .summary = "a line for each host", .write = fleet_report_csv},
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
