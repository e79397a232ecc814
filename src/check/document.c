/* SPDX-License-Identifier: MIT */
#include "document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "report.h"
#include "text.h"

static const struct document_format formats[] = {
	{"text", text_write},
	{"json", json_write},
	{"report", report_write},
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

const struct document_format *document_find_format(const char *name)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	}
	return NULL;
}

void document_list_formats(char *names, size_t size, const char *between)
{
	size_t used = 0;

	names[0] = '\0';
	for (size_t i = 0; i < FORMAT_COUNT && used < size; i++)
		used += (size_t)snprintf(
			names + used, size - used, "%s%s", i ? between : "", formats[i].name);
}

bool document_render(const struct document *document, const struct document_format *format,
	char **bytes, size_t *length, struct fact *why)
{
	FILE *out = open_memstream(bytes, length);
	bool whole;

	if (!out) {
		fact_set_errno(why, errno, "output buffer");
		return false;
	}
	whole = format->write(document, out) && !ferror(out);
	if (fclose(out) != 0 || !whole) {
		free(*bytes);
		fact_set(why, FACT_FAILED, "output buffer: %s", strerror(ENOMEM));
		return false;
	}
	fact_set_known(why);
	return true;
}
