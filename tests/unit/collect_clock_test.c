/* SPDX-License-Identifier: MIT */
/*
 * Tests of collect/clock: the time and the uptime of a measurement, the kernel's NTP state, and a
 * call that a filter refuses or kills for.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "base/privileges.h"
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
	assert_true(fact_is_known(&timestamp.uptime_s.fact));
	assert_true(timestamp.uptime_s.value > 0);
}

static void a_captured_tree_has_neither(void **state)
{
	struct timestamp_evidence timestamp = {0};
	struct root root = {.live = false};

	(void)state;
	timestamp_collect(&root, &timestamp, DEADLINE_NONE);
	assert_int_equal(timestamp.time.fact.state, FACT_ABSENT);
	assert_int_equal(timestamp.uptime_s.fact.state, FACT_ABSENT);
	assert_true(*timestamp.uptime_s.fact.reason);
}

static void only_a_complete_time_is_accepted(void **state)
{
	static const char *const wrong[] = {"", "2026", "2026-11-21", "2026-11-21T15:02:11",
		"2026-11-21 15:02:11Z", "2026-11-21T15:02:11Z ", "2026-11-21T15:02:1xZ",
		"2026-11-21T15:02:11+01:00", "x026-11-21T15:02:11Z"};

	(void)state;
	assert_true(text_is_time(text_span("2026-11-21T15:02:11Z")));
	assert_true(text_is_time((struct span){"2026-11-21T15:02:11Z?", 20}));
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_false(text_is_time(text_span(wrong[i])));
}

static void the_state_is_the_kernels(void **state)
{
	struct ntp_evidence ntp = {0};
	struct timex timex = {.modes = 0};
	int now = adjtimex(&timex);

	(void)state;
	/* To set anything takes CAP_SYS_TIME. */
	privileges_keep(PRIVILEGES_READ);
	ntp_collect(&ntp, DEADLINE_NONE);
	if (now < 0) {
		assert_int_equal(fact_is_known(&ntp.fact), false);
		return;
	}
	assert_true(fact_is_known(&ntp.fact));
	/* A PPS signal that is wanted and lost is such an error, too. */
	if (!(timex.status & (STA_PPSFREQ | STA_PPSTIME)))
		assert_int_equal(ntp.synchronized, now != TIME_ERROR);
	/* It grows between the two readings, or a time daemon sets it. */
	assert_true(ntp.max_error_us >= 0);
}

/* For the rest of this process. */
static void filter(uint32_t action)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (!filter || seccomp_rule_add(filter, action, SCMP_SYS(adjtimex), 0) < 0 ||
		seccomp_rule_add(filter, action, SCMP_SYS(clock_adjtime), 0) < 0 ||
		seccomp_rule_add(filter, action, SCMP_SYS(clock_adjtime64), 0) < 0 ||
		seccomp_load(filter) < 0)
		unit_skip("no seccomp filter can be set here");
	seccomp_release(filter);
}

/* Of such a clock adjtimex() returns 0 (TIME_OK); here a filter does, and writes nothing. */
static void a_synchronized_clock_is_known_to_be(void **state)
{
	struct ntp_evidence ntp = {0};

	(void)state;
	filter(SCMP_ACT_ERRNO(0));
	ntp_collect(&ntp, DEADLINE_NONE);
	assert_true(fact_is_known(&ntp.fact));
	assert_true(ntp.synchronized);
	assert_false(ntp.leap_pending);
}

static void a_refused_call_is_denied(void **state)
{
	struct ntp_evidence ntp = {0};

	(void)state;
	filter(SCMP_ACT_ERRNO(EPERM));
	ntp_collect(&ntp, DEADLINE_NONE);
	assert_int_equal(ntp.fact.state, FACT_DENIED);
	assert_non_null(strstr(ntp.fact.reason, "adjtimex"));
}

static void a_filter_that_kills_leaves_this_process_alone(void **state)
{
	struct ntp_evidence ntp = {0};

	(void)state;
	filter(SCMP_ACT_KILL);
	ntp_collect(&ntp, DEADLINE_NONE);
	assert_false(fact_is_known(&ntp.fact));
	assert_true(*ntp.fact.reason);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_live_host_has_a_time_and_an_uptime),
		cmocka_unit_test(a_captured_tree_has_neither),
		cmocka_unit_test(only_a_complete_time_is_accepted),
		cmocka_unit_test(the_state_is_the_kernels),
		cmocka_unit_test(a_synchronized_clock_is_known_to_be),
		cmocka_unit_test(a_refused_call_is_denied),
		cmocka_unit_test(a_filter_that_kills_leaves_this_process_alone),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
