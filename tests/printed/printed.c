/* SPDX-License-Identifier: MIT */
/*
 * What `vdsocheck bench` prints for machines that are not here: scenarios.c has a command line and
 * fixed numbers, tests/printed/FORM.txt the text and JSON of them; --write writes those anew. Runs
 * in the source's top folder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "printed/bench.h"
#include "printed/file.h"

int main(int argc, char **argv)
{
	struct CMUnitTest *tests = calloc(bench_scenario_count, sizeof(*tests));
	int failures;

	printed_is_writing = argc == 2 && strcmp(argv[1], "--write") == 0;
	if (!tests || (argc > 1 && !printed_is_writing)) {
		fprintf(stderr, "usage: printed [--write]\n");
		return 2;
	}
	for (size_t i = 0; i < bench_scenario_count; i++)
		tests[i] = (struct CMUnitTest){.name = bench_scenarios[i].property,
			.test_func = printed_bench,
			.initial_state = (void *)(uintptr_t)&bench_scenarios[i]};
	failures = _cmocka_run_group_tests("printed", tests, bench_scenario_count, NULL, NULL);
	free(tests);
	return failures != 0;
}
