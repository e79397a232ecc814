/* SPDX-License-Identifier: MIT */
/*
 * Reads documents that were written earlier, maybe on another machine and maybe by hand: the file
 * and its limits, JSON's syntax, and the schema. The tables have the meaning of the keys.
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
void document_refuse_syntax(const json_error_t *error, const char *where, struct fact *why)
{
	char text[100];

	text_clean_span(text, sizeof(text), text_span(error->text));
	fact_set(why, FACT_FAILED, "not JSON: %s%s", where, text);
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

bool document_read_json(json_t *root, const struct field *fields, void *to, struct fact *why)
{
	bool read = check_schema(root, why);

	if (read && !field_read(fields, root, to, why)) {
		add_version(root, why);
		read = false;
	}
	if (read)
		fact_set_known(why);
	json_decref(root);
	return read;
}

bool document_parse(
	const char *bytes, size_t length, const struct field *fields, void *to, struct fact *why)
{
	json_error_t error;
	json_t *root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);
	char where[32];

	if (root)
		return document_read_json(root, fields, to, why);
	snprintf(where, sizeof(where), "line %d: ", error.line);
	document_refuse_syntax(&error, where, why);
	return false;
}

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

bool document_read(const char *path, const struct field *fields, void *to, struct fact *why)
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
		fact_set(why, FACT_FAILED, DOCUMENT_TOO_LARGE);
	else if (error)
		fact_set(why, FACT_FAILED, "%s", strerror(error));
	else if (!length)
		fact_set(why, FACT_FAILED, "empty: no document");
	else
		parsed = document_parse(bytes, length, fields, to, why);
	free(bytes);
	if (file != STDIN_FILENO)
		close(file);
	return parsed;
}
