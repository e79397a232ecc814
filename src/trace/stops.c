/* SPDX-License-Identifier: MIT */
/*
 * Takes the stops of traced threads: at a system call that the filter names, which is counted, when
 * a thread starts, executes or ends, and at a signal, which it gets as it would without us.
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

/* The memory of a thread is that of all that have the same table, or else its own. */
static void count_call(
	struct tracer *tracer, pid_t id, size_t row, const struct __ptrace_syscall_info *call)
{
	const struct traced *thread = tracer_find(tracer, id);
	const struct served_table *table = thread ? thread->table : NULL;

	tracer->run->trace->counts[row / TRACE_ROW_MAX][row % TRACE_ROW_MAX]++;
	if (call && tracer->run->call_places)
		call_sites_add(tracer->run->call_places, row, 1,
			table ? (uintptr_t)table : (uint64_t)id, id, NULL,
			call->instruction_pointer);
}

/*
 * The filter gave the row and its architecture as data. Linux 5.3 and newer give the place, too. A
 * call that a filter of the program's own stops for a tracer fails, as it does without one.
 */
static void take_filter_stop(struct tracer *tracer, pid_t id)
{
	struct __ptrace_syscall_info call;
	unsigned long data = 0;
	bool is_known = ptrace(PTRACE_GET_SYSCALL_INFO, id, sizeof(call), &call) > 0 &&
	                call.op == PTRACE_SYSCALL_INFO_SECCOMP;

	if (is_known)
		data = call.seccomp.ret_data;
	else
		ptrace(PTRACE_GETEVENTMSG, id, NULL, &data);
	data ^= TRACE_FILTER_MARK;
	if (data < TRACE_ARCH_COUNT * TRACE_ROW_MAX) {
		count_call(tracer, id, data, is_known ? &call : NULL);
	} else if (data == TRACE_FILTER_UNTRACED) {
		size_t row = registers_find_row(tracer->run->trace->request->plan, id);

		if (row < TRACE_ROW_MAX)
			count_call(tracer, id, row, is_known ? &call : NULL);
		registers_trace_child(id);
	} else if (data == TRACE_FILTER_STRICT) {
		tracer->run->trace->strict_refused++;
	} else {
		registers_refuse_call(id);
	}
}

/* A seccomp filter ended the thread, or sent it SIGSYS. */
static void note_refused_call(struct tracer *tracer, pid_t id)
{
	struct trace_evidence *trace = tracer->run->trace;
	size_t row = registers_find_row(trace->request->plan, id);

	if (row < TRACE_ROW_MAX)
		fact_set_number(&trace->sigsys_row, (int64_t)row);
}

/* SIGSYS may also come by kill(2). */
static void take_sigsys(struct tracer *tracer, pid_t id)
{
	struct traced *thread = tracer_find(tracer, id);
	siginfo_t info = {.si_code = 0};

	if (ptrace(PTRACE_GETSIGINFO, id, NULL, &info) == 0 && info.si_code == SYS_SECCOMP)
		note_refused_call(tracer, id);
	else if (thread)
		thread->was_sent_sigsys = true;
}

/* Linux 5.17 and newer give a thread that seccomp ends the second mode. */
#define MODE_STRICT 1
#define MODE_DEAD 3

/* A filter ends a thread as if by SIGSYS, and strict mode as if by SIGKILL. */
static void take_end(struct tracer *tracer, struct traced *thread, int signal)
{
	struct trace_evidence *trace = tracer->run->trace;
	uint64_t mode = signal == SIGKILL ? status_number(thread->id, "Seccomp", 0) : 0;

	if (signal == SIGSYS && !thread->was_sent_sigsys)
		note_refused_call(tracer, thread->id);
	if (mode == MODE_STRICT || mode == MODE_DEAD) {
		note_refused_call(tracer, thread->id);
		trace->is_strict = fact_is_known(&trace->sigsys_row.fact);
	}
}

/* At the event of execve(2), when the program has its privileges, or has lost them. */
static void note_privileges(const struct tracer *tracer, pid_t id)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", id);
	tracer->run->trace->weakened += tracer->is_weak && trace_program_gains(path);
}

