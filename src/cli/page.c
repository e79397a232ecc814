/* SPDX-License-Identifier: MIT */
#include "cli/page.h"

#include <stdlib.h>
#include <string.h>

#include "cli/emit.h"

static bool is_json(const struct options *options)
{
	return strcmp(options->format, "json") == 0;
}

bool page_accepts(const struct options *options)
{
	if (is_json(options) || strcmp(options->format, "text") == 0)
		return true;
	options_complain_usage("--format: '%s' is neither text nor json", options->format);
	return false;
}

static bool render(
	const struct page *page, const void *object, bool json, char **bytes, size_t *length)
{
	FILE *out = open_memstream(bytes, length);
	bool whole;

	if (!out)
		return false;
	whole = json ? page->json(object, out) : page->text(object, out);
	whole = whole && !ferror(out);
	return fclose(out) == 0 && whole;
}

bool page_emit(const struct page *page, const void *object, const struct options *options)
{
	char *bytes = NULL;
	size_t length = 0;
	bool done;

	if (options->quiet)
		return true;
	done = render(page, object, is_json(options), &bytes, &length);
	if (done)
		done = emit_bytes(options, bytes, length);
	else
		options_complain("cannot render: out of memory");
	free(bytes);
	return done;
}
