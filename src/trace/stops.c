/* SPDX-License-Identifier: MIT */
/*
 * Takes the stops of traced threads: when a thread starts, executes or ends, and at a signal, which
 * it gets as it would without us. Each thread belongs to an executed image, whose calls into the
 * vDSO are counted in a table from the end of its execve(2) on. A program that calls ptrace(2)
 * itself is let go.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "places.h"
#include "registers.h"
#include "tracer.h"

/* glibc has no name for it. */
#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif

/* A loader makes some tens of system calls, and some for each library. */
#define LOADING_STOPS 2000

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
	const unsigned options = tracer->options | PTRACE_O_EXITKILL;
	uint64_t around = UINT64_MAX;

	set_options(thread, options);
	if (tracer->executions > 1 && !set_options(thread, options | PTRACE_O_SUSPEND_SECCOMP))
		around = tracer->filters;
	thread->table = served_open(tracer->run->trace, thread->id, around);
	set_options(thread, tracer->options);
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
		if (syscall(SYS_tgkill, id, id, 0) == 0) {
			trace_run_take(run, id, NULL);
			if (thread->table)
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
			tracer_drop(tracer, (pid_t)message);
		note_privileges(tracer, id);
		tracer_drop_table(tracer, thread);
		thread->loading = 0;
		thread->has_executed = true;
	} else {
		tracer_add(tracer, (pid_t)message, thread);
		if (event == PTRACE_EVENT_CLONE)
			served_map_thread(thread->table, id);
	}
}

/* A stop of the process and its end interrupt calls without us, too. */
static void tracer_note_signal(struct tracer *tracer, struct traced *thread, int signal)
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
		tracer_note_signal(tracer, thread, signal);
	if (!is_followed)
		return tracer_let_go(tracer, thread, delivered);
	/* Registers that are set at the event of execve(2) itself would be overwritten. */
	to_next_call = thread->loading || event == PTRACE_EVENT_EXEC;
	if (event == PTRACE_EVENT_STOP && trace_signals_stop(signal))
		result = ptrace(PTRACE_LISTEN, thread->id, NULL, NULL);
	else
		result = ptrace(to_next_call ? PTRACE_SYSCALL : PTRACE_CONT, thread->id, NULL,
			(void *)(uintptr_t)delivered);
	/* It alone is affected: the others are followed on. */
	if (result < 0 && errno != ESRCH)
		tracer_let_go(tracer, thread, 0);
}

/* The children that a shell had before it became vdsocheck are waited for, too, but not traced. */
bool tracer_take_change(struct trace_source *source, pid_t id, int status)
{
	struct tracer *tracer = (struct tracer *)source;

	if (WIFSTOPPED(status))
		take_stop(tracer, tracer_add(tracer, id, NULL), status);
	else
		tracer_drop(tracer, id);
	return tracer->threads;
}
