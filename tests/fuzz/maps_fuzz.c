/* SPDX-License-Identifier: MIT */
/* Fuzzes the parser of /proc/PID/maps: each mapping that is found has a start before its end. */
#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "measure/vdso.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = fuzz_copy(data, size);
	struct span maps = {copy, size};
	struct mapping mapping;

	while (maps_next(&maps, &mapping)) {
		if (mapping.start >= mapping.end)
			abort();
	}
	free(copy);
	return 0;
}
