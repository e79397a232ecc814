/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of documents and all that judges and renders behind it: a document from
 * anywhere is refused, or judged and rendered in every format; and what it was rendered to
 * is a document with the same verdict. Input: JSON; those of tests/hosts are the seeds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check/json.h"
#include "check/model.h"
#include "commands.h"

static char *render(const struct evidence *evidence, const struct format *format, size_t *length)
{
	static struct diagnosis diagnosis;
	const struct document document = {.evidence = evidence, .diagnosis = &diagnosis};
	const struct style style = {.color = false};
	char *bytes = NULL;
	FILE *out = open_memstream(&bytes, length);

	diagnose(evidence, &diagnosis);
	if (!out || !format->write(&document, &style, out) || fclose(out) != 0)
		abort();
	return bytes;
}

static void render_all(const struct evidence *evidence)
{
	size_t length;

	for (const struct format *format = check_command.formats; format->name; format++)
		free(render(evidence, format, &length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct evidence evidence, again;
	struct verdict verdict, second;
	struct fact why = {0};
	size_t length;
	char *bytes;

	memset(&evidence, 0, sizeof(evidence));
	memset(&again, 0, sizeof(again));
	if (!json_parse((const char *)data, size, &evidence, &why)) {
		if (!*why.reason)
			abort();
		return 0;
	}
	render_all(&evidence);
	bytes = render(&evidence, cli_find_format(&check_command, "json"), &length);
	if (!json_parse(bytes, length, &again, &why))
		abort();
	free(bytes);
	verdict_find(&evidence, &verdict);
	verdict_find(&again, &second);
	if (strcmp(verdict.rule, second.rule) != 0 || strcmp(verdict.summary, second.summary) != 0)
		abort();
	return 0;
}
