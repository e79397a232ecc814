/* SPDX-License-Identifier: MIT */
/* Fuzzes the parser of /proc/PID/maps: a mapping that is found holds the address. */
#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "measure/vdso.h"

#define ADDRESS 0x7ffd7000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = fuzz_copy(data, size);
	struct span maps = {copy, size};
	struct mapping mapping;

	if (maps_find_address(maps, ADDRESS, &mapping) &&
		(mapping.start > ADDRESS || mapping.end <= ADDRESS))
		abort();
	free(copy);
	return 0;
}
