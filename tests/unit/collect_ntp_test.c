/* SPDX-License-Identifier: MIT */
/* Tests of collect/ntp: the kernel's NTP state, and a call that a filter refuses or kills for. */
#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <sys/timex.h>

#include "collect.h"
#include "unit/unit.h"

static void the_state_is_the_kernels(void **state)
{
	struct ntp_evidence ntp = {0};
	struct timex timex = {.modes = 0};
	int now = adjtimex(&timex);

	(void)state;
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
		cmocka_unit_test(the_state_is_the_kernels),
		cmocka_unit_test(a_refused_call_is_denied),
		cmocka_unit_test(a_filter_that_kills_leaves_this_process_alone),
	};

	return cmocka_run_group_tests_name("ntp", tests, NULL, NULL);
}
