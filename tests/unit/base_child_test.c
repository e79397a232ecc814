/* SPDX-License-Identifier: MIT */
/* Tests of base/child: work in a child process, its result, its limits and its crashes. */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/time.h"
#include "unit/unit.h"

/* The program's own wait4() is this one. */
static bool wait4_fails;
static pid_t waited_for;

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	waited_for = pid;
	if (wait4_fails) {
		errno = ECHILD;
		return -1;
	}
	return (pid_t)syscall(SYS_wait4, pid, status, options, usage);
}

static struct deadline soon(void)
{
	return deadline_after(200000000);
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static void set_flag(void *argument)
{
	*(volatile int *)argument = 1;
}

static void the_child_s_result_is_copied_back(void **state)
{
	struct fact why = {0};
	int *shared = child_share(sizeof(*shared), &why);

	(void)state;
	assert_non_null(shared);
	assert_int_equal(*shared, 0);
	assert_true(child_run(set_flag, NULL, shared, DEADLINE_NONE, &why));
	assert_true(fact_is_known(&why));
	assert_int_equal(*shared, 1);
	child_unshare(shared, sizeof(*shared));
}

static void side_effects_stay_in_the_child(void **state)
{
	struct fact why = {0};
	int ours = 0;

	(void)state;
	assert_true(child_run(set_flag, NULL, &ours, DEADLINE_NONE, &why));
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

		assert_false(child_run(die, NULL, &number, DEADLINE_NONE, &why));
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
	if (child_run(call_forbidden, NULL, NULL, DEADLINE_NONE, &why))
		unit_skip("no seccomp filter can be set");
	assert_int_equal(why.state, FACT_DENIED);
	assert_non_null(strstr(why.reason, "SIGSYS"));
}

enum { RUNS = 10, RUNS_NOT, NO_NAMESPACE };

/* Enters a PID namespace as nsenter --no-fork does: only the children are in it. */
static int run_in_pid_namespace(void)
{
	struct fact why = {0};
	volatile int *flag = child_share(sizeof(*flag), &why);
	pid_t init;
	bool done;

	if (!flag || (unshare(CLONE_NEWPID) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0))
		return NO_NAMESPACE;
	init = fork();
	if (init == 0)
		for (;;)
			pause();
	if (init < 0)
		return NO_NAMESPACE;
	done = child_run(set_flag, NULL, (void *)(uintptr_t)flag, DEADLINE_NONE, &why) && *flag;
	kill(init, SIGKILL);
	return done ? RUNS : RUNS_NOT;
}

static void children_run_in_a_pid_namespace_entered_without_a_fork(void **state)
{
	pid_t pid = fork();
	int status = 0;

	(void)state;
	if (pid == 0)
		_exit(run_in_pid_namespace());
	assert_int_equal(wait4(pid, &status, 0, NULL), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_NAMESPACE)
		unit_skip("no PID namespace can be made");
	assert_int_equal(WEXITSTATUS(status), RUNS);
}

/* What child_run() says where fork(2) is refused; unchanged if no filter can be set. */
static void fork_refused(void *argument)
{
	static const char *const calls[] = {"clone", "clone3", "fork", "vfork"};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	for (size_t i = 0; filter && i < sizeof(calls) / sizeof(calls[0]); i++) {
		int number = seccomp_syscall_resolve_name(calls[i]);

		if (number >= 0)
			seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAGAIN), number, 0);
	}
	if (filter && seccomp_load(filter) == 0)
		child_run(set_flag, NULL, argument, DEADLINE_NONE, argument);
}

/* The advice to raise the limit of processes depends on it. */
static void a_refused_fork_is_distinct_from_other_errors(void **state)
{
	struct fact why = {0}, refused = {0};

	(void)state;
	assert_true(child_call(fork_refused, &refused, sizeof(refused), DEADLINE_NONE, &why));
	if (refused.state == FACT_UNREAD)
		unit_skip("no seccomp filter can be set");
	assert_int_equal(refused.state, FACT_NO_CHILD);
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
	struct deadline deadline = soon();
	struct fact why = {0};

	(void)state;
	assert_false(child_run(sleep_on, NULL, NULL, &deadline, &why));
	assert_int_equal(why.state, FACT_LATE);
	assert_non_null(strstr(why.reason, "not done within 0.2 s"));
}

