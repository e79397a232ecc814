/* SPDX-License-Identifier: MIT */
/*
 * Counting by ptrace(2). A program that we start runs under a seccomp filter that stops it at
 * the counted calls only. A process that runs already cannot be given a filter: it stops at each
 * of its system calls, until we detach.
 *
 * Both are seized (PTRACE_SEIZE), so that group stops are seen as such and kept (PTRACE_LISTEN).
 * A program under our filter ends when we are killed (PTRACE_O_EXITKILL): without a tracer the
 * kernel fails its counted calls with ENOSYS. A process that we attached to goes on.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/memory.h"
#include "base/text.h"
#include "run.h"

/* PTRACE_O_TRACESYSGOOD marks stops at system calls with this bit. */
#define SYSCALL_STOP (SIGTRAP | 0x80)

#define FOLLOW (PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

/* How long the threads of an attached process may take to stop, so that they can be let go. */
#define DETACH_NS 1000000000

/* How long what the program left running may take to end by SIGTERM. */
#define TERMINATE_NS 2000000000

/* Threads that are traced, in no order. */
struct threads {
	pid_t *ids;
	size_t count, room;
};

static bool threads_have(const struct threads *threads, pid_t id)
{
	for (size_t i = 0; i < threads->count; i++) {
		if (threads->ids[i] == id)
			return true;
	}
	return false;
}

static bool threads_add(struct threads *threads, pid_t id)
{
	pid_t *ids;

	if (threads_have(threads, id))
		return true;
	ids = array_grow(threads->ids, threads->count, &threads->room, sizeof(*ids));
	if (!ids)
		return false;
	threads->ids = ids;
	threads->ids[threads->count++] = id;
	return true;
}

static void threads_drop(struct threads *threads, pid_t id)
{
	for (size_t i = 0; i < threads->count; i++) {
		if (threads->ids[i] == id)
			threads->ids[i] = threads->ids[--threads->count];
	}
}

/* Keeps the list: what has ended is dropped, what is new is added at its first stop. */
static void note(struct threads *threads, pid_t pid, int status)
{
	if (!WIFSTOPPED(status))
		threads_drop(threads, pid);
	else if (status >> 16 == PTRACE_EVENT_STOP)
		threads_add(threads, pid);
}

struct tracer {
	struct trace_evidence *trace;
	bool at_each_call; /* there is no filter to stop at the counted ones alone */
	int error;         /* an errno value: the kernel does not say which call a thread makes */
};

/* The filter's data: the row, and which architecture's. */
static void count_by_filter(struct tracer *tracer, pid_t pid)
{
	unsigned long data = 0;

	if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &data) == 0 &&
		data < TRACE_ARCH_COUNT * TRACE_ROW_MAX)
		tracer->trace->counts.of[data / TRACE_ROW_MAX][data % TRACE_ROW_MAX]++;
}

/* A thread stops at the entry of each call and at its return: entries are counted. */
static void count_by_information(struct tracer *tracer, pid_t pid)
{
	const struct trace_plan *plan = tracer->trace->plan;
	struct __ptrace_syscall_info call;
	size_t row;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(call), &call) < 0) {
		if (errno != ESRCH)
			tracer->error = errno;
		return;
	}
	if (call.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	row = trace_plan_find(plan, call.arch, call.entry.nr, call.entry.args[0]);
	if (row < TRACE_ROW_MAX)
		tracer->trace->counts.of[call.arch == plan->arch[TRACE_COMPAT]][row]++;
}

