/* SPDX-License-Identifier: MIT */
/* Fuzzes the look that trace takes at a program's ELF headers. Input: the file. */
#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/count.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_program program = {.pid = 0};
	int file;

	fuzz_root_put("/program", data, size);
	file = open(fake_root_place(fuzz_root(), "/program"), O_RDONLY | O_CLOEXEC);
	if (file < 0)
		abort();
	trace_program_read(&program, file);
	if (program.is_static && !program.is_elf)
		abort();
	close(file);
	return 0;
}
