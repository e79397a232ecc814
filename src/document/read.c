/* SPDX-License-Identifier: MIT */
/*
 * Reads a document that was written earlier, maybe on another machine and maybe by hand: the
 * file and its limits, JSON's syntax, and the schema. What the keys mean is for the tables.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/root.h"
#include "base/text.h"
#include "document.h"

static bool check_schema(const json_t *root, struct fact *why)
{
	const json_t *value = json_object_get(root, "schema");
	char schema[32];

	if (!json_is_object(root)) {
		fact_set(why, FACT_FAILED, "not a JSON object");
		return false;
	}
	if (!json_is_string(value)) {
		fact_set(why, FACT_FAILED, "schema is %s", value ? "not a string" : "missing");
		return false;
	}
	text_copy_span(schema, sizeof(schema),
		(struct span){json_string_value(value), json_string_length(value)});
	if (strcmp(schema, DOCUMENT_SCHEMA) != 0) {
		fact_set(why, FACT_FAILED, "schema is '%s', not '" DOCUMENT_SCHEMA "'", schema);
		return false;
	}
	value = json_object_get(root, "version");
	if (!value || json_is_string(value))
		return true;
	fact_set(why, FACT_FAILED, "version is not a string");
	return false;
}

/* jansson's message quotes the text: without what could drive a terminal. */
static void refuse_syntax(const json_error_t *error, struct fact *why)
{
	char text[100];

	text_copy_span(text, sizeof(text), text_span(error->text));
	fact_set(why, FACT_FAILED, "not JSON: line %d: %s", error->line, text);
}

bool document_parse(
	const char *bytes, size_t length, const struct document_part *parts, struct fact *why)
{
	json_error_t error;
	json_t *root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);
	bool parsed;

	if (!root) {
		refuse_syntax(&error, why);
		return false;
	}
	parsed = check_schema(root, why) && field_read(parts, root, why);
	json_decref(root);
	if (parsed)
		fact_set_known(why);
	return parsed;
}

static bool read_and_parse(int file, const struct document_part *parts, struct fact *why)
{
	char *bytes = malloc(DOCUMENT_SIZE_MAX);
	size_t length = 0;
	int error = bytes ? file_read_all(file, bytes, DOCUMENT_SIZE_MAX, &length) : ENOMEM;
	bool parsed = false;

	if (error == EFBIG)
		fact_set(why, FACT_FAILED, "too large to be a document of vdsocheck");
	else if (error)
		fact_set(why, FACT_FAILED, "%s", strerror(error));
	else
		parsed = document_parse(bytes, length, parts, why);
	free(bytes);
	return parsed;
}

bool document_read(const char *path, const struct document_part *parts, struct fact *why)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	bool read;

	if (file < 0) {
		fact_set(why, FACT_FAILED, "%s", strerror(errno));
		return false;
	}
	read = read_and_parse(file, parts, why);
	if (!is_stdin)
		close(file);
	return read;
}
