/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of documents and all that judges and renders behind it: a document from
 * anywhere is refused with a reason, or judged and rendered; and compared with itself, it is not
 * found to differ. Input: JSON.
 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "diff/model.h"

static void compare_with_itself(const char *bytes, size_t length)
{
	static struct diff diff;
	struct fact why = {0};

	memset(&diff, 0, sizeof(diff));
	diff.report.type = diff_command.report;
	strcpy(diff.old.file, "old");
	if (!document_parse(bytes, length, diff_document_fields, &diff.old, &why)) {
		if (!*why.reason)
			abort();
		return;
	}
	diff.new = diff.old;
	diff_compare(&diff);
	if (diff.report.exit_status == 1 || diff.better_count || diff.suspect_count)
		abort();
	for (const struct format *format = diff_command.formats; format->name; format++) {
		const struct style style = {.verbose = true};
		char *rendered = NULL;
		size_t size;
		FILE *out = open_memstream(&rendered, &size);

		if (!out)
			abort();
		format->write(&diff, &style, out);
		if (fclose(out) != 0)
			abort();
		free(rendered);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct evidence evidence;
	struct fact why = {0};
	char *copy = fuzz_copy(data, size);

	if (fuzz_parse(copy, size, &evidence, &why))
		fuzz_judge(&evidence, size);
	else if (!*why.reason)
		abort();
	compare_with_itself(copy, size);
	free(copy);
	return 0;
}