/*
 * Keeps the list of threads. A new one is known by its own first stop or by that of the thread that
 * started it, whichever comes first; execve(2) by another than the first thread takes its ID away.
 * The memory map is read when the first thread of a process ends: later the process has none.
 */
static void note_event(struct tracer *tracer, pid_t id, int event)
{
	struct traced *thread = tracer_find(tracer, id);
	struct trace_run *run = tracer->run;
	unsigned long message = 0;
	struct span maps;

	if (event == PTRACE_EVENT_STOP) {
		tracer_add(tracer, id, NULL);
	} else if (event == PTRACE_EVENT_EXIT) {
		if (syscall(SYS_tgkill, id, id, 0) == 0) {
			trace_run_take(run, id, NULL);
			if (thread && thread->table)
				served_end(run->trace, thread->table, id);
		}
		if (thread && ptrace(PTRACE_GETEVENTMSG, id, NULL, &message) == 0)
			take_end(tracer, thread, (int)(message & 0x7f));
	} else if (ptrace(PTRACE_GETEVENTMSG, id, NULL, &message) < 0) {
		return;
	} else if (event != PTRACE_EVENT_EXEC) {
		tracer_add(tracer, (pid_t)message, thread);
		thread = tracer_find(tracer, id);
		if (event == PTRACE_EVENT_CLONE && thread)
			served_learn_thread(thread->table, id, &tracer->libraries);
	} else {
		tracer->has_executed = true;
		/* The memory that its calls came from is gone. Its map was read before. */
		maps = served_maps(thread ? thread->table : NULL);
		trace_run_take(run, id, &maps);
		if ((pid_t)message != id)
			tracer_drop(tracer, (pid_t)message);
		note_privileges(tracer, id);
		thread = tracer_find(tracer, id);
		if (thread) {
			tracer_drop_table(tracer, thread);
			thread->loading = false;
			thread->stops = 0;
			thread->executed = true;
		}
	}
}

static bool stops_a_group(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* A stop of the process and its end interrupt calls without us, too. */
static void take_signal(struct tracer *tracer, pid_t id, int signal)
{
	if (signal == SIGSYS)
		take_sigsys(tracer, id);
	else if (!stops_a_group(signal) && signal != SIGCONT)
		registers_restart_call(id);
}

/* A thread that was killed by now takes no request: its end is reported next. */
static void take_stop(struct tracer *tracer, pid_t id, int status)
{
	int event = status >> 16, signal = WSTOPSIG(status);
	int delivered = event || signal == SYSCALL_STOP ? 0 : signal;
	struct traced *thread;
	bool to_next_call;
	long result;

	if (event == PTRACE_EVENT_SECCOMP)
		take_filter_stop(tracer, id);
	else if (event)
		note_event(tracer, id, event);
	else if (signal == SYSCALL_STOP)
		tracer_count_served(tracer, tracer_find(tracer, id));
	else
		take_signal(tracer, id, signal);
	thread = tracer_find(tracer, id);
	/* Registers that are set at the event of execve(2) itself would be overwritten. */
	to_next_call =
		(thread && thread->loading) || (event == PTRACE_EVENT_EXEC && tracer->run->serves);
	if (thread && thread->is_free)
		return tracer_let_go(tracer, thread, delivered);
	else if (event == PTRACE_EVENT_STOP && stops_a_group(signal))
		result = ptrace(PTRACE_LISTEN, id, NULL, NULL);
	else
		result = ptrace(to_next_call ? PTRACE_SYSCALL : PTRACE_CONT, id, NULL,
			(void *)(uintptr_t)delivered);
	/* It alone is affected: the others are followed on. */
	if (result < 0 && errno != ESRCH && thread)
		tracer_let_go(tracer, thread, 0);
}

/* The children that a shell had before it became vdsocheck are waited for, too, but not traced. */
bool tracer_take_change(struct trace_source *source, pid_t id, int status)
{
	struct tracer *tracer = (struct tracer *)source;

	if (WIFSTOPPED(status))
		take_stop(tracer, id, status);
	else
		tracer_drop(tracer, id);
	return tracer->count > 0;
}
