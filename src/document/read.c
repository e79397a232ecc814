/* SPDX-License-Identifier: MIT */
/*
 * Reads documents that were written earlier, maybe on another machine and maybe by hand: the file
 * and its limits, JSON's syntax, and the schema. The tables have the meaning of the keys.
 *
 * A file has one document, or is a stream of many. Where one of a stream is broken, the next
 * begins at the next line that begins with '{': a document of --json has no other such line, and
 * of those on one line each a truncated one costs no other.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/root.h"
#include "base/version.h"
#include "field.h"

/* Refuses what is not a document of the schema of a part. */
static bool check_schema(const json_t *root, const struct document_part *parts, struct fact *why)
{
	const json_t *value = json_object_get(root, "schema");
	const json_t *version = json_object_get(root, "version");
	char schema[32], accepted[80] = "";
	bool is_accepted = false;

	text_copy_span(schema, sizeof(schema),
		(struct span){json_string_value(value), json_string_length(value)});
	for (const char *last = ""; parts->fields; last = field_schema(parts++)) {
		is_accepted = is_accepted || strcmp(schema, field_schema(parts)) == 0;
		if (strcmp(field_schema(parts), last) != 0)
			text_append(accepted, sizeof(accepted), "%s'%s'", *last ? " or " : "",
				field_schema(parts));
	}
	if (!json_is_object(root))
		fact_set(why, FACT_FAILED, "not a JSON object");
	else if (!json_is_string(value))
		fact_set(why, FACT_FAILED, "schema is %s", value ? "not a string" : "missing");
	else if (!is_accepted)
		fact_set(why, FACT_FAILED, "schema is '%s', not %s", schema, accepted);
	else if (version && !json_is_string(version))
		fact_set(why, FACT_FAILED, "version is not a string");
	else
		return true;
	return false;
}

/* jansson's message quotes the text, so control characters are replaced. */
static void refuse_syntax(const json_error_t *error, const char *where, struct fact *why)
{
	char text[100];

	text_copy_span(text, sizeof(text), text_span(error->text));
	fact_set(why, FACT_FAILED, "not JSON: %s%s", where, text);
}

/* Adds the version to why a document cannot be read: another one may write other keys. */
static void add_version(const json_t *root, struct fact *why)
{
	const json_t *value = json_object_get(root, "version");
	char version[32];

	text_copy_span(version, sizeof(version),
		(struct span){json_string_value(value), json_string_length(value)});
	if (*version && strcmp(version, vdsocheck_version) != 0)
		text_append(why->reason, sizeof(why->reason),
			" (written by vdsocheck %s; write it again with %s)", version,
			vdsocheck_version);
}

/* Takes the object. */
static bool read_parts(json_t *root, const struct document_part *parts, struct fact *why)
{
	bool read = check_schema(root, parts, why);

	if (read && !field_read(parts, root, why)) {
		add_version(root, why);
		read = false;
	}
	if (read)
		fact_set_known(why);
	json_decref(root);
	return read;
}

bool document_parse(
	const char *bytes, size_t length, const struct document_part *parts, struct fact *why)
{
	json_error_t error;
	json_t *root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);
	char where[32];

	if (root)
		return read_parts(root, parts, why);
	snprintf(where, sizeof(where), "line %d: ", error.line);
	refuse_syntax(&error, where, why);
	return false;
}

static const char too_large[] = "larger than any document of vdsocheck";

int document_open(const char *path, struct fact *why)
{
	int file = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		fact_set(why, FACT_FAILED, "%s", strerror(errno));
	return file;
}

const char *document_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

static void close_file(int file)
{
	if (file != STDIN_FILENO)
		close(file);
}

bool document_read(const char *path, const struct document_part *parts, struct fact *why)
{
	int file = document_open(path, why), error;
	bool parsed = false;
	size_t length = 0;
	char *bytes;

	if (file < 0)
		return false;
	bytes = xmalloc(DOCUMENT_SIZE_MAX);
	error = file_read_all(file, bytes, DOCUMENT_SIZE_MAX, &length);
	if (error == EFBIG)
		fact_set(why, FACT_FAILED, "%s", too_large);
	else if (error)
		fact_set(why, FACT_FAILED, "%s", strerror(error));
	else if (!length)
		fact_set(why, FACT_FAILED, "empty: no document");
	else
		parsed = document_parse(bytes, length, parts, why);
	free(bytes);
	close_file(file);
	return parsed;
}

/* ---- many of one stream ---- */

/* The buffer has one document and a part of the next ones, which is moved to its front. */
#define BUFFER_SIZE (2 * (size_t)DOCUMENT_SIZE_MAX)

void document_stream_start(struct document_stream *stream, int file)
{
	*stream = (struct document_stream){.file = file, .bytes = xmalloc(BUFFER_SIZE), .line = 1};
}

void document_stream_end(struct document_stream *stream)
{
	free(stream->bytes);
	close_file(stream->file);
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

enum document_found document_stream_next(struct document_stream *stream,
	const struct document_part *parts, unsigned long *line, struct fact *why)
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
		return read_parts(root, parts, why) ? DOCUMENT_READ : DOCUMENT_BROKEN;
	}
	if (length == DOCUMENT_SIZE_MAX &&
		json_error_code(&error) == json_error_premature_end_of_input) {
		fact_set(why, FACT_FAILED, "%s", too_large);
		skip_broken(stream, why);
		return DOCUMENT_BROKEN;
	}
	refuse_syntax(&error, "", why);
	skip_broken(stream, why);
	/* A truncated document may have swallowed the next. */
	if (*line + (unsigned long)error.line - 1 < stream->line)
		*line += (unsigned long)error.line - 1;
	return DOCUMENT_BROKEN;
}
