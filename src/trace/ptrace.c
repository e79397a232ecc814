/* SPDX-License-Identifier: MIT */
/*
 * Follows a program that we start by ptrace(2). It is seized (PTRACE_SEIZE), so that group stops
 * are seen as such and kept (PTRACE_LISTEN).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "files.h"
#include "places.h"
#include "tracer.h"

#define FOLLOW (PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

/* ---- its threads ---- */

/* Returns the link to a thread, or that to NULL at the end of the list. */
static struct traced **tracer_find(struct tracer *tracer, pid_t id)
{
	struct traced **at = &tracer->threads;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

struct traced *tracer_add(struct tracer *tracer, pid_t id, const struct traced *parent)
{
	struct traced *thread = *tracer_find(tracer, id);

	/* Its parent, which the kernel has not named yet, may be any, and waits for us there. */
	for (struct traced *any = tracer->threads; any && !thread && !parent; any = any->next)
		served_lock(any->table);
	if (!thread) {
		thread = xcalloc(1, sizeof(*thread));
		thread->id = id;
		thread->next = tracer->threads;
		tracer->threads = thread;
	}
	if (parent && !thread->table && !thread->has_executed)
		thread->table = served_share(parent->table);
	return thread;
}

void tracer_drop_table(struct tracer *tracer, struct traced *thread)
{
	served_drop(tracer->run->trace, thread->table);
	thread->table = NULL;
}

static void drop(struct tracer *tracer, struct traced **at)
{
	struct traced *thread = *at;

	*at = thread->next;
	tracer_drop_table(tracer, thread);
	free(thread);
}

void tracer_drop(struct tracer *tracer, pid_t id)
{
	struct traced **at = tracer_find(tracer, id);

	if (*at)
		drop(tracer, at);
}

void tracer_let_go(struct tracer *tracer, struct traced *thread, int signal)
{
	served_lock(thread->table); /* we see nothing that it starts from then on */
	ptrace(PTRACE_DETACH, thread->id, NULL, (void *)(uintptr_t)signal);
	trace_miss(&tracer->run->trace->missed, MISSED_CHILDREN, 1,
		"it may call ptrace(2), and was let go");
	if (thread->id == tracer->run->program)
		tracer->run->is_traced = false;
	*tracer_find(tracer, thread->id) = thread->next;
	thread->next = tracer->left;
	tracer->left = thread;
}

/* ---- from its start to its end ---- */

/* A process has one tracer, which may be that of vdsocheck itself: `strace -f` follows children. */
static void explain_refusal(pid_t pid, int error, struct fact *why)
{
	const uint64_t tracer = status_number(pid, "TracerPid", 0);

	if (proc_is_ours(why) && tracer)
		fact_set(why, FACT_DENIED, "ptrace: already traced by process %" PRIu64, tracer);
	else
		fact_set_errno(why, error, "ptrace");
}

bool tracer_seize(struct tracer *tracer, struct fact *why)
{
	struct trace_run *run = tracer->run;
	struct rlimit limit;

	tracer->options = FOLLOW | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXIT;
	if (ptrace(PTRACE_SEIZE, run->program, NULL, (void *)(uintptr_t)tracer->options) < 0) {
		explain_refusal(run->program, errno, why);
		return false;
	}
	/* The kernel asks for the capabilities that the tracer has when it attaches. */
	tracer->is_weak = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 &&
	                  !privileges_have(PRIVILEGES(CAP_SYS_PTRACE));
	/* If it is not known how many are around us, there is one at least. */
	tracer->filters = served_count_filters(0);
	if (tracer->filters == SERVED_SOME_FILTERS)
		tracer->filters = 1;
	/* Each program that is counted has a descriptor here. This one has its own limit by now. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	tracer_add(tracer, run->program, NULL);
	trace_run_add(run, &tracer->source);
	return true;
}

/* A handler of SIGCHLD: lets go what stops while the report is made. */
static void let_stopped_go(int number)
{
	const int error = errno;
	siginfo_t stop = {.si_pid = 0};

	(void)number;
	while (waitid(P_ALL, 0, &stop, WSTOPPED | WNOHANG | __WALL) == 0 && stop.si_pid) {
		bool is_signal = stop.si_status < SYSCALL_STOP; /* not an event */

		ptrace(PTRACE_DETACH, stop.si_pid, NULL, is_signal ? (long)stop.si_status : 0);
		stop.si_pid = 0;
	}
	errno = error;
}

/*
 * To let a thread go it would have to be stopped, which may interrupt a call that it waits in: it
 * is let go when it stops, or by the kernel when we end.
 */
void tracer_release(struct tracer *tracer)
{
	struct sigaction action = {.sa_handler = let_stopped_go, .sa_flags = SA_RESTART};

	sigemptyset(&action.sa_mask);
	sigaction(SIGCHLD, &action, NULL);
	raise(SIGCHLD); /* some may have stopped before */
	while (tracer->threads)
		drop(tracer, &tracer->threads);
	while (tracer->left)
		drop(tracer, &tracer->left);
}
