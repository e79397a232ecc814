/* SPDX-License-Identifier: MIT */
/* Fuzzes the look that trace takes at a program's ELF headers. Input: the file. */
#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "trace/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_program program = {.pid = 0};

	fuzz_root_put("/program", data, size);
	text_copy(program.file, sizeof(program.file), fake_root_place(fuzz_root(), "/program"));
	trace_program_inspect(&program);
	if (!fact_is_known(&program.file_fact) && !*program.file_fact.reason)
		abort();
	return 0;
}
