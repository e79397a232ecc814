/* SPDX-License-Identifier: MIT */
/*
 * The real cases that people hit (tests/cases/): a wrong cause sends them after the wrong
 * thing, a wrong advice breaks their clock, and a false alarm makes them stop listening.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "check/json.h"
#include "judge/judgement.h"
#include "judge/signs.h"

#define DIRECTORY "tests/cases/"
#define NAME_SIZE 64
#define IDS_SIZE 256

struct expected {
	char name[NAME_SIZE];
	char verdict[NAME_SIZE];
	char causes[IDS_SIZE];
	char advice[IDS_SIZE];
};

static void add_id(char *ids, const char *id)
{
	size_t used = strlen(ids);

	snprintf(ids + used, IDS_SIZE - used, "%s%s", used ? "," : "", id);
}

static void list_causes(const struct judgement *judgement, char *ids)
{
	ids[0] = '\0';
	for (size_t i = 0; i < judgement->cause_count; i++)
		add_id(ids, judgement->causes[i].id);
	if (!*ids)
		add_id(ids, "-");
}

static void list_advice(const struct judgement *judgement, char *ids)
{
	ids[0] = '\0';
	for (size_t i = 0; i < judgement->advice_count; i++)
		add_id(ids, judgement->advice[i].id);
	if (!*ids)
		add_id(ids, "-");
}

static void assert_sources_offered(
	const struct evidence *evidence, const struct judgement *judgement)
{
	for (size_t i = 0; i < judgement->advice_count; i++) {
		if (*judgement->advice[i].clocksource)
			assert_true(
				sign_is_offered(evidence, judgement->advice[i].clocksource));
	}
}

static bool check_case(const struct expected *expected)
{
	static struct evidence evidence;
	static struct judgement judgement;
	char path[NAME_SIZE + 32], causes[IDS_SIZE], advice[IDS_SIZE];
	struct fact why = {0};
	bool right;

	snprintf(path, sizeof(path), DIRECTORY "%s.json", expected->name);
	if (!json_read(path, &evidence, &why)) {
		print_error("%s: %s\n", path, why.reason);
		return false;
	}
	judgement_make(&evidence, &judgement);
	list_causes(&judgement, causes);
	list_advice(&judgement, advice);
	assert_sources_offered(&evidence, &judgement);
	right = strcmp(verdict_name(judgement.ruling.verdict), expected->verdict) == 0 &&
	        strcmp(causes, expected->causes) == 0 && strcmp(advice, expected->advice) == 0;
	if (!right)
		print_error("%s: %s %s %s\n", expected->name,
			verdict_name(judgement.ruling.verdict), causes, advice);
	return right;
}

static void every_case_has_its_cause_and_advice(void **state)
{
	FILE *table = fopen(DIRECTORY "expected.txt", "r");
	char line[1024];
	unsigned cases = 0, wrong = 0;

	(void)state;
	assert_non_null(table);
	while (fgets(line, sizeof(line), table)) {
		struct expected expected;

		if (line[0] == '#')
			continue;
		assert_int_equal(4, sscanf(line, "%63s %63s %255s %255s", expected.name,
					    expected.verdict, expected.causes, expected.advice));
		cases++;
		wrong += !check_case(&expected);
	}
	fclose(table);
	assert_true(cases > 40);
	assert_int_equal(0, wrong);
}

/* The sums that were published: what a service lost, and what the article measured. */
static void cost_gives_the_published_sums(void **state)
{
	(void)state;
	assert_true(cost_seconds(1718430 + 706702, 530, 28) > 1.2165);
	assert_true(cost_seconds(1718430 + 706702, 530, 28) < 1.2175);
	assert_true(cost_seconds(5e6, 0.547e9 / 5e6, 0.123e9 / 5e6) > 0.4239);
	assert_true(cost_seconds(5e6, 0.547e9 / 5e6, 0.123e9 / 5e6) < 0.4241);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_has_its_cause_and_advice),
		cmocka_unit_test(cost_gives_the_published_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
