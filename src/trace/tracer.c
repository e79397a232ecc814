/* SPDX-License-Identifier: MIT */
/*
 * Follows a program that we start by ptrace(2), and takes the stops of its threads: when one
 * starts, executes or ends, and at a signal, which it gets as it would without us. It is seized
 * (PTRACE_SEIZE), so that group stops are seen as such and kept (PTRACE_LISTEN). Each thread
 * belongs to an executed image, whose calls into the vDSO are counted in a table from the end of
 * its execve(2) on. A program that calls ptrace(2) itself is let go.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "count.h"
#include "files.h"
#include "registers.h"
#include "served.h"

/* glibc has no name for it. */
#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif

#define OPTIONS                                                                                    \
	(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |     \
		PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXIT)

/* A loader makes some tens of system calls, and some for each library. */
#define LOADING_STOPS 2000

struct traced {
	pid_t id;
	struct served_table *table; /* NULL: its calls into the vDSO are not counted */
	unsigned loading;  /* it stops at so many system calls, or until its libraries are mapped */
	bool has_executed; /* its memory is no longer that of its parent */
	bool was_sent_sigsys; /* by another process */
	struct traced *next;
};

struct tracer {
	struct trace_source source;
	struct trace_run *run;
	bool is_weak;        /* programs do not get the privileges of their files */
	unsigned executions; /* successful execve(2) */
	uint64_t filters;    /* of the program that are not its own */
	struct traced *threads;
	struct traced *left; /* that were let go, for their tables */
};

/* ---- its threads ---- */

