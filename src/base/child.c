/* SPDX-License-Identifier: MIT */
/*
 * Children have a time limit, which is enforced twice: by a timer of the child's own, which also
 * ends a child whose parent waits in another way, and by the parent, since a stopped child takes no
 * SIGALRM. Whatever goes wrong while waiting, the child is killed before its memory is used for
 * anything else.
 */
#include "base/child.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/privileges.h"

/* ns between two polls, if nothing else is asked for, and at least. */
#define POLL_NS 100000000
#define POLL_LEAST_NS 1000000

/* ns that a killed child may take to end where no time is left. */
#define END_NS 300000000

/* The parent, if it waits for the deadline, times out first and reports it. */
#define TIMER_SLACK_US 100000

/* The pause before a child is looked at again where no signal ends the wait. */
static const struct timespec look_pause = {.tv_nsec = 10000000};

void *child_share(size_t size, struct fact *why)
{
	void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED) {
		fact_set_errno(why, errno, "shared memory");
		return NULL;
	}
	return shared;
}

void child_unshare(void *shared, size_t size)
{
	munmap(shared, size);
}

static void explain_timeout(const struct deadline *deadline, struct fact *why)
{
	fact_set(why, FACT_LATE, "not done within %.3g s",
		(double)deadline->limit_ns / NS_PER_SECOND);
}

void child_refused(const char *call, int error, struct fact *why)
{
	fact_set(why, FACT_NO_CHILD, "%s: %s%s", call, strerror(error),
		error == ENOMEM ? ", or the first process of the PID namespace has ended, as after "
				  "'unshare -p' without -f"
				: "");
}

pid_t child_start(void (*work)(void *argument), void *argument, const struct deadline *deadline,
	struct fact *why)
{
	pid_t parent = getpid(), pid;
	struct itimerval timer = {.it_interval = {0}};
	int64_t left_us;
	sigset_t none;
	int number;

	/* After the deadline each further child would only be killed, which takes time, too. */
	if (deadline_left_ns(deadline) == 0) {
		explain_timeout(deadline, why);
		return -1;
	}
	pid = fork();
	if (pid < 0)
		child_refused("fork", errno, why);
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/*
	 * A parent that died before prctl() sends no signal, but getppid() differs. It is 0 where
	 * the parent entered our PID namespace without a fork (setns(2)), and negative where it is
	 * refused.
	 */
	if (getppid() > 0 && getppid() != parent)
		_exit(1);
	prctl(PR_SET_DUMPABLE, 0);
	privileges_keep(PRIVILEGES_READ); /* its parent writes the files */
	/* Signals that our own parent blocked or ignored must still be able to end a child. */
	sigemptyset(&none);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (deadline->limit_ns) {
		left_us = deadline_left_ns(deadline) / NS_PER_US + TIMER_SLACK_US;
		timer.it_value.tv_sec = (time_t)(left_us / US_PER_SECOND);
		timer.it_value.tv_usec = (suseconds_t)(left_us % US_PER_SECOND);
		setitimer(ITIMER_REAL, &timer, NULL);
	}
	/* The guard around all others sets their handlers; its signal is of none of them. */
	number = fault_guard(work, argument);
	if (number)
		raise(number);
	_exit(number);
}

static void explain_signal(int signal, const struct deadline *deadline, struct fact *why)
{
	struct rlimit limit;
	/* SIGKILL comes if the soft limit of CPU time is the hard one, too (`ulimit -t`). */
	bool is_out_of_cpu_time =
		signal == SIGXCPU || (signal == SIGKILL && getrlimit(RLIMIT_CPU, &limit) == 0 &&
					     limit.rlim_cur != RLIM_INFINITY);

	if (signal == SIGSYS)
		fact_set(why, FACT_DENIED,
			"killed by SIGSYS: a seccomp filter around this process forbids it");
	else if (signal == SIGALRM)
		explain_timeout(deadline, why);
	else if (is_out_of_cpu_time)
		fact_set(why, FACT_LATE,
			"killed by %s: CPU time is limited here (ulimit -t, RLIMIT_CPU)",
			fault_signal_name(signal));
	else
		fact_set(why, FACT_FAILED, "killed by %s", fault_signal_name(signal));
}

bool child_explain(int status, const struct deadline *deadline, struct fact *why)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		fact_set_known(why);
		return true;
	}
	if (WIFSIGNALED(status))
		explain_signal(WTERMSIG(status), deadline, why);
	else
		fact_set(why, FACT_FAILED, "the child ended with status %d", WEXITSTATUS(status));
	return false;
}

/* Uses waitid(2), because wait4(2) may just have failed. */
static bool is_gone(pid_t pid)
{
	siginfo_t ended = {0};

	if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG) < 0)
		return kill(pid, 0) < 0 && errno == ESRCH;
	return ended.si_pid == pid;
}

