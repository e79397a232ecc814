/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of documents and all that judges and renders behind it: a document from
 * anywhere is refused with a reason, or judged and rendered; and compared with itself, it is not
 * found to differ. Input: JSON.
 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "diff/model.h"

static void render(const struct diff *diff)
{
	bool (*const writes[])(const void *, const struct style *, FILE *) = {
		diff_write_text, diff_write_json};

	for (size_t i = 0; i < ARRAY_SIZE(writes); i++) {
		const struct style style = {.verbose = true};
		char *bytes = NULL;
		size_t length;
		FILE *out = open_memstream(&bytes, &length);

		if (!out || !writes[i](diff, &style, out) || fclose(out) != 0)
			abort();
		free(bytes);
	}
}

static void compare_with_itself(const char *bytes, size_t length)
{
	static struct diff diff;
	const struct document_part parts[] = {timestamp_part(NULL, &diff.old.evidence.timestamp),
		evidence_part(NULL, &diff.old.evidence), {0}};
	struct fact why = {0};

	memset(&diff, 0, sizeof(diff));
	strcpy(diff.old.file, "old");
	if (!document_parse(bytes, length, parts, &why)) {
		if (!*why.reason)
			abort();
		return;
	}
	diff.new = diff.old;
	diff_document_judge(&diff, &diff.old);
	diff_document_judge(&diff, &diff.new);
	diff_find(&diff);
	if (diff.answer == DIFF_WORSE || diff.answer == DIFF_BETTER || diff.suspect_count)
		abort();
	render(&diff);
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