/* Returns the link to a thread, or that to NULL at the end of the list. */
static struct traced **find(struct tracer *tracer, pid_t id)
{
	struct traced **at = &tracer->threads;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

/*
 * Finds a thread, or adds it with the table of its parent, which may be NULL. One that was known by
 * its own stop gets the table when its parent stops, which may be as late as after an execve(2) of
 * the child.
 */
static struct traced *tracer_add(struct tracer *tracer, pid_t id, const struct traced *parent)
{
	struct traced *thread = *find(tracer, id);

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

/* Removes the thread at a link, if there is one. */
static void drop(struct tracer *tracer, struct traced **at)
{
	struct traced *thread = *at;

	if (!thread)
		return;
	*at = thread->next;
	served_drop(tracer->run->trace, thread->table);
	free(thread);
}

/*
 * Lets a thread go on without us, from a stop. Its calls into the vDSO are counted on, and taken
 * when the run is over.
 */
static void let_go(struct tracer *tracer, struct traced *thread, int signal)
{
	served_lock(thread->table); /* we see nothing that it starts from then on */
	ptrace(PTRACE_DETACH, thread->id, NULL, (void *)(uintptr_t)signal);
	trace_miss(&tracer->run->trace->missed, MISSED_CHILDREN, 1,
		"it may call ptrace(2), and was let go");
	if (thread->id == tracer->run->program)
		tracer->run->is_traced = false;
	*find(tracer, thread->id) = thread->next;
	thread->next = tracer->left;
	tracer->left = thread;
}

/* ---- filters of its own ---- */

/* A seccomp filter ended the thread, or sent it SIGSYS. */
static void note_refused_call(struct tracer *tracer, pid_t id)
{
	struct trace_evidence *trace = tracer->run->trace;
	size_t row = registers_find_row(trace->request->plan, id);

	if (row < TRACE_ROW_MAX)
		fact_set_number(&trace->sigsys_row, (int64_t)row);
}

/* SIGSYS may also come by kill(2). */
static void take_sigsys(struct tracer *tracer, struct traced *thread)
{
	siginfo_t info = {.si_code = 0};

	if (ptrace(PTRACE_GETSIGINFO, thread->id, NULL, &info) == 0 && info.si_code == SYS_SECCOMP)
		note_refused_call(tracer, thread->id);
	else
		thread->was_sent_sigsys = true;
}

/* ---- calls into the vDSO ---- */

static bool set_options(const struct traced *thread, unsigned options)
{
	return ptrace(PTRACE_SETOPTIONS, thread->id, NULL, (void *)(uintptr_t)options) == 0;
}

/*
 * Makes a program count its calls into the vDSO at the end of execve(2). If we are killed it must
 * not go on with registers that are not its own. The program that we started has no filter of its
 * own yet; for the calls that are made in the name of others, root suspends their filters.
 */
static void begin_served(struct tracer *tracer, struct traced *thread)
{
	const unsigned options = OPTIONS | PTRACE_O_EXITKILL;
	uint64_t around = UINT64_MAX;

	set_options(thread, options);
	if (tracer->executions > 1 && !set_options(thread, options | PTRACE_O_SUSPEND_SECCOMP))
		around = tracer->filters;
	thread->table = served_open(tracer->run->trace, thread->id, around);
	set_options(thread, OPTIONS);
	thread->loading = thread->table ? LOADING_STOPS : 0;
}

/*
 * Has the calls of a program into the vDSO counted, at a stop at a system call: until the libraries
 * are mapped it stops at each. One without a C library may never do what is waited for. False: the
 * thread is to be let go.
 */
static bool count_served(struct tracer *tracer, struct traced *thread)
{
	struct trace_program program = {.pid = thread->id};

	if (thread->table && !thread->loading)
		return true;
	if (!thread->loading) {
		begin_served(tracer, thread);
	} else if (registers_show_loaded(thread->id) || !--thread->loading) {
		served_map(thread->table, thread->id);
		thread->loading = 0;
	}
	if (thread->loading)
		return true;
	/* A process has one tracer, which is the program itself then, or its own. */
	trace_program_inspect(&program);
	if (thread->table)
		served_know_go(thread->table, program.go);
	return !program.calls_ptrace;
}

/* ---- starts, ends and signals ---- */

/* At the event of execve(2), when the program has its privileges, or has lost them. */
static void note_privileges(const struct tracer *tracer, pid_t id)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", id);
	if (tracer->is_weak && trace_program_gains(path))
		trace_miss(&tracer->run->trace->missed, MISSED_PRIVILEGES, 1,
			"being traced, it ran without them; run it as root");
}

/*
 * Keeps the list of threads. A new one is known by its own first stop or by that of the thread that
 * started it, whichever comes first; execve(2) by another than the first thread takes its ID away.
 * The memory map is read when the first thread of a process ends: later the process has none.
 * Before Linux 5.7, execve(2) by another thread, which waits for that end, keeps it locked until
 * then (cred_guard_mutex): where there are other threads, the map is that of the begin.
 */
static void note_event(struct tracer *tracer, struct traced *thread, int event)
{
	struct trace_run *run = tracer->run;
	const pid_t id = thread->id;
	unsigned long message = 0;
	struct span maps;

	if (event == PTRACE_EVENT_STOP)
		return;
	if (ptrace(PTRACE_GETEVENTMSG, id, NULL, &message) < 0 && event != PTRACE_EVENT_EXIT)
		return;
	if (event == PTRACE_EVENT_EXIT) {
		const bool is_locked =
			trace_host_kernel() < KERNEL(5, 7) && status_number(id, "Threads", 1) > 1;

		maps = served_maps(thread->table);
		if (syscall(SYS_tgkill, id, id, 0) == 0) {
			trace_run_take(run, id, is_locked ? &maps : NULL);
			if (thread->table && !is_locked)
				served_end(run->trace, thread->table, id);
		}
		/* A filter ends a thread as if by SIGSYS. */
		if ((message & 0x7f) == SIGSYS && !thread->was_sent_sigsys)
			note_refused_call(tracer, id);
	} else if (event == PTRACE_EVENT_EXEC) {
		tracer->executions++;
		/* The memory that its calls came from is gone. Its map was read before. */
		maps = served_maps(thread->table);
		trace_run_take(run, id, &maps);
		if ((pid_t)message != id)
			drop(tracer, find(tracer, (pid_t)message));
		note_privileges(tracer, id);
		served_drop(run->trace, thread->table);
		thread->table = NULL;
		thread->loading = 0;
		thread->has_executed = true;
	} else {
		tracer_add(tracer, (pid_t)message, thread);
		if (event == PTRACE_EVENT_CLONE)
			served_map_thread(thread->table, id);
	}
}

/* A stop of the process and its end interrupt calls without us, too. */
static void note_signal(struct tracer *tracer, struct traced *thread, int signal)
{
	siginfo_t info;

	/* The thread is of the program, and not of a child. */
	if (syscall(SYS_tgkill, tracer->run->program, thread->id, 0) == 0 &&
		ptrace(PTRACE_GETSIGINFO, thread->id, NULL, &info) == 0)
		trace_signals_note(signal, info.si_pid);
	if (signal == SIGSYS)
		take_sigsys(tracer, thread);
	else if (!trace_signals_stop(signal) && signal != SIGCONT)
		registers_restart_call(thread->id);
}

/* A thread that was killed by now takes no request: its end is reported next. */
static void take_stop(struct tracer *tracer, struct traced *thread, int status)
{
	int event = status >> 16, signal = WSTOPSIG(status);
	int delivered = event || signal == SYSCALL_STOP ? 0 : signal;
	bool is_followed = true, to_next_call;
	long result;

	if (event)
		note_event(tracer, thread, event);
	else if (signal == SYSCALL_STOP)
		is_followed = count_served(tracer, thread);
	else
		note_signal(tracer, thread, signal);
	if (!is_followed)
		return let_go(tracer, thread, delivered);
	/* Registers that are set at the event of execve(2) itself would be overwritten. */
	to_next_call = thread->loading || event == PTRACE_EVENT_EXEC;
	if (event == PTRACE_EVENT_STOP && trace_signals_stop(signal))
		result = ptrace(PTRACE_LISTEN, thread->id, NULL, NULL);
	else
		result = ptrace(to_next_call ? PTRACE_SYSCALL : PTRACE_CONT, thread->id, NULL,
			(void *)(uintptr_t)delivered);
	/* It alone is affected: the others are followed on. */
	if (result < 0 && errno != ESRCH)
		let_go(tracer, thread, 0);
}

/* The children that a shell had before it became vdsocheck are waited for, too, but not traced. */
static bool tracer_take_change(struct trace_source *source, pid_t id, int status)
{
	struct tracer *tracer = (struct tracer *)source;

	if (WIFSTOPPED(status))
		take_stop(tracer, tracer_add(tracer, id, NULL), status);
	else
		drop(tracer, find(tracer, id));
	return tracer->threads;
}

/* ---- from its start to its end ---- */

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
static void tracer_finish(struct trace_source *source)
{
	struct tracer *tracer = (struct tracer *)source;
	struct sigaction action = {.sa_handler = let_stopped_go, .sa_flags = SA_RESTART};

	sigemptyset(&action.sa_mask);
	sigaction(SIGCHLD, &action, NULL);
	raise(SIGCHLD); /* some may have stopped before */
	while (tracer->threads)
		drop(tracer, &tracer->threads);
	while (tracer->left)
		drop(tracer, &tracer->left);
	free(tracer);
}

/* A process has one tracer, which may be that of vdsocheck itself: `strace -f` follows children. */
static void tracer_explain(pid_t pid, int error, struct fact *why)
{
	const int other = (int)status_number(pid, "TracerPid", 0);

	if (proc_is_ours(why) && other)
		fact_set(why, FACT_DENIED, "ptrace: already traced by process %d", other);
	else
		fact_set_errno(why, error, "ptrace");
}

bool trace_tracer_open(struct trace_run *run)
{
	struct tracer *tracer;

	if (ptrace(PTRACE_SEIZE, run->program, NULL, (void *)(uintptr_t)OPTIONS) < 0) {
		tracer_explain(run->program, errno, &run->trace->served);
		return false;
	}
	/* Each program that is counted has a descriptor here. This one has its own limit by now. */
	files_raise_limit();
	tracer = xcalloc(1, sizeof(*tracer));
	*tracer = (struct tracer){.source = {.change = tracer_take_change, .finish = tracer_finish},
		.run = run,
		.filters = status_number(0, "Seccomp_filters", 0),
		/* The kernel asks for the capabilities that the tracer has when it attaches. */
		.is_weak = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 &&
	                   !privileges_have(PRIVILEGES(CAP_SYS_PTRACE))};
	tracer_add(tracer, run->program, NULL);
	trace_run_add(run, &tracer->source);
	return true;
}
