/* SPDX-License-Identifier: MIT */
/*
 * Counts by ptrace(2). A program that we start runs under a seccomp filter that stops it at
 * the counted calls only, and is followed by take_change(), which trace_run_wait() calls for each
 * stop: it counts, then ends the threads that are left, or lets them go.
 *
 * The program is seized (PTRACE_SEIZE), so that group stops are seen as such and kept
 * (PTRACE_LISTEN). Under our filter it ends when we are killed (PTRACE_O_EXITKILL): without a
 * tracer the kernel fails its counted calls with ENOSYS.
 */
#include <errno.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
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
#include "base/text.h"
#include "count.h"
#include "places.h"
#include "registers.h"
#include "served.h"

/* glibc has no name for it. */
#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif

#define FOLLOW (PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

/* Limits the time that processes which the program left running take to end by SIGTERM. */
#define TERMINATE_NS 2000000000

/* A loader makes some tens of system calls, and some for each library. */
#define LOADING_STOPS 2000

struct traced {
	pid_t id;
	struct served_table *table; /* NULL: its calls into the vDSO are not counted */
	bool loading;               /* until its libraries are mapped it stops at system calls */
	bool executed;              /* its memory is no longer that of its parent */
	bool was_sent_sigsys;       /* by another process */
	bool is_free;               /* goes on without us from this stop */
	unsigned stops;             /* at system calls while it was loading */
};

struct tracer {
	struct trace_source source;
	struct trace_run *run;
	bool is_ending;    /* the processes that are left are sent SIGTERM */
	bool has_executed; /* an execve(2) was successful */
	bool has_begun;    /* the calls of a program are counted, or could not be */
	bool has_filter;   /* the program is under ours, and cannot be let go */
	struct served_libraries libraries;
	uint64_t others[64];    /* hashes of programs that do not call ptrace(2) */
	unsigned options;       /* of ptrace */
	uint64_t filters;       /* of the program that are not its own */
	bool is_weak;           /* programs do not get the privileges of their files */
	struct rlimit files;    /* limit of our descriptors, before it was raised */
	struct traced *threads; /* in no order */
	size_t count, room;
	struct served_table **left; /* of programs that were let go */
	size_t left_count, left_room;
};

/*
 * Once the count is over, ends the process of which this is the first thread: signals are sent to
 * processes. An ID that is not that of a thread traced by us is refused.
 */
static void leave(struct tracer *tracer, pid_t id)
{
	if (tracer->is_ending && ptrace(PTRACE_INTERRUPT, id, NULL, NULL) == 0 &&
		syscall(SYS_tgkill, id, id, 0) == 0 && kill(id, SIGTERM) == 0)
		tracer->run->trace->children_terminated++;
}

static struct traced *find_thread(const struct tracer *tracer, pid_t id)
{
	for (size_t i = 0; i < tracer->count; i++) {
		if (tracer->threads[i].id == id)
			return &tracer->threads[i];
	}
	return NULL;
}

/*
 * A thread that was known by its own stop gets the table of its parent when that stops, which may
 * be as late as after an execve(2) of the child.
 */
static void add_thread(struct tracer *tracer, pid_t id, const struct traced *parent)
{
	struct served_table *table = parent ? parent->table : NULL;
	struct traced *known = find_thread(tracer, id);

	if (known) {
		if (!known->table && !known->executed)
			known->table = served_share(table);
		return;
	}
	tracer->threads =
		array_grow(tracer->threads, tracer->count, &tracer->room, sizeof(*tracer->threads));
	tracer->threads[tracer->count++] = (struct traced){.id = id, .table = served_share(table)};
	leave(tracer, id);
}

static void drop_thread(struct tracer *tracer, pid_t id)
{
	struct traced *thread = find_thread(tracer, id);

	if (!thread)
		return;
	/* The number of a thread and the address of a table are used again. */
	if (served_drop(tracer->run->trace, thread->table))
		call_sites_forget(tracer->run->call_places);
	*thread = tracer->threads[--tracer->count];
}

/*
 * Lets a thread go on without us, from a stop. Its calls into the vDSO are counted on, and taken
 * when the run is over.
 */
static void let_go(struct tracer *tracer, struct traced *thread, int signal)
{
	struct served_table *table = thread->table;

	ptrace(PTRACE_DETACH, thread->id, NULL, (void *)(uintptr_t)signal);
	tracer->run->trace->let_go++;
	if (table) {
		tracer->left = array_grow(tracer->left, tracer->left_count, &tracer->left_room,
			sizeof(*tracer->left));
		tracer->left[tracer->left_count++] = served_share(table);
	}
	drop_thread(tracer, thread->id);
}

