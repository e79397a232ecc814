/* SPDX-License-Identifier: MIT */
/*
 * Starts a program in a child that waits until all is ready for counting. A program that cannot be
 * counted runs as it would without us, and the report has the reason.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "count.h"
#include "files.h"
#include "served.h"

/* ---- the child that becomes the program ---- */

/*
 * execve(2) keeps these, and fork(2) does not: the alarm(2) of our caller is the program's, and so
 * is the signal that it gets when the caller ends. We pass that on, unless it ends us.
 */
static const unsigned timers[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

static void set_timers(const struct itimerval values[ARRAY_SIZE(timers)])
{
	for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
		setitimer(timers[i], &values[i], NULL);
}

static void become_program(const struct trace_evidence *trace, int file)
{
	ssize_t length;
	int error;
	char byte;

	do
		length = read(file, &byte, sizeof(byte));
	while (length < 0 && errno == EINTR);
	/* Our parent is gone, or has given up. */
	if (length == 0)
		_exit(STATUS_TROUBLE);
	cli_restore_signals();
	/* With a slash in it there is one attempt; a script without "#!" is run by sh. */
	if (length > 0)
		execvp(trace->program.file, trace->request->arguments);
	error = errno;
	(void)!write(file, &error, sizeof(error));
	_exit(STATUS_TROUBLE);
}

/* Forks. Returns a descriptor for started_run_child() or leave_child(), or -1 with the reason. */
static int fork_child(struct trace_run *run, struct fact *why)
{
	struct itimerval before[ARRAY_SIZE(timers)] = {{{0}, {0}}};
	int signal = 0;
	int files[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, files) < 0) {
		fact_set_errno(why, errno, "socketpair");
		return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
		setitimer(timers[i], &(struct itimerval){{0}, {0}}, &before[i]);
	prctl(PR_GET_PDEATHSIG, &signal);
	pid = fork();
	if (pid <= 0)
		set_timers(before);
	if (pid == 0) {
		if (signal)
			prctl(PR_SET_PDEATHSIG, signal);
		close(files[0]);
		become_program(run->trace, files[1]);
	}
	close(files[1]);
	if (pid > 0) {
		run->program = run->trace->program.pid = pid;
		return files[0];
	}
	child_refused("fork", errno, why);
	close(files[0]);
	return -1;
}

static void leave_child(struct trace_run *run, int file)
{
	close(file);
	while (waitpid(run->program, NULL, 0) < 0 && errno == EINTR)
		;
	run->program = 0;
	trace_run_end(run);
}

/*
 * Lets the child go on, and waits for its end. Sets *error to that of execve(2), or to 0. False
 * with the reason if the child could not be followed.
 */
static bool started_run_child(struct trace_run *run, int file, int *error, struct fact *why)
{
	bool is_followed;
	ssize_t length;
	int ended;

	trace_run_begin(run);
	/* SIGPIPE is ignored; a child that is gone is seen by its status. */
	is_followed = write(file, "", 1) > 0;
	if (!is_followed) {
		fact_set_errno(why, errno, "write");
		kill(run->program, SIGKILL);
	}
	ended = trace_run_wait(run);
	trace_run_end(run);
	if (is_followed && run->program) {
		fact_set_errno(why, ended, "wait4");
		is_followed = false;
	}
	*error = 0;
	do
		length = read(file, error, sizeof(*error));
	while (length < 0 && errno == EINTR);
	close(file);
	return is_followed || *error;
}

/* ---- counting ---- */

/* Says whether the program is to be seized, to count its calls into the vDSO. */
static bool counts_served(struct trace_evidence *trace)
{
	if (trace->request->leaves_untouched)
		fact_set(&trace->served, FACT_ABSENT, "--no-served is given");
	else if (!privileges_have(PRIVILEGES(CAP_SYS_PTRACE)) &&
		 trace_program_gains(trace->program.file))
		fact_set(&trace->served, FACT_ABSENT,
			"it is set-user-ID or set-group-ID or has capabilities, which it would "
			"lose");
	else if (proc_is_ours(&trace->served))
		return served_is_harmless(&trace->served);
	return false;
}

/*
 * PTRACE_TRACEME of a program fails if its parent has less than the program. Without
 * CAP_SYS_PTRACE, such as root's in a container, a tracer needs all capabilities that the program
 * has (cap_ptrace_access_check() in the kernel's security/commoncap.c), and none is given up.
 */
static void give_up_privileges(const struct trace_run *run, bool serves)
{
	uint64_t kept = run->privileges | PRIVILEGES(CAP_KILL) | PRIVILEGES(CAP_SYS_PTRACE);

	if (!privileges_have(PRIVILEGES(CAP_SYS_PTRACE)))
		return;
	/* To suspend the seccomp filters of programs whose calls into the vDSO are counted. */
	if (serves)
		kept |= PRIVILEGES(CAP_SYS_ADMIN);
	privileges_keep(kept);
}

bool trace_started(struct trace_run *run, int *error, struct fact *why)
{
	static volatile bool is_interrupted; /* the report of what has ended is made still */
	struct trace_evidence *trace = run->trace;
	const bool serves = counts_served(trace);
	bool is_run;
	int file = fork_child(run, why);

	if (file < 0)
		return false;
	(void)trace_events_open(run, &trace->counted);
	run->is_traced = serves && trace_tracer_open(run);
	/* A run as this host is would seem to survive what it is to show. */
	if (trace->request->as_if_fallback && !run->is_traced) {
		*why = trace->served;
		leave_child(run, file);
		return false;
	}
	give_up_privileges(run, serves);
	run->is_over = true; /* with the program */
	is_run = started_run_child(run, file, error, why);
	trace_signals_release();
	interrupts_catch(&is_interrupted);
	if (trace->served.state == FACT_UNREAD)
		fact_set(&trace->served, FACT_FAILED, "it ended before it was prepared");
	return is_run;
}
