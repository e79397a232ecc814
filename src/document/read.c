/* SPDX-License-Identifier: MIT */
/*
 * Reads documents that were written earlier, maybe on another machine and maybe by hand: the file
 * and its limits, JSON's syntax, and the schema. The tables have the meaning of the keys. A file
 * holds one document or any number of them. Where one is broken, the next begins at the next line
 * that begins with '{': a document of --json has no other such line, and of those on one line each
 * a truncated one costs no other.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/version.h"
#include "field.h"

/* ---- a document ---- */

/* Refuses what is not a check's document. */
static bool check_schema(const json_t *root, struct fact *why)
{
	const json_t *value = json_object_get(root, "schema");
	const json_t *version = json_object_get(root, "version");
	char schema[32];

	text_clean_span(schema, sizeof(schema),
		(struct span){json_string_value(value), json_string_length(value)});
	if (!json_is_object(root))
		fact_set(why, FACT_FAILED, "not a JSON object");
	else if (!json_is_string(value))
		fact_set(why, FACT_FAILED, "schema is %s", value ? "not a string" : "missing");
	else if (strcmp(schema, DOCUMENT_SCHEMA) != 0)
		fact_set(why, FACT_FAILED, "schema is '%s', not '" DOCUMENT_SCHEMA "'", schema);
	else if (version && !json_is_string(version))
		fact_set(why, FACT_FAILED, "version is not a string");
	else
		return true;
	return false;
}

/* jansson quotes the text, so control characters are replaced. */
static void refuse_syntax(const json_error_t *error, size_t length, struct fact *why)
{
	char text[100];

	text_clean_span(text, sizeof(text), text_span(error->text));
	if (length == DOCUMENT_SIZE_MAX &&
		json_error_code(error) == json_error_premature_end_of_input)
		fact_set(why, FACT_FAILED, "larger than any document of vdsocheck");
	else
		fact_set(why, FACT_FAILED, "not JSON: line %d: %s", error->line, text);
}

/* Adds the version to why a document cannot be read: another one may write other keys. */
static void add_version(const json_t *root, struct fact *why)
{
	const json_t *value = json_object_get(root, "version");
	char version[32];

	text_clean_span(version, sizeof(version),
		(struct span){json_string_value(value), json_string_length(value)});
	if (*version && strcmp(version, vdsocheck_version) != 0)
		text_append(why->reason, sizeof(why->reason),
			" (written by vdsocheck %s; write it again with %s)", version,
			vdsocheck_version);
}

bool document_parse(
	struct span bytes, size_t *used, const struct field *fields, void *to, struct fact *why)
{
	json_error_t error;
	json_t *root = json_loadb(
		bytes.at, bytes.length, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);
	bool read;

	*used = root ? (size_t)error.position : 0;
	if (!root) {
		refuse_syntax(&error, bytes.length, why);
		return false;
	}
	read = check_schema(root, why);
	if (read && !field_read(fields, root, to, why)) {
		add_version(root, why);
		read = false;
	}
	if (read)
		fact_set_known(why);
	json_decref(root);
	return read;
}

/* ---- a file of them ---- */

/* The buffer has one document and a part of the next ones, which is moved to its front. */
#define BUFFER_SIZE (2 * (size_t)DOCUMENT_SIZE_MAX)

struct document_stream {
	int file;
	size_t at, end;            /* the bytes that were read and are not yet taken */
	bool ended;                /* all bytes were read */
	int error;                 /* an errno, to be reported at the end; 0: none */
	bool begun;                /* the first document, or that there is none, was reported */
	unsigned long line;        /* number of the next byte's line, from 1 */
	const volatile bool *stop; /* once it is true no more is read */
	char bytes[BUFFER_SIZE];
};

const char *document_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

struct document_stream *document_open(const char *path, const volatile bool *stop, struct fact *why)
{
	int file = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct document_stream *stream;

	if (file < 0) {
		fact_set(why, FACT_FAILED, "%s", strerror(errno));
		return NULL;
	}
	stream = xmalloc(sizeof(*stream));
	memset(stream, 0, offsetof(struct document_stream, bytes));
	stream->file = file;
	stream->line = 1;
	stream->stop = stop;
	return stream;
}

void document_close(struct document_stream *stream)
{
	if (stream->file != STDIN_FILENO)
		close(stream->file);
	free(stream);
}

/* Fills the buffer until it has the largest document, or all that is left of the file. */
static void fill(struct document_stream *stream)
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

static void advance(struct document_stream *stream, size_t length)
{
	const char *at = stream->bytes + stream->at, *end = at + length;

	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		stream->line++;
		at++;
	}
	stream->at += length;
}

bool document_has_more(struct document_stream *stream)
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

/* A file without another document for so long is not a stream, and may have holes of terabytes. */
static void skip_broken(struct document_stream *stream, struct span broken, struct fact *why)
{
	const char *next = memmem(broken.at, broken.length, "\n{", 2);

	if (next) {
		advance(stream, (size_t)(next + 1 - broken.at));
		return;
	}
	if (!stream->ended || broken.length < stream->end - stream->at)
		text_append(why->reason, sizeof(why->reason), "; the rest is not read");
	stream->at = stream->end;
	stream->ended = true;
}

enum document_found document_next(struct document_stream *stream, const struct field *fields,
	void *to, unsigned long *line, struct fact *why)
{
	bool more = document_has_more(stream), first = !stream->begun;
	struct span bytes = {stream->bytes + stream->at, stream->end - stream->at};
	size_t used;

	*line = stream->line;
	stream->begun = true;
	if (bytes.length > DOCUMENT_SIZE_MAX)
		bytes.length = DOCUMENT_SIZE_MAX;
	if (more && document_parse(bytes, &used, fields, to, why)) {
		advance(stream, used);
		return DOCUMENT_READ;
	}
	/* An interrupt may have cut a document off. */
	if (*stream->stop || (!more && !stream->error && !first))
		return DOCUMENT_END;
	if (!more)
		fact_set(why, FACT_FAILED, "%s",
			stream->error ? strerror(stream->error) : "empty: no document");
	else if (used)
		advance(stream, used);
	else
		skip_broken(stream, bytes, why);
	if (!more)
		stream->error = 0;
	return DOCUMENT_BROKEN;
}
