/* SPDX-License-Identifier: MIT */
/*
 * Reads the documents of files and directories. Where one is broken, the next begins at the next
 * line that begins with '{': a document of --json has no other such line, and of those on one line
 * each a truncated one costs no other. Other users may replace what is in a directory at any time:
 * only regular files and directories are opened there, and symbolic links, which may lead to
 * another document or in a circle, are left out.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/root.h"
#include "field.h"

/* ---- the documents of a file ---- */

/* The buffer has one document and a part of the next ones, which is moved to its front. */
#define BUFFER_SIZE (2 * (size_t)DOCUMENT_SIZE_MAX)

struct stream {
	int file;
	char *bytes;
	size_t at, end;            /* the bytes that were read and are not yet taken */
	bool ended;                /* all bytes were read */
	int error;                 /* an errno, to be reported at the end; 0: none */
	unsigned long line;        /* number of the next byte's line, from 1 */
	const volatile bool *stop; /* once it is true no more is read */
};

enum found {
	FOUND_END,
	FOUND_DOCUMENT,
	FOUND_BROKEN, /* the next one can still be read */
};

/* Fills the buffer until it has the largest document, or all that is left of the file. */
static void fill(struct stream *stream)
{
	size_t left = stream->end - stream->at;

	if (left >= DOCUMENT_SIZE_MAX || stream->ended)
		return;
	memmove(stream->bytes, stream->bytes + stream->at, left);
	stream->at = 0;
	stream->end = left;
	while (!stream->ended && stream->end < BUFFER_SIZE) {
		ssize_t got =
			read(stream->file, stream->bytes + stream->end, BUFFER_SIZE - stream->end);

		if (got > 0) {
			stream->end += (size_t)got;
		} else if (got == 0 || errno != EINTR) {
			stream->error = got < 0 ? errno : 0;
			stream->ended = true;
		}
		if (*stream->stop)
			stream->ended = true;
	}
}

static void advance(struct stream *stream, size_t length)
{
	const char *at = stream->bytes + stream->at, *end = at + length;

	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		stream->line++;
		at++;
	}
	stream->at += length;
}

