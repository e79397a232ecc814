/* SPDX-License-Identifier: MIT */
#include "base/child.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"

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

/* Signals that our own parent blocked or ignored must still be able to end a child. */
static void take_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A parent that died before prctl() sends no signal any more, but we are not its child. */
static void be_child(void (*work)(void *argument), void *argument, unsigned seconds, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_DUMPABLE, 0);
	take_signals();
	alarm(seconds);
	work(argument);
	_exit(0);
}

pid_t child_start(void (*work)(void *argument), void *argument, unsigned seconds, struct fact *why)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid == 0)
		be_child(work, argument, seconds, parent);
	if (pid < 0)
		fact_set_errno(why, errno, "fork");
	return pid;
}

/* Where the soft limit of CPU time is the hard one, as with `ulimit -t`, no SIGXCPU comes first. */
static bool is_out_of_cpu_time(int signal)
{
	struct rlimit limit;

	return signal == SIGXCPU || (signal == SIGKILL && getrlimit(RLIMIT_CPU, &limit) == 0 &&
					    limit.rlim_cur != RLIM_INFINITY);
}

static void explain_signal(int signal, unsigned seconds, struct fact *why)
{
	if (signal == SIGSYS)
		fact_set(why, FACT_DENIED,
			"killed by SIGSYS: a seccomp filter of the surroundings forbids it");
	else if (signal == SIGALRM)
		fact_set(why, FACT_FAILED, "not done within %u s", seconds);
	else if (is_out_of_cpu_time(signal))
		fact_set(why, FACT_FAILED,
			"killed by %s: CPU time is limited here (ulimit -t, RLIMIT_CPU)",
			fault_signal_name(signal));
	else
		fact_set(why, FACT_FAILED, "killed by %s", fault_signal_name(signal));
}

bool child_judge(int status, unsigned seconds, struct fact *why)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		fact_set_known(why);
		return true;
	}
	if (WIFSIGNALED(status))
		explain_signal(WTERMSIG(status), seconds, why);
	else
		fact_set(why, FACT_FAILED, "the child ended with status %d", WEXITSTATUS(status));
	return false;
}

bool child_run(void (*work)(void *argument), void *argument, unsigned seconds, struct fact *why)
{
	int status = 0;
	pid_t pid = child_start(work, argument, seconds, why);

	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			fact_set_errno(why, errno, "waitpid");
			return false;
		}
	}
	return child_judge(status, seconds, why);
}
