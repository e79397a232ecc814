/* SPDX-License-Identifier: MIT */
/* base/child: where the dangerous work is done. If it lied, a crash would look like a fact. */
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "unit/unit.h"

#define SECONDS 20

static void set_flag(void *argument)
{
	*(volatile int *)argument = 1;
}

static void what_the_child_found_comes_back(void **state)
{
	struct fact why = {0};
	int *shared = child_share(sizeof(*shared), &why);

	(void)state;
	assert_non_null(shared);
	assert_int_equal(*shared, 0);
	assert_true(child_run(set_flag, shared, SECONDS, &why));
	assert_true(fact_is_known(&why));
	assert_int_equal(*shared, 1);
	child_unshare(shared, sizeof(*shared));
}

static void what_the_child_did_stays_in_the_child(void **state)
{
	struct fact why = {0};
	int ours = 0;

	(void)state;
	assert_true(child_run(set_flag, &ours, SECONDS, &why));
	assert_int_equal(ours, 0);
}

/* cmocka's own handlers would go on with the tests in the child. */
static void die(void *signal_number)
{
	signal(*(int *)signal_number, SIG_DFL);
	raise(*(int *)signal_number);
}

static void a_signal_is_a_failure_that_names_it(void **state)
{
	static const struct {
		int signal;
		const char *name;
	} rows[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"},
		{SIGKILL, "SIGKILL"}, {SIGTERM, "signal 15"}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct fact why = {0};
		int number = rows[i].signal;

		assert_false(child_run(die, &number, SECONDS, &why));
		assert_int_equal(why.state, FACT_FAILED);
		assert_non_null(strstr(why.reason, rows[i].name));
	}
}

static void call_forbidden(void *argument)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	(void)argument;
	if (!filter || seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(getppid), 0) < 0 ||
		seccomp_load(filter) < 0)
		_exit(0);
	getppid();
}

/* "Denied" sends the user to the sandbox; "failed" would send him to us. */
static void a_kill_by_a_foreign_filter_is_denied(void **state)
{
	struct fact why = {0};

	(void)state;
	if (child_run(call_forbidden, NULL, SECONDS, &why))
		unit_skip("no seccomp filter can be set");
	assert_int_equal(why.state, FACT_DENIED);
	assert_non_null(strstr(why.reason, "SIGSYS"));
}

static void sleep_on(void *argument)
{
	(void)argument;
	for (;;)
		pause();
}

/* Else one hanging vDSO hangs a provisioning script. */
static void the_limit_ends_a_child_that_hangs(void **state)
{
	struct fact why = {0};

	(void)state;
	assert_false(child_run(sleep_on, NULL, 1, &why));
	assert_int_equal(why.state, FACT_FAILED);
	assert_non_null(strstr(why.reason, "1 s"));
}

/* A caller such as nohup or a test harness may block or ignore the alarm. */
static void the_limit_holds_where_the_alarm_is_blocked_or_ignored(void **state)
{
	struct fact why = {0};
	sigset_t set, old;
	void (*handler)(int);

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, &old);
	handler = signal(SIGALRM, SIG_IGN);
	assert_false(child_run(sleep_on, NULL, 1, &why));
	signal(SIGALRM, handler);
	sigprocmask(SIG_SETMASK, &old, NULL);
	assert_non_null(strstr(why.reason, "1 s"));
}

static void leave_early(void *argument)
{
	(void)argument;
	_exit(3);
}

static void an_early_end_is_a_failure_with_its_status(void **state)
{
	struct fact why = {0};

	(void)state;
	assert_false(child_run(leave_early, NULL, SECONDS, &why));
	assert_int_equal(why.state, FACT_FAILED);
	assert_non_null(strstr(why.reason, "3"));
}

static void no_child_is_left_behind(void **state)
{
	struct fact why = {0};
	int number = SIGKILL;

	(void)state;
	child_run(leave_early, NULL, SECONDS, &why);
	child_run(die, &number, SECONDS, &why);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* SIGKILL alone reads as if memory had run out. */
static void a_limit_of_cpu_time_is_named(void **state)
{
	struct rlimit old, limited;
	struct fact why = {0};

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_CPU, &old), 0);
	if (old.rlim_cur != RLIM_INFINITY)
		unit_skip("CPU time is limited here");
	child_judge(SIGKILL, SECONDS, &why);
	assert_null(strstr(why.reason, "CPU time"));
	limited = (struct rlimit){.rlim_cur = 86400, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_CPU, &limited), 0);
	child_judge(SIGKILL, SECONDS, &why);
	assert_int_equal(setrlimit(RLIMIT_CPU, &old), 0);
	assert_non_null(strstr(why.reason, "SIGKILL: CPU time is limited"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_child_found_comes_back),
		cmocka_unit_test(what_the_child_did_stays_in_the_child),
		cmocka_unit_test(a_signal_is_a_failure_that_names_it),
		cmocka_unit_test(a_kill_by_a_foreign_filter_is_denied),
		cmocka_unit_test(the_limit_ends_a_child_that_hangs),
		cmocka_unit_test(the_limit_holds_where_the_alarm_is_blocked_or_ignored),
		cmocka_unit_test(an_early_end_is_a_failure_with_its_status),
		cmocka_unit_test(no_child_is_left_behind),
		cmocka_unit_test(a_limit_of_cpu_time_is_named),
	};

	return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