/* Returns false if only blanks are left. */
static bool has_more(struct stream *stream)
{
	do {
		size_t blanks;

		fill(stream);
		blanks = stream->at;
		/* A NUL is not a blank. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
		while (blanks < stream->end && memchr(" \t\r\n", stream->bytes[blanks], 4))
			blanks++;
		advance(stream, blanks - stream->at);
	} while (stream->at == stream->end && !stream->ended);
	return stream->at < stream->end;
}

/* A file without a document for so long is not a stream, and may have holes of terabytes. */
#define SKIPPED_MIB_MAX 64

/* Skips to the next line that begins with '{', or the end. */
static void skip_broken(struct stream *stream, struct fact *why)
{
	size_t left = SKIPPED_MIB_MAX * (size_t)1024 * 1024;
	bool line_begins = false;

	for (fill(stream); stream->at < stream->end; fill(stream)) {
		const char *at = stream->bytes + stream->at, *newline;
		size_t length = stream->end - stream->at;

		if (line_begins && *at == '{')
			return;
		newline = memchr(at, '\n', length);
		line_begins = newline;
		length = newline ? (size_t)(newline + 1 - at) : length;
		advance(stream, length);
		if (length > left) {
			fact_set(why, FACT_FAILED, "no document in %d MiB: the rest is not read",
				SKIPPED_MIB_MAX);
			stream->at = stream->end;
			stream->ended = true;
			return;
		}
		left -= length;
	}
}

/*
 * Reads the next document as document_parse() does. *line is the line that it begins at; if it is
 * broken, *line may be the one where it breaks, and *why has the mistake.
 */
static enum found read_next(struct stream *stream, const struct field *fields, void *to,
	unsigned long *line, struct fact *why)
{
	json_error_t error;
	json_t *root;
	size_t length;

	if (!has_more(stream)) {
		*line = stream->line;
		if (!stream->error)
			return FOUND_END;
		fact_set(why, FACT_FAILED, "%s", strerror(stream->error));
		stream->error = 0;
		return FOUND_BROKEN;
	}
	length = stream->end - stream->at;
	if (length > DOCUMENT_SIZE_MAX)
		length = DOCUMENT_SIZE_MAX;
	*line = stream->line;
	root = json_loadb(stream->bytes + stream->at, length,
		JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);
	if (root) {
		advance(stream, (size_t)error.position);
		return document_read_json(root, fields, to, why) ? FOUND_DOCUMENT : FOUND_BROKEN;
	}
	if (length == DOCUMENT_SIZE_MAX &&
		json_error_code(&error) == json_error_premature_end_of_input) {
		fact_set(why, FACT_FAILED, DOCUMENT_TOO_LARGE);
		skip_broken(stream, why);
		return FOUND_BROKEN;
	}
	document_refuse_syntax(&error, "", why);
	skip_broken(stream, why);
	/* A truncated document may have swallowed the next. */
	if (*line + (unsigned long)error.line - 1 < stream->line)
		*line += (unsigned long)error.line - 1;
	return FOUND_BROKEN;
}

/* ---- files and directories ---- */

/* Directories in one another: more than any collection of documents has. */
#define DEPTH_MAX 16

struct place {
	const struct document_reader *reader;
	char path[PATH_MAX]; /* of what is being read; one for all levels */
};

/* `line` is 0 if it is not about a line. */
static void say(const struct place *place, unsigned long line, const char *refused)
{
	const struct document_reader *reader = place->reader;
	char name[PATH_MAX + 24]; /* "clocks.jsonl:17" */

	text_clean(name, sizeof(name), place->path);
	if (line)
		text_append(name, sizeof(name), ":%lu", line);
	if (refused)
		reader->refuse(reader->argument, name, refused);
	else
		reader->take(reader->argument, name);
}

/* Takes over the file, which is the one at place->path; standard input stays open. */
static void read_file(const struct place *place, int file)
{
	const struct document_reader *reader = place->reader;
	struct stream stream = {
		.file = file, .bytes = xmalloc(BUFFER_SIZE), .line = 1, .stop = reader->stop};
	enum found kind;
	unsigned long line;
	size_t found = 0;

	for (;; found++) {
		struct fact why = {0};

		memset(reader->to, 0, reader->size);
		kind = read_next(&stream, reader->fields, reader->to, &line, &why);
		/* An interrupt may have cut a document off. */
		if (kind == FOUND_END || (kind == FOUND_BROKEN && *reader->stop))
			break;
		if (kind == FOUND_BROKEN)
			say(place, line, why.reason);
		else
			say(place, found || has_more(&stream) ? line : 0, NULL);
	}
	if (!found && !*reader->stop)
		say(place, 1, "empty: no document");
	free(stream.bytes);
	if (file != STDIN_FILENO)
		close(file);
}

/* Hidden files are those of editors and of downloads under way. */
static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void read_directory(struct place *place, unsigned depth)
{
	size_t length = strlen(place->path), room = sizeof(place->path) - length;
	struct dirent **names = NULL;
	int count = depth > DEPTH_MAX ? -1 : scandir(place->path, &names, is_shown, alphasort);

	if (count < 0)
		say(place, 0,
			depth > DEPTH_MAX ? "more than 16 directories deep" : strerror(errno));
	for (int i = 0; i < count; free(names[i++])) {
		struct stat status;
		int file = -1;

		if (*place->reader->stop)
			continue;
		errno = ENAMETOOLONG;
		if (snprintf(place->path + length, room, "/%s", names[i]->d_name) < (int)room)
			file = file_open_regular(AT_FDCWD, place->path, O_RDONLY, &status);
		if (file >= 0 && S_ISDIR(status.st_mode)) {
			close(file);
			read_directory(place, depth + 1);
		} else if (file >= 0) {
			read_file(place, file);
		} else if (errno != EOPNOTSUPP) {
			say(place, 0, strerror(errno));
		}
		place->path[length] = '\0';
	}
	free(names);
}

/* The path may be a link, a FIFO, /dev/fd/N. */
bool document_read_all(const char *path, const struct document_reader *reader, struct fact *why)
{
	struct place place = {.reader = reader};
	int file = document_open(path, why);
	struct stat status;

	if (file < 0)
		return false;
	text_clean(place.path, sizeof(place.path), document_name(path));
	if (file == STDIN_FILENO || fstat(file, &status) != 0 || !S_ISDIR(status.st_mode)) {
		read_file(&place, file);
	} else {
		close(file);
		read_directory(&place, 0);
	}
	return true;
}
