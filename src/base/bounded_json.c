/* SPDX-License-Identifier: MIT */
/* Looks at how deep a JSON text is before jansson recurses into it. */
#include "base/bounded_json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * Whether the first value is too deep, and on which line. What follows it may be another document;
 * what is no JSON is jansson's to refuse.
 */
static bool is_too_deep(const char *bytes, size_t length, int *line)
{
	unsigned level = 0;
	bool quoted = false;

	*line = 1;
	for (size_t i = 0; i < length; i++) {
		switch (bytes[i]) {
		case '\n':
			++*line;
			break;
		case '\\':
			i += quoted;
			break;
		case '"':
			quoted = !quoted;
			break;
		case '[':
		case '{':
			level += !quoted;
			break;
		case ']':
		case '}':
			if (!quoted && level-- <= 1)
				return false;
			break;
		default:
			break;
		}
		if (level > JSON_LEVELS_MAX)
			return true;
	}
	return false;
}

json_t *bounded_json_load(const char *bytes, size_t length, size_t flags, json_error_t *error)
{
	json_t *root;
	int line;

	if (is_too_deep(bytes, length, &line)) {
		memset(error, 0, sizeof(*error));
		error->line = line;
		snprintf(error->text, sizeof(error->text),
			"more than %d levels of arrays and objects", JSON_LEVELS_MAX);
		return NULL;
	}
	errno = 0;
	root = json_loadb(bytes, length, flags, error);
	/* Within a string or a key jansson calls it an invalid token. */
	if (!root && errno == ENOMEM)
		error->text[0] = '\0';
	return root;
}
