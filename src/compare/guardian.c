/* SPDX-License-Identifier: MIT */
/*
 * The guardian is a process of its own that restores the clocksource when every process that
 * could switch it has ended, however that came about.
 *
 * It waits for end-of-file on a pipe whose other end each such process holds open, so the
 * kernel itself reports their end. It is in a session of its own and blocks every signal that
 * can be blocked, so neither a closed terminal nor a killed process group ends it. It can still
 * be killed by SIGKILL; then the process that started it restores the clocksource itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "model.h"

/* The name differs from the program's, so that "killall vdsocheck" leaves it alone. */
#define NAME "clock-guardian"

/* The parent restores the clocksource if the guardian has not done so after this time. */
#define RESTORE_NS 5000000000

/* The byte that announces a regular end, whose outcome the parent reports. */
#define REGULAR_END 'e'

/* Standard error stays open for the report. */
static void leave_terminal(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	if (nothing < 0)
		return;
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	close(nothing);
}

/* Returns when all others are gone; true after a regular end. */
static bool await_end(int alive)
{
	bool regular = false;
	char byte;
	ssize_t got;

	do {
		got = read(alive, &byte, 1);
		if (got > 0 && byte == REGULAR_END)
			regular = true;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return regular;
}

/* The guardian also removes the record if its parent is gone, unless that is still needed. */
static void guard(const struct guardian *guardian, const struct clocksource_switch *sw,
	guardian_report *orphaned)
{
	pid_t parent = getppid();
	struct fact why = {0};
	enum switch_result result;
	bool regular;

	prctl(PR_SET_NAME, NAME);
	close(guardian->alive[1]);
	leave_terminal();
	regular = await_end(guardian->alive[0]);
	result = clocksource_switch_restore(sw, &why);
	if (!regular || getppid() != parent) {
		if (result != SWITCH_REFUSED)
			clocksource_switch_forget(sw);
		orphaned(sw, result, &why);
	}
	_exit(result == SWITCH_DONE ? 0 : 1);
}

bool guardian_start(struct guardian *guardian, const struct clocksource_switch *sw,
	guardian_report *orphaned, struct fact *why)
{
	sigset_t all, before;

	/* Without a guardian the program ends, which closes what is open. */
	if (pipe2(guardian->alive, O_CLOEXEC) < 0) {
		fact_set_errno(why, errno, "pipe");
		return false;
	}
	/* All are blocked before the fork, so that no signal finds the guardian unprepared. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	guardian->pid = fork();
	if (guardian->pid == 0)
		guard(guardian, sw, orphaned);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (guardian->pid < 0)
		fact_set_errno(why, errno, "fork of the guardian");
	close(guardian->alive[0]);
	return guardian->pid > 0;
}

bool guardian_is_running(const struct guardian *guardian)
{
	siginfo_t ended = {.si_pid = 0};

	return waitid(P_PID, (id_t)guardian->pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       ended.si_pid == 0;
}

enum switch_result guardian_finish(
	struct guardian *guardian, const struct clocksource_switch *sw, struct fact *why)
{
	struct deadline deadline = deadline_after(RESTORE_NS);
	struct child_wait wait = {.pid = guardian->pid, .deadline = &deadline};

	/* A guardian that is gone does not read it; the driver ignores SIGPIPE. */
	(void)!write(guardian->alive[1], &(char){REGULAR_END}, 1);
	close(guardian->alive[1]);
	/* A guardian that was stopped, or waits for a child that cannot be killed, never ends. */
	if (child_wait(&wait) == ETIMEDOUT)
		child_end(guardian->pid, &deadline);
	return clocksource_switch_restore(sw, why);
}
