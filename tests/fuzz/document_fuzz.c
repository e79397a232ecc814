/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of documents and all that judges and renders behind it: a document from
 * anywhere is refused with a reason, or judged and rendered. Input: JSON.
 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "check/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct evidence evidence;
	struct document_part parts[CHECK_PART_COUNT];
	struct fact why = {0};
	char *copy = fuzz_copy(data, size);

	memset(&evidence, 0, sizeof(evidence));
	check_document_parts(parts, NULL, &evidence);
	if (document_parse(copy, size, parts, &why))
		fuzz_judge(&evidence, size);
	else if (!*why.reason)
		abort();
	free(copy);
	return 0;
}
