/* SPDX-License-Identifier: MIT */
#include "measure/watch_child.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/child.h"

static const struct timespec between_looks = {.tv_nsec = 200000000};

/* Waits for the child, or for the time between two looks; true once it has ended. */
static bool has_ended(pid_t pid, const sigset_t *child_signal, int *status)
{
	pid_t ended = waitpid(pid, status, WNOHANG);

	if (ended == 0) {
		sigtimedwait(child_signal, NULL, &between_looks);
		ended = waitpid(pid, status, WNOHANG);
	}
	return ended == pid || (ended < 0 && errno != EINTR);
}

static bool run_and_look(void (*work)(void *argument), void (*look)(void *argument), void *argument,
	unsigned seconds, struct fact *why)
{
	sigset_t child_signal, before;
	int status = 0;
	pid_t pid;

	/* Blocked, lest the child end between waitpid() and sigtimedwait(). */
	sigemptyset(&child_signal);
	sigaddset(&child_signal, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_signal, &before);
	pid = child_start(work, argument, seconds, why);
	while (pid >= 0 && !has_ended(pid, &child_signal, &status))
		look(argument);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid >= 0 && child_judge(status, seconds, why);
}

bool watch_child_run(void (*work)(void *argument), void (*look)(void *argument), void *argument,
	unsigned seconds, struct fact *why)
{
	if (!look)
		return child_run(work, argument, seconds, why);
	return run_and_look(work, look, argument, seconds, why);
}
