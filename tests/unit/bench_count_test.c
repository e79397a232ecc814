/* SPDX-License-Identifier: MIT */
/* bench/count: what follows from a run of N calls. */
#include <time.h>

#include "bench/model.h"
#include "unit/unit.h"

/* Neither a CPU time of a call nor an answer follows from 0 calls. */
static void a_run_without_a_call_is_not_known(void **state)
{
	struct call_table table = {.count = 1};
	struct bench_plan plan = {.calls = &table, .count_count = 1};
	struct fact why = {0};
	struct bench *bench;

	(void)state;
	table.rows[0] = (struct call_row){.call = "gettimeofday",
		.clock = "",
		.path[PATH_LIBC] = {.shape = SHAPE_TIME, .function.time = time}};
	bench = bench_new(&plan, &why);
	assert_non_null(bench);
	bench_count_all(bench);
	bench_evaluate(bench);
	assert_int_equal(bench->run_count, PATH_COUNT);
	assert_string_equal(bench->runs[PATH_LIBC].fact.reason, "stopped before it was done");
	assert_false(bench->found);
	bench_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_without_a_call_is_not_known),
	};

	return cmocka_run_group_tests_name("count", tests, NULL, NULL);
}
