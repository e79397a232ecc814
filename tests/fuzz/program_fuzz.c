/* SPDX-License-Identifier: MIT */
/* Fuzzes the look that trace takes at a program's ELF headers. Input: the file. */
#include "fuzz/fuzz.h"

#include "trace/count.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_program program = {.pid = 0};

	trace_program_read(&program, data, size);
	return 0;
}
