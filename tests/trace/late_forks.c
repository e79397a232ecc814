/* SPDX-License-Identifier: MIT */
/*
 * To be preloaded: a tracer learns of a fork as late as the kernel may report it, which is after
 * the child's execve(2). Its parent is stopped all the time, so that the order is a possible one.
 */
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MAX_MS 100 /* for a child that executes nothing */

static pid_t late;
static int late_status;
static unsigned waited_ms;

static bool is_event(int status, int first, int last)
{
	return WIFSTOPPED(status) && status >> 16 >= first && status >> 16 <= last;
}

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	for (;;) {
		pid_t got;

		if (late && waited_ms >= WAIT_MAX_MS) {
			got = late;
			*status = late_status;
			late = 0;
			return got;
		}
		got = (pid_t)syscall(SYS_wait4, pid, status, options | (late ? WNOHANG : 0), usage);
		if (late && got == 0) {
			usleep(1000);
			waited_ms++;
		} else if (!late && got > 0 &&
			   is_event(*status, PTRACE_EVENT_FORK, PTRACE_EVENT_CLONE)) {
			late = got;
			late_status = *status;
			waited_ms = 0;
		} else {
			if (got > 0 && is_event(*status, PTRACE_EVENT_EXEC, PTRACE_EVENT_EXEC))
				waited_ms = WAIT_MAX_MS;
			return got;
		}
	}
}
