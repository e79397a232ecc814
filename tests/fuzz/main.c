/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzzer on inputs that are kept, without libFuzzer: the files named. Prints how many there
 * were; a finding ends the process.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

/* libFuzzer's limit is below it. */
#define INPUT_MAX (4 * 1024 * 1024)

static unsigned inputs;

static void run_file(const char *path)
{
	static uint8_t bytes[INPUT_MAX];
	FILE *file = fopen(path, "re");
	size_t length;
	char *copy;

	if (!file) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	length = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	/* The last line of the log of a run that crashes. */
	fprintf(stderr, "%s\n", path);
	copy = fuzz_copy(bytes, length);
	LLVMFuzzerTestOneInput((const uint8_t *)copy, length);
	free(copy);
	inputs++;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_file(argv[i]);
	printf("%u\n", inputs);
	return inputs ? EXIT_SUCCESS : EXIT_FAILURE;
}
