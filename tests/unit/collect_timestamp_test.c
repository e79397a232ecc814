/* SPDX-License-Identifier: MIT */
/* Tests of collect/timestamp: the time and the uptime of a measurement. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect.h"
#include "unit/unit.h"

static void a_live_host_has_a_time_and_an_uptime(void **state)
{
	time_t before = time(NULL);
	struct timestamp_evidence timestamp = {0};
	struct fact why = {0};
	struct tm utc = {0};
	struct root root;
	time_t told;

	(void)state;
	assert_true(root_open(&root, "/", &why));
	timestamp_collect(&root, &timestamp, DEADLINE_NONE);
	root_close(&root);
	assert_true(fact_is_known(&timestamp.time.fact));
	assert_true(text_is_time(text_span(timestamp.time.value)));
	assert_non_null(strptime(timestamp.time.value, "%Y-%m-%dT%H:%M:%SZ", &utc));
	told = timegm(&utc);
	assert_true(told >= before - 1 && told <= time(NULL) + 1);
	assert_true(fact_is_known(&timestamp.uptime_fact));
	assert_true(timestamp.uptime_s > 0);
}

static void a_captured_tree_has_neither(void **state)
{
	struct timestamp_evidence timestamp = {0};
	struct root root = {.live = false};

	(void)state;
	timestamp_collect(&root, &timestamp, DEADLINE_NONE);
	assert_int_equal(timestamp.time.fact.state, FACT_ABSENT);
	assert_int_equal(timestamp.uptime_fact.state, FACT_ABSENT);
	assert_true(*timestamp.uptime_fact.reason);
}

static void only_a_complete_time_is_accepted(void **state)
{
	static const char *const wrong[] = {"", "2026", "2026-11-21", "2026-11-21T15:02:11",
		"2026-11-21 15:02:11Z", "2026-11-21T15:02:11Z ", "2026-11-21T15:02:1xZ",
		"2026-11-21T15:02:11+01:00", "x026-11-21T15:02:11Z"};

	(void)state;
	assert_true(text_is_time(text_span("2026-11-21T15:02:11Z")));
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_false(text_is_time(text_span(wrong[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_live_host_has_a_time_and_an_uptime),
		cmocka_unit_test(a_captured_tree_has_neither),
		cmocka_unit_test(only_a_complete_time_is_accepted),
	};

	return cmocka_run_group_tests_name("timestamp", tests, NULL, NULL);
}