static bool stops_a_group(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* The signal that a stopped thread is to get when it goes on; 0: the stop was ptrace's own. */
static int signal_to_deliver(int status)
{
	int signal = WSTOPSIG(status);

	return status >> 16 || signal == SYSCALL_STOP ? 0 : signal;
}

/* A thread that was killed meanwhile takes no request: its end is reported next. */
static void handle_stop(struct tracer *tracer, pid_t pid, int status)
{
	int event = status >> 16;
	int signal = WSTOPSIG(status);

	if (event == PTRACE_EVENT_SECCOMP)
		count_by_filter(tracer, pid);
	else if (!event && signal == SYSCALL_STOP)
		count_by_information(tracer, pid);
	if (event == PTRACE_EVENT_STOP && stops_a_group(signal))
		ptrace(PTRACE_LISTEN, pid, NULL, NULL);
	else if (ptrace(tracer->at_each_call ? PTRACE_SYSCALL : PTRACE_CONT, pid, NULL,
			 (void *)(uintptr_t)signal_to_deliver(status)) < 0 &&
		 errno != ESRCH)
		tracer->error = errno;
}

/* ---- a program that we start ---- */

static int set_filter(void *filter)
{
	return filter_set(filter);
}

/*
 * An ID may have become another process's where a thread gave it up in execve(2): one that is not
 * traced by us is refused. Signals are sent to processes, whose ID is that of their first thread.
 */
static bool terminate(pid_t id)
{
	return ptrace(PTRACE_INTERRUPT, id, NULL, NULL) == 0 &&
	       syscall(SYS_tgkill, id, id, 0) == 0 && kill(id, SIGTERM) == 0;
}

/*
 * What the program left running cannot be let go: without a tracer its counted calls would fail.
 * It ends by SIGTERM, or by PTRACE_O_EXITKILL when we end.
 */
static void terminate_children(struct tracer *tracer, struct threads *threads)
{
	struct deadline deadline = deadline_after(TERMINATE_NS);
	uint64_t *count = &tracer->trace->children_terminated;
	int status;

	for (size_t i = 0; i < threads->count; i++)
		*count += terminate(threads->ids[i]);
	while (deadline_left_ns(&deadline) > 0) {
		pid_t pid = wait4(-1, &status, __WALL, NULL);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return;
		/* At its first stop: it was started meanwhile. */
		if (WIFSTOPPED(status) && !threads_have(threads, pid))
			*count += terminate(pid);
		note(threads, pid, status);
		if (WIFSTOPPED(status))
			handle_stop(tracer, pid, status);
	}
}

/* Until the program and all its children have ended: they are under the filter, too. */
static void follow_program(struct tracer *tracer, struct trace_run *run, int64_t start_ns)
{
	struct threads threads = {.count = 0};
	struct rusage usage, own_usage;
	bool has_ended = false;
	int status;

	while (!has_ended || !trace_signals_over()) {
		bool is_traced;
		pid_t pid;

		trace_signals_pass();
		pid = wait4(-1, &status, __WALL, &usage);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			break;
		/* Not a child that the shell had before it became vdsocheck. */
		is_traced = threads_have(&threads, pid);
		note(&threads, pid, status);
		if (WIFSTOPPED(status)) {
			handle_stop(tracer, pid, status);
			/* It would stay stopped. */
			if (tracer->error)
				kill(pid, SIGKILL);
		} else if (!has_ended && pid == tracer->trace->program.pid) {
			trace_signals_forget();
			run->status = status;
			has_ended = true;
			own_usage = usage;
			trace_set_used(tracer->trace, start_ns, &own_usage);
		} else if (has_ended && is_traced) {
			trace_set_used(tracer->trace, start_ns, &own_usage);
		}
	}
	if (has_ended) {
		if (threads.count)
			trace_set_used(tracer->trace, start_ns, &own_usage);
		terminate_children(tracer, &threads);
	} else {
		/* Before the end of the program: its status and its calls are lost. */
		tracer->error = errno;
	}
	free(threads.ids);
}

bool trace_run_by_seccomp(struct trace_evidence *trace, struct trace_run *run, struct fact *why)
{
	static struct filter filter;
	struct tracer tracer = {.trace = trace};
	struct trace_start start;
	int64_t start_ns;

	trace_filter_make(trace->plan, &filter);
	if (!trace_start_fork(&trace->program, run->arguments, set_filter, &filter, &start, why))
		return false;
	if (ptrace(PTRACE_SEIZE, start.pid, NULL,
		    (void *)(uintptr_t)(FOLLOW | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL)) < 0) {
		fact_set_errno(why, errno, "ptrace");
		trace_start_cancel(&start);
		return false;
	}
	trace->program.pid = start.pid;
	trace->method = TRACE_BY_SECCOMP;
	trace->cpu_inflated = true;
	start_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	tracer.error = trace_signals_start(start.pid, run->limit_ns);
	if (tracer.error) {
		trace_start_cancel(&start);
	} else {
		trace_start_go(&start);
		follow_program(&tracer, run, start_ns);
		run->failure = trace_start_result(&start);
	}
	trace_signals_end();
	if (tracer.error)
		run->failure = (struct trace_failure){.preparing = true, .error = tracer.error};
	return true;
}

/* ---- a process that runs already ---- */

/* An interrupt gets a thread to its first stop, from which it goes on with PTRACE_SYSCALL. */
static int seize(struct threads *threads, pid_t id)
{
	if (ptrace(PTRACE_SEIZE, id, NULL, (void *)(uintptr_t)(FOLLOW | PTRACE_O_TRACESYSGOOD)) < 0)
		return errno;
	ptrace(PTRACE_INTERRUPT, id, NULL, NULL);
	return threads_add(threads, id) ? 0 : ENOMEM;
}

/* Seizes the threads that are not yet; *found: how many. 0 or an errno value. */
static int seize_new_threads(struct threads *threads, DIR *tasks, size_t *found)
{
	struct dirent *entry;

	*found = 0;
	rewinddir(tasks);
	while ((entry = readdir(tasks))) {
		uint64_t id;
		int error;

		if (!number_parse(text_span(entry->d_name), &id) || id > INT32_MAX ||
			threads_have(threads, (pid_t)id))
			continue;
		error = seize(threads, (pid_t)id);
		/* A thread that we trace as the child of another one is refused: EPERM. */
		if (error && error != ESRCH && !(error == EPERM && threads->count))
			return error;
		*found += !error;
	}
	return 0;
}

/* Until a look finds no new one: what threads that are traced start is traced. */
static int seize_all(struct threads *threads, pid_t pid)
{
	char path[64];
	size_t found;
	DIR *tasks;
	int error;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return kill(pid, 0) < 0 ? errno : ENOENT;
	do
		error = seize_new_threads(threads, tasks, &found);
	while (!error && found);
	closedir(tasks);
	return error ? error : threads->count ? 0 : ESRCH;
}

/* Also ends with the last thread: wait4() fails then. */
static void follow_process(struct tracer *tracer, struct threads *threads,
	const struct deadline *deadline, const volatile bool *stop)
{
	int status;

	while (!*stop && !tracer->error && deadline_left_ns(deadline) > 0) {
		pid_t pid = wait4(-1, &status, __WALL, NULL);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return;
		note(threads, pid, status);
		if (WIFSTOPPED(status))
			handle_stop(tracer, pid, status);
	}
}

static bool is_of_new_child(int event)
{
	return event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
	       event == PTRACE_EVENT_CLONE;
}

/* A stopped thread goes on with the signal that it was stopped by; its new child is to follow. */
static void release(struct threads *threads, pid_t pid, int status)
{
	unsigned long child = 0;

	if (is_of_new_child(status >> 16) && ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child) == 0 &&
		ptrace(PTRACE_INTERRUPT, (pid_t)child, NULL, NULL) == 0)
		threads_add(threads, (pid_t)child);
	ptrace(PTRACE_DETACH, pid, NULL, (void *)(uintptr_t)signal_to_deliver(status));
	threads_drop(threads, pid);
}

