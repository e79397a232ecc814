/* SPDX-License-Identifier: MIT */
/*
 * The proof by ptrace, for where no seccomp filter can be set: the parent traces the child and
 * counts the system calls that it makes during each call.
 */
#include "parts.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"

static void run_traced(void *argument)
{
	struct proof_run *run = argument;
	const struct call control = call_control();

	proof_run_prepare(run);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) {
		fact_set_errno(&run->fact, errno, "ptrace");
		return;
	}
	raise(SIGSTOP);
	run->call = PROOF_RUN_CONTROL;
	call_error(&control);
	run->call = PROOF_RUN_NOTHING;
	if (!run->control_entered) {
		fact_set(&run->fact, FACT_FAILED, "ptrace did not see the control call");
		return;
	}
	fact_set_known(&run->fact);
	proof_run_all(run);
}

/* The traced child, between its stops. */
struct tracing {
	struct proof_run *run;
	uint32_t counted; /* serial of the last attempt that entered: a libc may try twice in one */
	bool is_followed, is_inside;
};

static void count_entry(struct tracing *tracing)
{
	struct proof_run *run = tracing->run;
	int32_t call = run->call;

	if (call == PROOF_RUN_CONTROL)
		run->control_entered++;
	if (call < 0 || tracing->counted == run->serial)
		return;
	tracing->counted = run->serial;
	run->calls[call].path[run->path].entered++;
}

/* Resumes the child from a stop until its next system call begins or ends. */
static bool proof_watch_stop(void *argument, pid_t pid, int status, const struct rusage *usage)
{
	struct tracing *tracing = argument;
	int signal = WSTOPSIG(status);

	(void)usage;
	if (!WIFSTOPPED(status))
		return true;
	if (!tracing->is_followed)
		ptrace(PTRACE_SETOPTIONS, pid, NULL,
			(void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	tracing->is_followed = true;
	if (signal == SYSCALL_STOP) {
		tracing->is_inside = !tracing->is_inside;
		if (tracing->is_inside)
			count_entry(tracing);
	}
	/* ptrace stops deliver no signal. */
	if (signal == SYSCALL_STOP || signal == SIGSTOP)
		signal = 0;
	/* System calls after a crash are those of the handler, not of the call. */
	if (signal)
		tracing->run->call = PROOF_RUN_NOTHING;
	if (ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(uintptr_t)signal) < 0)
		kill(pid, SIGKILL);
	return false;
}

bool proof_by_ptrace(struct proof_run *run, const struct deadline *deadline, struct fact *why)
{
	struct tracing tracing = {.run = run};
	/* At the deadline the child's own timer ends it: it is never stopped for long. */
	struct child_wait wait = {.pid = child_start(run_traced, run, deadline, why),
		.options = WUNTRACED,
		.deadline = DEADLINE_NONE,
		.changed = proof_watch_stop,
		.argument = &tracing};
	int error;

	if (wait.pid <= 0)
		return false;
	error = child_wait(&wait);
	if (!error)
		return child_explain(wait.status, deadline, why);
	child_refused("wait4", error, why);
	child_end(wait.pid, deadline);
	return false;
}
