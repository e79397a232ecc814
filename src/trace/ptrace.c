/* SPDX-License-Identifier: MIT */
/*
 * Counts by ptrace(2). A program that we start runs under a seccomp filter that stops it at
 * the counted calls only, and is followed by tracer_take_change(), which trace_run_wait() calls for
 * each stop: it counts, then ends the threads that are left, or lets them go.
 *
 * The program is seized (PTRACE_SEIZE), so that group stops are seen as such and kept
 * (PTRACE_LISTEN). Under our filter it ends when we are killed (PTRACE_O_EXITKILL): without a
 * tracer the kernel fails its counted calls with ENOSYS.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/privileges.h"
#include "files.h"
#include "tracer.h"

#define FOLLOW (PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

/* A process has one tracer, which may be that of vdsocheck itself: `strace -f` follows children. */
static void explain_refusal(pid_t pid, int error, struct fact *why)
{
	const uint64_t tracer = status_number(pid, "TracerPid", 0);

	if (proc_is_ours(why) && tracer)
		fact_set(why, FACT_DENIED, "ptrace: already traced by process %" PRIu64, tracer);
	else
		fact_set_errno(why, error, "ptrace");
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
	tracer_add(tracer, run->program, NULL);
	tracer->source.change = tracer_take_change;
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
		tracer_forget(&tracer);
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
	fact_set_known(&run->trace->method_fact);
	run->trace->method = TRACE_BY_SECCOMP;
	trace_run_go(run);
	tracer_terminate(&tracer);
	tracer_forget(&tracer);
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