bool child_end(pid_t pid, const struct deadline *deadline)
{
	struct deadline least = deadline_after(END_NS);
	bool gone;

	kill(pid, SIGKILL);
	while (!(gone = is_gone(pid)) &&
		(deadline_left_ns(&least) > 0 || deadline_left_ns(deadline) > 0))
		nanosleep(&look_pause, NULL);
	return gone;
}

/*
 * Set by the timer. Its signal interrupts wait4(2); it is read after each change, too, since
 * children may change without a pause.
 */
static volatile sig_atomic_t ticked;

static void tick(int number)
{
	(void)number;
	ticked = 1;
}

static bool start_timer(timer_t timer, const struct child_wait *wait)
{
	int64_t left_ns = deadline_left_ns(wait->deadline);
	int64_t ns = left_ns < wait->poll_ns ? left_ns : wait->poll_ns;
	struct timespec interval = timespec_of(ns > POLL_LEAST_NS ? ns : POLL_LEAST_NS);

	return timer_settime(timer, 0, &(struct itimerspec){interval, interval}, NULL) == 0;
}

/*
 * A change costs one system call: wait4(2) blocks, and a timer interrupts it. The timer's signal is
 * ignored by default, so that a late one does no harm; SIGALRM may be a deadline's.
 */
int child_wait(struct child_wait *wait)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG};
	struct sigaction action = {.sa_handler = tick}, action_before = {.sa_handler = SIG_DFL};
	sigset_t tick_signal, mask_before;
	timer_t timer;
	bool has_timer;
	int error = 0;

	if (!wait->poll_ns)
		wait->poll_ns = POLL_NS;
	sigemptyset(&action.sa_mask);
	sigemptyset(&tick_signal);
	sigaddset(&tick_signal, SIGURG);
	sigprocmask(SIG_UNBLOCK, &tick_signal, &mask_before);
	/* Its signal would interrupt what a poll writes. */
	has_timer = sigaction(SIGURG, &action, &action_before) == 0 && !wait->is_alone &&
	            timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
	while (!error) {
		bool is_ticking = has_timer && start_timer(timer, wait);
		struct timespec pause = wait->is_alone ? timespec_of(wait->poll_ns) : look_pause;
		struct rusage usage;
		pid_t pid;

		ticked = 0;
		do {
			pid = wait4(wait->pid, &wait->status,
				wait->options | (is_ticking ? 0 : WNOHANG), &usage);
			if (pid > 0 && (!wait->changed || wait->changed(wait->argument, pid,
								  wait->status, &usage)))
				wait->ended = pid;
		} while (pid > 0 && !wait->ended && !ticked);
		if (wait->ended)
			break;
		if (pid < 0 && errno != EINTR && !(errno == ECHILD && wait->is_alone))
			error = errno;
		else if (wait->poll && wait->poll(wait->argument))
			break;
		else if (deadline_left_ns(wait->deadline) == 0)
			error = ETIMEDOUT;
		else if (!is_ticking)
			nanosleep(&pause, NULL);
	}
	if (has_timer)
		timer_delete(timer);
	sigaction(SIGURG, &action_before, NULL);
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
	return error;
}

bool child_join(pid_t pid, bool (*poll)(void *argument), void *argument,
	const struct deadline *deadline, struct fact *why)
{
	struct child_wait wait = {
		.pid = pid, .deadline = deadline, .poll = poll, .argument = argument};
	int error = child_wait(&wait);

	if (wait.ended)
		return child_explain(wait.status, deadline, why);
	if (error == ETIMEDOUT)
		explain_timeout(deadline, why);
	else if (error)
		child_refused("wait4", error, why);
	child_end(pid, deadline);
	return false;
}

bool child_run(void (*work)(void *argument), bool (*poll)(void *argument), void *argument,
	const struct deadline *deadline, struct fact *why)
{
	pid_t pid = child_start(work, argument, deadline, why);

	return pid > 0 && child_join(pid, poll, argument, deadline, why);
}

bool child_call(void (*work)(void *object), void *object, size_t size,
	const struct deadline *deadline, struct fact *why)
{
	void *shared = child_share(size, why);
	bool done;

	if (!shared)
		return false;
	memcpy(shared, object, size);
	done = child_run(work, NULL, shared, deadline, why);
	if (done)
		memcpy(object, shared, size);
	child_unshare(shared, size);
	return done;
}

bool child_probe(void (*work)(void *object), void *object, size_t size, const struct deadline *run,
	struct fact *why)
{
	struct deadline deadline;
	int number;

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0) {
		fact_set_known(why);
		number = fault_guard(work, object);
		if (number)
			explain_signal(number, run, why);
		return !number;
	}
	deadline = deadline_within(run, CHILD_PROBE_NS);
	return child_call(work, object, size, &deadline, why);
}
