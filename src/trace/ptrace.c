/* SPDX-License-Identifier: MIT */
/*
 * Counting by ptrace(2). A program that we start runs under a seccomp filter that stops it at
 * the counted calls only. A process that runs already cannot be given a filter: it stops at each
 * of its system calls, until we detach. Both are followed by one loop, trace_wait_each(), which
 * calls a function for each stop: to count, to end what is left, or to let go.
 *
 * Both are seized (PTRACE_SEIZE), so that group stops are seen as such and kept (PTRACE_LISTEN).
 * A program under our filter ends when we are killed (PTRACE_O_EXITKILL): without a tracer the
 * kernel fails its counted calls with ENOSYS. A process that we attached to goes on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "count.h"

/* PTRACE_O_TRACESYSGOOD marks stops at system calls with this bit. */
#define SYSCALL_STOP (SIGTRAP | 0x80)

#define FOLLOW (PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

/* How long the threads of an attached process may take to stop, so that they can be let go. */
#define DETACH_NS 1000000000

/* How long what the program left running may take to end by SIGTERM. */
#define TERMINATE_NS 2000000000

struct tracer {
	struct trace_run *run;
	struct trace_start start; /* of a program that we start */
	double cpu_s;             /* of the program, once it has ended */
	bool at_each_call;        /* there is no filter to stop at the counted ones alone */
	pid_t *ids;               /* of the traced threads, in no order */
	size_t count, room;
	int error; /* an errno value: a thread cannot be followed */
};

static bool is_traced(const struct tracer *tracer, pid_t id)
{
	for (size_t i = 0; i < tracer->count; i++) {
		if (tracer->ids[i] == id)
			return true;
	}
	return false;
}

static void add_thread(struct tracer *tracer, pid_t id)
{
	if (is_traced(tracer, id))
		return;
	tracer->ids = array_grow(tracer->ids, tracer->count, &tracer->room, sizeof(*tracer->ids));
	tracer->ids[tracer->count++] = id;
}

static void drop_thread(struct tracer *tracer, pid_t id)
{
	for (size_t i = 0; i < tracer->count; i++) {
		if (tracer->ids[i] == id)
			tracer->ids[i] = tracer->ids[--tracer->count];
	}
}

/* Keeps the list: a thread that has ended is dropped, a new one is added at its first stop. */
static void note(struct tracer *tracer, pid_t id, int status)
{
	if (!WIFSTOPPED(status))
		drop_thread(tracer, id);
	else if (status >> 16 == PTRACE_EVENT_STOP)
		add_thread(tracer, id);
}

/* The filter's data: the row, and which architecture's. */
static void count_by_filter(struct tracer *tracer, pid_t id)
{
	unsigned long data = 0;

	if (ptrace(PTRACE_GETEVENTMSG, id, NULL, &data) == 0 &&
		data < TRACE_ARCH_COUNT * TRACE_ROW_MAX)
		tracer->run->trace->counts[data / TRACE_ROW_MAX][data % TRACE_ROW_MAX]++;
}

