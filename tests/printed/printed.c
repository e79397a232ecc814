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

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "printed/bench.h"
#include "printed/file.h"

static bool is_scenario(const char *name, size_t length)
{
	for (size_t i = 0; i < bench_scenario_count; i++) {
		if (strncmp(bench_scenarios[i].name, name, length) == 0 &&
			!bench_scenarios[i].name[length])
			return true;
	}
	return false;
}

/* A section that nothing prints any more would stay unnoticed. */
static void each_section_is_printed(void **state)
{
	glob_t files;
	char line[4096];

	(void)state;
	assert_int_equal(glob("tests/printed/*.txt", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		FILE *file = fopen(files.gl_pathv[i], "r");

		assert_non_null(file);
		while (fgets(line, sizeof(line), file)) {
			if (strncmp(line, "== ", 3) == 0 &&
				!is_scenario(line + 3, strcspn(line + 3, ".\n")))
				fail_msg("%s: no scenario prints %s", files.gl_pathv[i], line);
		}
		fclose(file);
	}
	globfree(&files);
}

int main(int argc, char **argv)
{
	struct CMUnitTest *tests = calloc(bench_scenario_count + 1, sizeof(*tests));
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
	tests[bench_scenario_count] = (struct CMUnitTest)cmocka_unit_test(each_section_is_printed);
	failures = _cmocka_run_group_tests("printed", tests, bench_scenario_count + 1, NULL, NULL);
	free(tests);
	return failures != 0;
}
