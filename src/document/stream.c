/* SPDX-License-Identifier: MIT */
/*
 * Reads the documents of a file, one after the other. Where one is broken, the next begins at the
 * next line that begins with '{': a document of --json has no other such line, and of those on one
 * line each a truncated one costs no other.
 */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "field.h"

/* The buffer has one document and a part of the next ones, which is moved to its front. */
#define BUFFER_SIZE (2 * (size_t)DOCUMENT_SIZE_MAX)

void document_stream_start(struct document_stream *stream, int file)
{
	*stream = (struct document_stream){.file = file, .bytes = xmalloc(BUFFER_SIZE), .line = 1};
}

void document_stream_end(struct document_stream *stream)
{
	free(stream->bytes);
	if (stream->file != STDIN_FILENO)
		close(stream->file);
}

/* Fills the buffer until it has the largest document, or all that is left of the file. */
static void stream_fill(struct document_stream *stream)
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
		if (stream->stop && *stream->stop)
			stream->ended = true;
	}
}

static void stream_advance(struct document_stream *stream, size_t length)
{
	const char *at = stream->bytes + stream->at, *end = at + length;

	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		stream->line++;
		at++;
	}
	stream->at += length;
}

bool document_stream_has_more(struct document_stream *stream)
{
	do {
		size_t blanks;

		stream_fill(stream);
		blanks = stream->at;
		/* A NUL is not a blank. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
		while (blanks < stream->end && memchr(" \t\r\n", stream->bytes[blanks], 4))
			blanks++;
		stream_advance(stream, blanks - stream->at);
	} while (stream->at == stream->end && !stream->ended);
	return stream->at < stream->end;
}

/* A file without a document for so long is not a stream, and may have holes of terabytes. */
#define SKIPPED_MIB_MAX 64

/* Skips to the next line that begins with '{', or the end. */
static void skip_broken(struct document_stream *stream, struct fact *why)
{
	size_t left = SKIPPED_MIB_MAX * (size_t)1024 * 1024;
	bool line_begins = false;

	for (stream_fill(stream); stream->at < stream->end; stream_fill(stream)) {
		const char *at = stream->bytes + stream->at, *newline;
		size_t length = stream->end - stream->at;

		if (line_begins && *at == '{')
			return;
		newline = memchr(at, '\n', length);
		line_begins = newline;
		length = newline ? (size_t)(newline + 1 - at) : length;
		stream_advance(stream, length);
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

enum document_found document_stream_next(struct document_stream *stream, const struct field *fields,
	void *to, unsigned long *line, struct fact *why)
{
	json_error_t error;
	json_t *root;
	size_t length;

	if (!document_stream_has_more(stream)) {
		*line = stream->line;
		if (!stream->error)
			return DOCUMENT_END;
		fact_set(why, FACT_FAILED, "%s", strerror(stream->error));
		stream->error = 0;
		return DOCUMENT_BROKEN;
	}
	length = stream->end - stream->at;
	if (length > DOCUMENT_SIZE_MAX)
		length = DOCUMENT_SIZE_MAX;
	*line = stream->line;
	root = json_loadb(stream->bytes + stream->at, length,
		JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);
	if (root) {
		stream_advance(stream, (size_t)error.position);
		return document_read_json(root, fields, to, why) ? DOCUMENT_READ : DOCUMENT_BROKEN;
	}
	if (length == DOCUMENT_SIZE_MAX &&
		json_error_code(&error) == json_error_premature_end_of_input) {
		fact_set(why, FACT_FAILED, DOCUMENT_TOO_LARGE);
		skip_broken(stream, why);
		return DOCUMENT_BROKEN;
	}
	document_refuse_syntax(&error, "", why);
	skip_broken(stream, why);
	/* A truncated document may have swallowed the next. */
	if (*line + (unsigned long)error.line - 1 < stream->line)
		*line += (unsigned long)error.line - 1;
	return DOCUMENT_BROKEN;
}