/* The memory of a thread is that of all that have the same table, or else its own. */
static void count_call(struct tracer *tracer, pid_t id, size_t row, bool is_compat,
	const struct __ptrace_syscall_info *call)
{
	const struct traced *thread = find_thread(tracer, id);
	const struct served_table *table = thread ? thread->table : NULL;

	tracer->run->trace->counts[is_compat][row]++;
	if (call && tracer->run->call_places)
		call_sites_add(tracer->run->call_places,
			&(struct trace_place){.row = row, .is_compat = is_compat, .count = 1},
			table ? (uintptr_t)table : (uint64_t)id, id, call->instruction_pointer);
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
		count_call(tracer, id, data % TRACE_ROW_MAX, data >= TRACE_ROW_MAX,
			is_known ? &call : NULL);
	} else if (data == TRACE_FILTER_UNTRACED) {
		size_t row = registers_find_row(tracer->run->trace->request->plan, id);

		if (row < TRACE_ROW_MAX)
			count_call(tracer, id, row, false, is_known ? &call : NULL);
		registers_change_call(id, CLONE_UNTRACED);
	} else if (data == TRACE_FILTER_STRICT) {
		tracer->run->trace->was_refused_strict = true;
	} else {
		registers_change_call(id, 0);
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
	struct traced *thread = find_thread(tracer, id);
	siginfo_t info = {.si_code = 0};

	if (ptrace(PTRACE_GETSIGINFO, id, NULL, &info) == 0 && info.si_code == SYS_SECCOMP)
		note_refused_call(tracer, id);
	else if (thread)
		thread->was_sent_sigsys = true;
}

/* Linux 5.17 and newer give a thread that seccomp ends the second mode. */
#define MODE_STRICT "1"
#define MODE_DEAD "3"

/* A filter ends a thread as if by SIGSYS, and strict mode as if by SIGKILL. */
static void take_end(struct tracer *tracer, struct traced *thread, int signal)
{
	struct trace_evidence *trace = tracer->run->trace;
	struct span status = {NULL, 0}, mode;

	if (signal == SIGSYS && !thread->was_sent_sigsys)
		note_refused_call(tracer, thread->id);
	if (signal == SIGKILL)
		status = status_read(thread->id);
	if (text_find_value(status, "Seccomp", &mode) &&
		(text_equals(mode, MODE_STRICT) || text_equals(mode, MODE_DEAD))) {
		note_refused_call(tracer, thread->id);
		trace->is_strict = fact_is_known(&trace->sigsys_row.fact);
	}
	span_free(status);
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
	struct traced *thread = find_thread(tracer, id);
	struct trace_run *run = tracer->run;
	unsigned long message = 0;
	struct span maps;

	if (event == PTRACE_EVENT_STOP) {
		add_thread(tracer, id, NULL);
	} else if (event == PTRACE_EVENT_EXIT) {
		if (syscall(SYS_tgkill, id, id, 0) == 0) {
			trace_run_take(run, id, NULL);
			if (thread && thread->table)
				served_end(thread->table, id);
		}
		if (thread && ptrace(PTRACE_GETEVENTMSG, id, NULL, &message) == 0)
			take_end(tracer, thread, (int)(message & 0x7f));
	} else if (ptrace(PTRACE_GETEVENTMSG, id, NULL, &message) < 0) {
		return;
	} else if (event != PTRACE_EVENT_EXEC) {
		add_thread(tracer, (pid_t)message, thread);
		thread = find_thread(tracer, id);
		if (event == PTRACE_EVENT_CLONE && thread)
			served_learn_thread(thread->table, id, &tracer->libraries);
	} else {
		tracer->has_executed = true;
		/* The memory that its calls came from is gone. Its map was read before. */
		maps = served_maps(thread ? thread->table : NULL);
		trace_run_take(run, id, &maps);
		if ((pid_t)message != id)
			drop_thread(tracer, (pid_t)message);
		note_privileges(tracer, id);
		thread = find_thread(tracer, id);
		if (thread) {
			if (served_drop(tracer->run->trace, thread->table))
				call_sites_forget(run->call_places);
			thread->table = NULL;
			thread->loading = false;
			thread->stops = 0;
			thread->executed = true;
		}
	}
}

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
	if (tracer->has_begun && !set_options(thread, options | PTRACE_O_SUSPEND_SECCOMP))
		around = tracer->filters;
	tracer->has_begun = true;
	if (served_open(tracer->run->trace, thread->id, around, &thread->table) == INJECTED_BROKEN)
		syscall(SYS_tgkill, thread->id, thread->id, SIGKILL);
	set_options(thread, tracer->options);
	thread->loading = thread->table;
}

