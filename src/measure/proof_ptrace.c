/* SPDX-License-Identifier: MIT */
/*
 * The proof by ptrace, for where no seccomp filter can be set: the parent traces the child and
 * counts the system calls that it makes during each call.
 */
#include "proof_run.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"

/* PTRACE_O_TRACESYSGOOD marks stops at system calls with this bit. */
#define SYSCALL_STOP (SIGTRAP | 0x80)

static bool make_uncaught(const struct call *call)
{
	/* The error number does not matter: the tracer counts. */
	call_returns_error(call, 0);
	return false;
}

static void run_traced(void *argument)
{
	struct proof_run *run = argument;

	proof_run_try_raw(run);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) {
		fact_set_errno(&run->fact, errno, "ptrace");
		return;
	}
	raise(SIGSTOP);
	run->call = PROOF_RUN_CONTROL;
	call_control_returns_error(0);
	run->call = PROOF_RUN_NOTHING;
	if (!run->control_entered) {
		fact_set(&run->fact, FACT_FAILED, "ptrace did not see the control call");
		return;
	}
	fact_set_known(&run->fact);
	proof_run_all(run, make_uncaught);
}

/* A libc may try twice in one call: an attempt counts once. */
static void count_entry(struct proof_run *run, uint32_t *counted)
{
	int32_t call = run->call;

	if (call == PROOF_RUN_CONTROL)
		run->control_entered++;
	if (call < 0 || *counted == run->serial)
		return;
	*counted = run->serial;
	run->calls[call].path[run->path].entered++;
}

/* Waits for the next stop or the end. False with the reason if the wait fails. */
static bool await_stop(pid_t pid, int *status, struct fact *why)
{
	while (waitpid(pid, status, WUNTRACED) < 0) {
		if (errno != EINTR) {
			fact_set_errno(why, errno, CHILD_WAIT);
			return false;
		}
	}
	return true;
}

/* Follows the child from its first stop to its end, and leaves the status of the end. */
static bool follow(struct proof_run *run, pid_t pid, int *status, struct fact *why)
{
	uint32_t counted = 0;
	bool entering = true;

	if (!await_stop(pid, status, why))
		return false;
	ptrace(PTRACE_SETOPTIONS, pid, NULL,
		(void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	while (WIFSTOPPED(*status)) {
		int signal = WSTOPSIG(*status);

		/* ptrace stops deliver no signal. */
		if (signal == SYSCALL_STOP || signal == SIGSTOP)
			signal = 0;
		/* System calls after a crash are those of the handler, not of the call. */
		if (signal)
			run->call = PROOF_RUN_NOTHING;
		if (WSTOPSIG(*status) == SYSCALL_STOP) {
			if (entering)
				count_entry(run, &counted);
			entering = !entering;
		}
		if (ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(uintptr_t)signal) < 0)
			kill(pid, SIGKILL);
		if (!await_stop(pid, status, why))
			return false;
	}
	return true;
}

bool proof_ptrace_take(struct proof_run *run, const struct deadline *deadline, struct fact *why)
{
	int status = 0;
	pid_t pid = child_start(run_traced, run, deadline, why);

	if (pid <= 0)
		return false;
	if (follow(run, pid, &status, why))
		return child_judge(status, deadline, why);
	child_end(pid, deadline);
	return false;
}