/*
 * Only a stopped thread can be let go. One that takes too long, such as one that waits for its
 * vfork child, is let go by the kernel when we end.
 */
static void detach_all(struct threads *threads)
{
	struct deadline deadline = deadline_after(DETACH_NS);
	int status;

	for (size_t i = 0; i < threads->count; i++)
		ptrace(PTRACE_INTERRUPT, threads->ids[i], NULL, NULL);
	while (threads->count && deadline_left_ns(&deadline) > 0) {
		pid_t pid = wait4(-1, &status, __WALL, NULL);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return;
		if (WIFSTOPPED(status))
			release(threads, pid, status);
		else
			threads_drop(threads, pid);
	}
}

bool trace_attach_by_ptrace(
	struct trace_evidence *trace, int64_t limit_ns, const volatile bool *stop, struct fact *why)
{
	struct tracer tracer = {.trace = trace, .at_each_call = true};
	struct deadline deadline = deadline_after(limit_ns);
	struct threads threads = {.count = 0};
	struct trace_moment start;
	char object[64];
	int error;

	trace->method = TRACE_BY_PTRACE;
	trace->cpu_inflated = true;
	error = trace_tick_start();
	if (error) {
		fact_set_errno(why, error, "a timer");
		return false;
	}
	error = seize_all(&threads, trace->program.pid);
	if (!error) {
		start = trace_moment_now(trace->program.pid);
		follow_process(&tracer, &threads, &deadline, stop);
		trace_set_used_since(trace, &start);
	}
	detach_all(&threads);
	trace_tick_end();
	free(threads.ids);
	snprintf(object, sizeof(object), "process %d", trace->program.pid);
	if (error)
		fact_set_errno(why, error, object);
	else if (tracer.error)
		fact_set_errno(why, tracer.error, "PTRACE_GET_SYSCALL_INFO (Linux 5.3)");
	return !error && !tracer.error;
}