/* A thread stops at the entry of each call and at its return: entries are counted. */
static void count_by_information(struct tracer *tracer, pid_t id)
{
	const struct trace_plan *plan = tracer->run->trace->plan;
	struct __ptrace_syscall_info call;
	size_t row;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, id, sizeof(call), &call) < 0) {
		if (errno != ESRCH)
			tracer->error = errno;
		return;
	}
	if (call.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	row = trace_plan_find(plan, call.arch, call.entry.nr, call.entry.args[0]);
	if (row < TRACE_ROW_MAX)
		tracer->run->trace->counts[call.arch == plan->arch[TRACE_COMPAT]][row]++;
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

/* A thread that was killed by now takes no request: its end is reported next. */
static void handle_stop(struct tracer *tracer, pid_t id, int status)
{
	int event = status >> 16;
	int signal = WSTOPSIG(status);

	if (event == PTRACE_EVENT_SECCOMP)
		count_by_filter(tracer, id);
	else if (!event && signal == SYSCALL_STOP)
		count_by_information(tracer, id);
	if (event == PTRACE_EVENT_STOP && stops_a_group(signal))
		ptrace(PTRACE_LISTEN, id, NULL, NULL);
	else if (ptrace(tracer->at_each_call ? PTRACE_SYSCALL : PTRACE_CONT, id, NULL,
			 (void *)(uintptr_t)signal_to_deliver(status)) < 0 &&
		 errno != ESRCH)
		tracer->error = errno;
}

/* ---- a program that we start ---- */

static int set_filter(void *filter)
{
	return filter_set(filter);
}

/* The children that a shell had before it became vdsocheck are waited for, too, but not traced. */
static void follow_program(void *argument, pid_t id, int status, const struct rusage *usage)
{
	struct tracer *tracer = argument;
	struct trace_run *run = tracer->run;
	bool was_traced = is_traced(tracer, id);

	note(tracer, id, status);
	if (WIFSTOPPED(status)) {
		handle_stop(tracer, id, status);
		/* It would stay stopped. */
		if (tracer->error)
			kill(id, SIGKILL);
	} else if (id == run->wait.program) {
		run->wait.program = 0;
		run->status = status;
		tracer->cpu_s = rusage_seconds(usage);
		trace_program_used(run->trace, tracer->start.ns, tracer->cpu_s);
	} else if (!run->wait.program && was_traced) {
		trace_program_used(run->trace, tracer->start.ns, tracer->cpu_s);
	}
}

/*
 * An ID may have become another process's where a thread gave it up in execve(2): one that is not
 * traced by us is refused. Signals are sent to processes, whose ID is that of their first thread.
 */
static void terminate(struct tracer *tracer, pid_t id)
{
	if (ptrace(PTRACE_INTERRUPT, id, NULL, NULL) == 0 && syscall(SYS_tgkill, id, id, 0) == 0 &&
		kill(id, SIGTERM) == 0)
		tracer->run->trace->children_terminated++;
}

static void follow_terminated(void *argument, pid_t id, int status, const struct rusage *usage)
{
	struct tracer *tracer = argument;

	(void)usage;
	/* At the first stop of a process that was started since. */
	if (WIFSTOPPED(status) && !is_traced(tracer, id))
		terminate(tracer, id);
	note(tracer, id, status);
	if (WIFSTOPPED(status))
		handle_stop(tracer, id, status);
}

/*
 * What the program left running cannot be let go: without a tracer its counted calls would fail.
 * It ends by SIGTERM, or by PTRACE_O_EXITKILL when we end.
 */
static void terminate_children(struct tracer *tracer)
{
	struct trace_run *run = tracer->run;

	if (!tracer->count)
		return;
	trace_program_used(run->trace, tracer->start.ns, tracer->cpu_s);
	for (size_t i = 0; i < tracer->count; i++)
		terminate(tracer, tracer->ids[i]);
	trace_wait_again(&run->wait, TERMINATE_NS);
	trace_wait_each(&run->wait, follow_terminated, tracer);
}

bool trace_ptrace_run(struct trace_run *run, struct fact *why)
{
	static struct filter filter;
	struct tracer tracer = {.run = run};

	trace_filter_make(run->trace->plan, &filter);
	if (!trace_start_fork(run, set_filter, &filter, &tracer.start, why))
		return false;
	if (ptrace(PTRACE_SEIZE, tracer.start.pid, NULL,
		    (void *)(uintptr_t)(FOLLOW | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL)) < 0) {
		fact_set_errno(why, errno, "ptrace");
		trace_start_cancel(&tracer.start);
		return false;
	}
	run->trace->method = TRACE_BY_SECCOMP;
	fact_set_number(&run->trace->unlisted, 0);
	run->trace->cpu_inflated = true;
	trace_start_follow(&tracer.start, run, follow_program, &tracer);
	terminate_children(&tracer);
	trace_wait_end(&run->wait);
	free(tracer.ids);
	if (tracer.error)
		run->failure = (struct trace_failure){.preparing = true, .error = tracer.error};
	return true;
}

/* ---- a process that runs already ---- */

/* An interrupt gets a thread to its first stop, from which it goes on with PTRACE_SYSCALL. */
static int seize(void *argument, pid_t id)
{
	struct tracer *tracer = argument;

	if (is_traced(tracer, id))
		return 0;
	if (ptrace(PTRACE_SEIZE, id, NULL, (void *)(uintptr_t)(FOLLOW | PTRACE_O_TRACESYSGOOD)) < 0)
		/* EPERM: a thread that is traced as the child of another one. ESRCH: it has ended.
		 */
		return errno == ESRCH || (errno == EPERM && tracer->count) ? 0 : errno;
	ptrace(PTRACE_INTERRUPT, id, NULL, NULL);
	add_thread(tracer, id);
	return 0;
}

/* Repeats until a pass finds no new thread: children of traced ones are traced. 0 or an errno. */
static int seize_all(struct tracer *tracer, pid_t pid)
{
	size_t before;
	int error;

	do {
		before = tracer->count;
		error = trace_program_threads(pid, seize, tracer);
	} while (!error && tracer->count > before);
	return error ? error : tracer->count ? 0 : ESRCH;
}

static void follow_process(void *argument, pid_t id, int status, const struct rusage *usage)
{
	struct tracer *tracer = argument;

	(void)usage;
	note(tracer, id, status);
	if (WIFSTOPPED(status))
		handle_stop(tracer, id, status);
	if (tracer->error)
		tracer->run->wait.over = true;
}

static bool is_of_new_child(int event)
{
	return event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
	       event == PTRACE_EVENT_CLONE;
}

/* A stopped thread goes on with the signal that it was stopped by; its new child is to follow. */
static void release(void *argument, pid_t id, int status, const struct rusage *usage)
{
	struct tracer *tracer = argument;
	unsigned long child = 0;

	(void)usage;
	if (WIFSTOPPED(status)) {
		if (is_of_new_child(status >> 16) &&
			ptrace(PTRACE_GETEVENTMSG, id, NULL, &child) == 0 &&
			ptrace(PTRACE_INTERRUPT, (pid_t)child, NULL, NULL) == 0)
			add_thread(tracer, (pid_t)child);
		ptrace(PTRACE_DETACH, id, NULL, (void *)(uintptr_t)signal_to_deliver(status));
	}
	drop_thread(tracer, id);
	if (!tracer->count)
		tracer->run->wait.over = true;
}

bool trace_ptrace_attach(struct trace_run *run, struct fact *why)
{
	pid_t pid = run->trace->program.pid;
	struct tracer tracer = {.run = run, .at_each_call = true};
	double cpu_s = trace_program_cpu_s(pid);
	char object[64];
	int64_t start_ns;
	int error = seize_all(&tracer, pid);

	trace_wait_begin(&run->wait);
	start_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	if (!error) {
		run->trace->method = TRACE_BY_PTRACE;
		fact_set_number(&run->trace->unlisted, 0);
		run->trace->cpu_inflated = true;
		trace_wait_each(&run->wait, follow_process, &tracer);
		trace_program_used_since(run->trace, start_ns, cpu_s);
	}
	/*
	 * Only a stopped thread can be let go. One that takes too long, such as one that waits for
	 * its vfork child, is let go by the kernel when we end.
	 */
	for (size_t i = 0; i < tracer.count; i++)
		ptrace(PTRACE_INTERRUPT, tracer.ids[i], NULL, NULL);
	trace_wait_again(&run->wait, DETACH_NS);
	if (tracer.count)
		trace_wait_each(&run->wait, release, &tracer);
	trace_wait_end(&run->wait);
	free(tracer.ids);
	snprintf(object, sizeof(object), "process %d", pid);
	if (error)
		fact_set_errno(why, error, object);
	else if (tracer.error)
		fact_set_errno(why, tracer.error, "PTRACE_GET_SYSCALL_INFO (Linux 5.3)");
	return !error && !tracer.error;
}