/* A caller such as nohup or a test harness may block or ignore the alarm. */
static void the_limit_holds_where_the_alarm_is_blocked_or_ignored(void **state)
{
	struct deadline deadline = soon();
	struct fact why = {0};
	sigset_t set, old;
	void (*handler)(int);

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, &old);
	handler = signal(SIGALRM, SIG_IGN);
	assert_false(child_run(sleep_on, NULL, NULL, &deadline, &why));
	signal(SIGALRM, handler);
	sigprocmask(SIG_SETMASK, &old, NULL);
	assert_non_null(strstr(why.reason, "not done within 0.2 s"));
}

/* Its own timer cannot end it, nor anything but SIGKILL. */
static void stop(void *argument)
{
	(void)argument;
	raise(SIGSTOP);
	sleep_on(NULL);
}

static void the_limit_ends_a_child_that_is_stopped(void **state)
{
	struct deadline deadline = soon();
	struct fact why = {0};

	(void)state;
	alarm(20);
	assert_false(child_run(stop, NULL, NULL, &deadline, &why));
	alarm(0);
	assert_non_null(strstr(why.reason, "not done within 0.2 s"));
	assert_true(is_gone(waited_for));
}

/* A user with many pending signals gets no timer, by which the wait wakes up otherwise. */
static void the_limit_holds_where_timers_are_refused(void **state)
{
	struct rlimit old, none;
	struct deadline deadline;
	struct fact why = {0};
	bool done;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_SIGPENDING, &old), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &none), 0);
	deadline = soon();
	alarm(20);
	done = child_run(stop, NULL, NULL, &deadline, &why);
	alarm(0);
	assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &old), 0);
	assert_false(done);
	assert_non_null(strstr(why.reason, "not done within"));
}

/* One deadline serves many children: the later ones do not get its time anew. */
static void no_child_is_started_after_its_deadline(void **state)
{
	struct deadline deadline = soon();
	struct fact why = {0};

	(void)state;
	assert_false(child_run(sleep_on, NULL, NULL, &deadline, &why));
	assert_int_equal(deadline_left_ns(&deadline), 0);
	waited_for = 0;
	fact_set_known(&why);
	assert_false(child_run(sleep_on, NULL, NULL, &deadline, &why));
	assert_int_equal(waited_for, 0);
	assert_non_null(strstr(why.reason, "not done within 0.2 s"));
}

/* Probes made under a filter, which does not forbid anything. */
struct probes {
	bool is_filtered;
	struct fact little, much;
	int64_t left_ns;
	int slept, flag;
};

static void probe_under_a_filter(void *argument)
{
	struct probes *probes = argument;
	struct deadline little = soon(), much = deadline_after(100 * (int64_t)CHILD_PROBE_NS);
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	struct fact why;

	if (!filter || seccomp_load(filter) < 0)
		return;
	probes->is_filtered = true;
	child_probe(sleep_on, &probes->slept, sizeof(int), &little, &probes->little);
	child_probe(sleep_on, &probes->slept, sizeof(int), &much, &probes->much);
	probes->left_ns = deadline_left_ns(&much);
	child_probe(set_flag, &probes->flag, sizeof(int), DEADLINE_NONE, &why);
}

/* One that hangs leaves the run most of its time, and ends with the run where that is less. */
static void a_probe_under_a_filter_takes_a_part_of_the_run_s_time(void **state)
{
	struct probes probes = {.slept = 5};
	struct fact why = {0};

	(void)state;
	assert_true(child_call(probe_under_a_filter, &probes, sizeof(probes), DEADLINE_NONE, &why));
	if (!probes.is_filtered)
		unit_skip("no seccomp filter can be set");
	assert_non_null(strstr(probes.little.reason, "not done within 0.2 s"));
	assert_non_null(strstr(probes.much.reason, "not done within 1 s"));
	assert_true(probes.left_ns > 0);
	assert_int_equal(probes.slept, 5);
	assert_int_equal(probes.flag, 1);
}

static void a_probe_without_a_filter_needs_no_child(void **state)
{
	struct fact why = {0};
	int value = 0;

	(void)state;
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0)
		unit_skip("a seccomp filter is set");
	wait4_fails = true;
	assert_true(child_probe(set_flag, &value, sizeof(value), DEADLINE_NONE, &why));
	wait4_fails = false;
	assert_int_equal(value, 1);
}

