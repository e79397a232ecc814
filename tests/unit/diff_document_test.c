/* SPDX-License-Identifier: MIT */
/* Tests of diff/document.c: documents of bench, which only this command reads. */
#include <string.h>

#include "diff/model.h"
#include "unit/unit.h"

static struct diff diff;

static bool parse(const char *text, struct fact *why)
{
	struct document_part parts[DIFF_PART_COUNT];

	memset(&diff, 0, sizeof(diff));
	diff_document_parts(parts, &diff.old);
	if (!document_parse(text, strlen(text), parts, why))
		return false;
	diff_document_judge(&diff, &diff.old);
	return true;
}

#define BENCH "{\"schema\": \"vdsocheck-bench/1\", \"version\": \"\", "

static void rows_of_a_call_on_several_cpus_are_one_cost(void **state)
{
	struct fact why = {0};

	(void)state;
	assert_true(parse(BENCH
		"\"clocksource\": {\"current\": \"tsc\"}, \"host\": {\"kernel\": \"6.1\"}, \"calls\": ["
		"{\"call\": \"time\", \"clock\": null, \"path\": \"vdso\", \"min_ns\": 3, "
		"\"median_ns\": 4, \"batch_p99_ns\": 5},"
		"{\"call\": \"time\", \"clock\": null, \"path\": \"vdso\", \"min_ns\": 2, "
		"\"median_ns\": 6, \"batch_p99_ns\": 7},"
		"{\"call\": \"time\", \"clock\": null, \"path\": \"libc\", \"min_ns\": null}],"
		"\"baselines\": [{\"id\": \"loop\", \"min_ns\": 1},"
		"{\"id\": \"counter\", \"min_ns\": 9, \"median_ns\": 9.5}]}",
		&why));
	assert_true(diff.old.is_bench);
	assert_string_equal(diff.old.evidence.clocksource.current, "tsc");
	assert_string_equal(diff.old.evidence.host.kernel.value, "6.1");
	assert_int_equal(diff.cost_count, 2);
	assert_string_equal(diff.costs[0].call, "counter");
	assert_float_equal(diff.costs[0].before.most_ns, 9.5, 0);
	assert_string_equal(diff.costs[1].call, "time");
	assert_float_equal(diff.costs[1].before.least_ns, 2, 0);
	assert_float_equal(diff.costs[1].before.most_ns, 7, 0);
}

static const struct broken {
	const char *text;
	const char *why;
} broken[] = {
	{BENCH "\"calls\": []}", "baselines is missing"},
	{BENCH "\"baselines\": []}", "calls is missing"},
	{BENCH "\"calls\": [{}], \"baselines\": []}", "calls[0].call is missing"},
	{BENCH "\"calls\": [{\"call\": \"time\", \"path\": \"\"}], \"baselines\": []}",
		"calls[0].path is not an accepted value"},
	{BENCH "\"calls\": [{\"call\": \"time\", \"path\": \"vdso\", \"min_ns\": -1}], "
	       "\"baselines\": []}",
		"calls[0].min_ns is not a number in its range"},
	{"{\"schema\": \"vdsocheck-warp/1\"}",
		"schema is 'vdsocheck-warp/1', not 'vdsocheck/1' or 'vdsocheck-bench/1'"},
};

static void what_is_wrong_is_named(void **state)
{
	const struct broken *wrong = *state;
	struct fact why = {0};

	assert_false(parse(wrong->text, &why));
	assert_string_equal(why.reason, wrong->why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_a_call_on_several_cpus_are_one_cost),
	};
	int failures = cmocka_run_group_tests(tests, NULL, NULL);

	return failures + unit_run_rows("diff: a document that cannot be read is refused",
				  what_is_wrong_is_named, broken);
}