/* A number for the file of a program: the first line of its memory map without the addresses. */
static uint64_t hash_program(struct span maps)
{
	uint64_t hash = 0xcbf29ce484222325;
	struct span line;

	text_take_until(&maps, ' ');
	line = text_take_until(&maps, '\n');
	for (size_t i = 0; i < line.length; i++)
		hash = (hash ^ (unsigned char)line.at[i]) * 0x100000001b3;
	return hash;
}

/*
 * A process has one tracer, which is the program itself then, or its own. To look at each file once
 * matters to a script that executes the same few programs again and again.
 */
static bool calls_ptrace(struct tracer *tracer, const struct traced *thread)
{
	uint64_t hash = hash_program(served_maps(thread->table));
	uint64_t *other = &tracer->others[hash % ARRAY_SIZE(tracer->others)];
	struct trace_program program = {.pid = thread->id};

	if (*other == hash)
		return false;
	trace_program_inspect(&program);
	if (!program.calls_ptrace && thread->table)
		*other = hash;
	return program.calls_ptrace;
}

/*
 * Until the libraries are mapped a program stops at each system call. One without a C library may
 * never do what is waited for.
 */
static void count_served(struct tracer *tracer, struct traced *thread)
{
	if (!thread || tracer->is_ending || (thread->table && !thread->loading))
		return;
	if (!thread->loading) {
		begin_served(tracer, thread);
	} else if (registers_show_loaded(thread->id) || ++thread->stops == LOADING_STOPS) {
		served_learn(thread->table, thread->id, &tracer->libraries);
		thread->loading = false;
	}
	if (!thread->loading && calls_ptrace(tracer, thread)) {
		thread->is_free = !tracer->has_filter;
		tracer->run->trace->kept += tracer->has_filter;
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
		count_served(tracer, find_thread(tracer, id));
	else
		take_signal(tracer, id, signal);
	thread = find_thread(tracer, id);
	/* Registers that are set at the event of execve(2) itself would be overwritten. */
	to_next_call =
		(thread && thread->loading) || (event == PTRACE_EVENT_EXEC && tracer->run->serves);
	if (thread && thread->is_free)
		return let_go(tracer, thread, delivered);
	else if (event == PTRACE_EVENT_STOP && stops_a_group(signal))
		result = ptrace(PTRACE_LISTEN, id, NULL, NULL);
	else
		result = ptrace(to_next_call ? PTRACE_SYSCALL : PTRACE_CONT, id, NULL,
			(void *)(uintptr_t)delivered);
	/* It alone is affected: the others are followed on. */
	if (result < 0 && errno != ESRCH && thread)
		let_go(tracer, thread, 0);
}

/* The children that a shell had before it became vdsocheck are waited for, too, but not traced. */
static bool take_change(struct trace_source *source, pid_t id, int status)
{
	struct tracer *tracer = (struct tracer *)source;

	if (WIFSTOPPED(status))
		take_stop(tracer, id, status);
	else
		drop_thread(tracer, id);
	return tracer->count > 0;
}

/* ptrace misses nothing, and its stops are part of the CPU time. */
static void set_method(struct trace_evidence *trace)
{
	fact_set_known(&trace->method_fact);
	trace->method = TRACE_BY_SECCOMP;
	trace->cpu_inflated = true;
}

/*
 * Ends the processes that the program left running, within a time. They cannot be let go: without a
 * tracer their counted calls would fail. Those that are left then end by PTRACE_O_EXITKILL.
 */
static void terminate(struct tracer *tracer)
{
	struct trace_run *run = tracer->run;

	tracer->is_ending = true;
	run->over = false;
	run->deadline = deadline_after(TERMINATE_NS);
	for (size_t i = 0; i < tracer->count; i++)
		leave(tracer, tracer->threads[i].id);
	if (tracer->count)
		trace_run_wait(run);
}

/*
 * Forgets the threads that are left. To let one go it would have to be stopped, which may interrupt
 * a call that it waits in: the kernel lets it go when we end.
 */
static void finish(struct tracer *tracer)
{
	struct trace_run *run = tracer->run;

	trace_run_remove(run, &tracer->source);
	if (tracer->files.rlim_max) /* the next run inherits it */
		setrlimit(RLIMIT_NOFILE, &tracer->files);
	while (tracer->count)
		drop_thread(tracer, tracer->threads[0].id);
	free(tracer->threads);
	while (tracer->left_count)
		served_drop(run->trace, tracer->left[--tracer->left_count]);
	free(tracer->left);
}

/* A process has one tracer, which may be that of vdsocheck itself: `strace -f` follows children. */
static void explain_refusal(pid_t pid, int error, struct fact *why)
{
	struct span status = status_read(pid), tracer = {NULL, 0};

	if (text_find_value(status, "TracerPid", &tracer) && !text_equals(tracer, "0"))
		fact_set(why, FACT_DENIED, "ptrace: already traced by process %.*s",
			(int)tracer.length, tracer.at);
	else
		fact_set_errno(why, error, "ptrace");
	span_free(status);
}

static bool seize_program(struct tracer *tracer, unsigned options, struct fact *why)
{
	struct trace_run *run = tracer->run;
	struct rlimit limit;
	struct fact ignored;

	tracer->options = FOLLOW | options;
	if (run->serves)
		tracer->options |= PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXIT;
	if (ptrace(PTRACE_SEIZE, run->program, NULL, (void *)(uintptr_t)tracer->options) < 0) {
		explain_refusal(run->program, errno, why);
		return false;
	}
	/* The kernel asks for the capabilities that the tracer has when it attaches. */
	tracer->is_weak =
		proc_is_ours(&ignored) && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 &&
		!privileges_have(tracer->has_filter ? TRACE_PRIVILEGES | TRACE_FILTER_PRIVILEGES
						    : TRACE_PRIVILEGES);
	/* Each program that is counted has a descriptor here. This one has its own limit by now. */
	if (getrlimit(RLIMIT_NOFILE, &tracer->files) == 0) {
		limit = (struct rlimit){tracer->files.rlim_max, tracer->files.rlim_max};
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	add_thread(tracer, run->program, NULL);
	tracer->source.change = take_change;
	trace_run_add(run, &tracer->source);
	return true;
}

/* If it is not known how many, there is one at least. */
static uint64_t count_filters_around(void)
{
	uint64_t count = served_count_filters(0);

	return count == SERVED_SOME_FILTERS ? 1 : count;
}

bool trace_follow(struct trace_run *run)
{
	struct tracer tracer = {.run = run, .filters = count_filters_around()};
	bool is_seized = run->serves && seize_program(&tracer, 0, &run->trace->served);

	/* A normal run would seem to survive a host that falls back. */
	if (!is_seized &&
		(run->trace->request->as_if_fallback || run->trace->request->is_baseline)) {
		trace_run_cancel(run);
		return false;
	}
	run->over = true;
	trace_run_go(run);
	if (is_seized)
		finish(&tracer);
	return true;
}

bool trace_ptrace_run(struct trace_run *run, struct fact *why)
{
	static struct filter filter;
	struct tracer tracer = {.run = run, .filters = count_filters_around(), .has_filter = true};

	/* A kernel with filters reads their address first. A filter may kill for the attempt. */
	if (!tracer.filters && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) < 0 &&
		errno == EINVAL) {
		fact_set_errno(why, EINVAL, "seccomp filter");
		return false;
	}
	tracer.filters++; /* ours */
	trace_plan_filter(run->trace->request->plan, &filter);
	if (!trace_run_fork(run, &filter, why))
		return false;
	if (!seize_program(&tracer, PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL, why)) {
		trace_run_cancel(run);
		return false;
	}
	set_method(run->trace);
	trace_run_go(run);
	terminate(&tracer);
	finish(&tracer);
	/* An outer seccomp filter may refuse the new one, or end the process for it. */
	if (run->failure.error && run->failure.stage == TRACE_STARTING)
		fact_set_errno(why, run->failure.error, "seccomp filter");
	else if (run->failure.error || tracer.has_executed || WTERMSIG(run->status) != SIGSYS)
		return true;
	else
		child_explain(run->status, DEADLINE_NONE, why);
	run->failure.error = 0;
	return false;
}