static void a_result_is_copied_back_only_when_complete(void **state)
{
	struct deadline deadline = soon();
	struct fact why = {0};
	int value = 0;

	(void)state;
	assert_true(child_call(set_flag, &value, sizeof(value), DEADLINE_NONE, &why));
	assert_int_equal(value, 1);
	value = 2;
	assert_false(child_call(sleep_on, &value, sizeof(value), &deadline, &why));
	assert_int_equal(value, 2);
}

static void set_flag_and_sleep(void *argument)
{
	set_flag(argument);
	sleep_on(NULL);
}

/* Else it goes on in memory that the next child counts in. */
static void a_child_that_cannot_be_waited_for_is_killed(void **state)
{
	struct fact why = {0};
	int value = 0;

	(void)state;
	wait4_fails = true;
	assert_false(child_call(set_flag_and_sleep, &value, sizeof(value), DEADLINE_NONE, &why));
	wait4_fails = false;
	assert_int_equal(why.state, FACT_NO_CHILD);
	assert_non_null(strstr(why.reason, "wait4"));
	assert_int_equal(value, 0);
	assert_true(is_gone(waited_for));
}

#define LOOKS 3

static bool count_look(void *argument)
{
	++*(volatile int *)argument;
	return false;
}

/* The child ends by its parent's progress: a busy machine makes it last, not fail. */
static void sleep_until_watched(void *argument)
{
	const volatile int *looks = argument;
	const struct timespec pause = {.tv_nsec = 10000000};

	while (*looks < LOOKS)
		nanosleep(&pause, NULL);
}

static void a_running_child_is_watched(void **state)
{
	struct deadline deadline = deadline_after(60 * (int64_t)NS_PER_SECOND);
	int64_t start_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	struct fact why = {0};
	int *looks = child_share(sizeof(*looks), &why);

	(void)state;
	assert_non_null(looks);
	assert_true(child_run(sleep_until_watched, count_look, looks, &deadline, &why));
	/* Ten looks a second, not one after the other. */
	assert_in_range(*looks, LOOKS, (kernel_clock_ns(CLOCK_MONOTONIC) - start_ns) / 50000000);
	child_unshare(looks, sizeof(*looks));
}

static bool stop_at_once(void *argument)
{
	(void)argument;
	return true;
}

