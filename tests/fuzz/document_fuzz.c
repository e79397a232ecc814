/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of documents and all that judges and renders behind it: a document from
 * anywhere is refused with a reason, or judged and rendered. Input: JSON.
 */
#include "fuzz/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct evidence evidence;
	struct fact why = {0};
	char *copy = fuzz_copy(data, size);

	if (fuzz_parse(copy, size, &evidence, &why))
		fuzz_judge(&evidence, size);
	else if (!*why.reason)
		abort();
	free(copy);
	return 0;
}