static void a_child_ends_when_its_poll_says_so(void **state)
{
	struct deadline deadline = deadline_after(60 * (int64_t)NS_PER_SECOND);
	struct fact why = {0};
	int looks = 0; /* the child's own: it would wait forever */

	(void)state;
	assert_false(child_run(sleep_until_watched, stop_at_once, &looks, &deadline, &why));
	assert_int_equal(why.state, FACT_UNREAD);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* ---- the wait for several ---- */

struct group {
	unsigned ended, polled;
	unsigned until_ended, until_polled; /* 0: the wait goes on */
};

static bool count_end(void *argument, pid_t pid, int status, const struct rusage *usage)
{
	struct group *group = argument;

	assert_true(pid > 0 && WIFEXITED(status));
	assert_true(usage->ru_maxrss > 0);
	return ++group->ended == group->until_ended;
}

static bool count_poll(void *argument)
{
	struct group *group = argument;

	return ++group->polled == group->until_polled;
}

static int wait_for_any(struct group *group, const struct deadline *deadline)
{
	return child_wait(&(struct child_wait){.pid = -1,
		.deadline = deadline,
		.changed = count_end,
		.poll = count_poll,
		.argument = group});
}

static void leave(void *argument)
{
	(void)argument;
}

/* On a busy machine a killed child may end after its parent has stopped waiting. */
static void await_late_ends(void)
{
	alarm(20);
	while (waitpid(-1, NULL, 0) > 0)
		;
	alarm(0);
}

static void a_wait_ends_with_the_last_child(void **state)
{
	struct group group = {0};
	struct fact why = {0};

	(void)state;
	await_late_ends();
	for (int i = 0; i < 5; i++)
		assert_true(child_start(leave, NULL, DEADLINE_NONE, &why) > 0);
	assert_int_equal(wait_for_any(&group, DEADLINE_NONE), ECHILD);
	assert_int_equal(group.ended, 5);
}

static void a_wait_ends_by_a_callback_or_at_its_deadline(void **state)
{
	struct group group = {.until_ended = 1};
	struct deadline deadline = soon();
	struct fact why = {0};
	pid_t pid = child_start(sleep_on, NULL, DEADLINE_NONE, &why);

	(void)state;
	assert_true(pid > 0);
	assert_int_equal(wait_for_any(&group, &deadline), ETIMEDOUT);
	group = (struct group){.until_polled = 2};
	assert_int_equal(wait_for_any(&group, DEADLINE_NONE), 0);
	assert_int_equal(group.polled, 2);
	group = (struct group){.until_ended = 1};
	assert_true(child_start(leave, NULL, DEADLINE_NONE, &why) > 0);
	assert_int_equal(wait_for_any(&group, DEADLINE_NONE), 0);
	assert_int_equal(group.ended, 1);
	assert_true(child_end(pid, DEADLINE_NONE));
}

/* By default there is time for two polls until the deadline. */
static void a_wait_without_children_polls_as_often_as_is_asked_for(void **state)
{
	struct group group = {.until_polled = 5};
	struct deadline deadline = soon();
	struct child_wait wait = {.pid = -1,
		.deadline = &deadline,
		.poll = count_poll,
		.poll_ns = 5000000,
		.is_alone = true,
		.argument = &group};

	(void)state;
	await_late_ends();
	assert_int_equal(child_wait(&wait), 0);
	assert_int_equal(group.polled, 5);
	group.until_polled = 0;
	assert_int_equal(child_wait(&wait), ETIMEDOUT);
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
	assert_false(child_run(leave_early, NULL, NULL, DEADLINE_NONE, &why));
	assert_int_equal(why.state, FACT_FAILED);
	assert_non_null(strstr(why.reason, "3"));
}

static void no_child_is_left_behind(void **state)
{
	struct fact why = {0};
	int number = SIGKILL;

	(void)state;
	await_late_ends();
	child_run(leave_early, NULL, NULL, DEADLINE_NONE, &why);
	child_run(die, NULL, &number, DEADLINE_NONE, &why);
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
	child_explain(SIGKILL, DEADLINE_NONE, &why);
	assert_null(strstr(why.reason, "CPU time"));
	limited = (struct rlimit){.rlim_cur = 86400, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_CPU, &limited), 0);
	child_explain(SIGKILL, DEADLINE_NONE, &why);
	assert_int_equal(setrlimit(RLIMIT_CPU, &old), 0);
	assert_int_equal(why.state, FACT_LATE);
	assert_non_null(strstr(why.reason, "SIGKILL: CPU time is limited"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_child_s_result_is_copied_back),
		cmocka_unit_test(side_effects_stay_in_the_child),
		cmocka_unit_test(a_signal_is_a_failure_that_names_it),
		cmocka_unit_test(a_kill_by_a_foreign_filter_is_denied),
		cmocka_unit_test(children_run_in_a_pid_namespace_entered_without_a_fork),
		cmocka_unit_test(a_refused_fork_is_distinct_from_other_errors),
		cmocka_unit_test(the_limit_ends_a_child_that_hangs),
		cmocka_unit_test(the_limit_holds_where_the_alarm_is_blocked_or_ignored),
		cmocka_unit_test(the_limit_ends_a_child_that_is_stopped),
		cmocka_unit_test(the_limit_holds_where_timers_are_refused),
		cmocka_unit_test(no_child_is_started_after_its_deadline),
		cmocka_unit_test(a_probe_under_a_filter_takes_a_part_of_the_run_s_time),
		cmocka_unit_test(a_probe_without_a_filter_needs_no_child),
		cmocka_unit_test(a_result_is_copied_back_only_when_complete),
		cmocka_unit_test(a_child_that_cannot_be_waited_for_is_killed),
		cmocka_unit_test(a_running_child_is_watched),
		cmocka_unit_test(a_child_ends_when_its_poll_says_so),
		cmocka_unit_test(a_wait_ends_with_the_last_child),
		cmocka_unit_test(a_wait_ends_by_a_callback_or_at_its_deadline),
		cmocka_unit_test(a_wait_without_children_polls_as_often_as_is_asked_for),
		cmocka_unit_test(an_early_end_is_a_failure_with_its_status),
		cmocka_unit_test(no_child_is_left_behind),
		cmocka_unit_test(a_limit_of_cpu_time_is_named),
	};

	return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
