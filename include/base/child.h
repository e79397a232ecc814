/* SPDX-License-Identifier: MIT */
/*
 * Work that a process cannot undo (a seccomp filter) or may not survive (a vDSO that crashes)
 * is done in a forked child, which answers through memory shared with its parent.
 */
#ifndef VDSOCHECK_BASE_CHILD_H
#define VDSOCHECK_BASE_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "base/fact.h"
#include "base/time.h"

/* Maps zeroed memory that children share with us. Returns NULL with the reason in *why. */
void *child_share(size_t size, struct fact *why);
void child_unshare(void *shared, size_t size);

/*
 * Runs work(copy of *object) in a child and copies the object back. Returns false with the reason
 * in *why, and *object unchanged, unless the child reached the end of the work: FACT_FAILED for a
 * signal, FACT_DENIED for SIGSYS, by which a filter around us forbids a system call, FACT_LATE at
 * the deadline, also where the child was stopped, and at a limit of CPU time, FACT_NO_CHILD where
 * fork(2) or wait4(2) was refused. The child leaves no core dump and dies with its parent; when
 * this returns it is gone.
 */
bool child_call(void (*work)(void *object), void *object, size_t size,
	const struct deadline *deadline, struct fact *why);

/*
 * Runs work of about a millisecond whose system calls a seccomp filter may kill for: under a filter
 * like child_call(), for at most CHILD_PROBE_NS, since a loaded host needs tenths of a second, and
 * a child that hangs must not take the time of the whole check; without one, in this process.
 */
#define CHILD_PROBE_NS 1000000000
bool child_probe(void (*work)(void *object), void *object, size_t size, const struct deadline *run,
	struct fact *why);

/*
 * Runs work like child_call(), on memory that is shared already or without a result, and calls
 * poll(argument), unless it is NULL, several times a second. If that returns true, the child is
 * ended and *why stays unchanged.
 */
bool child_run(void (*work)(void *argument), bool (*poll)(void *argument), void *argument,
	const struct deadline *deadline, struct fact *why);

/*
 * These are the pieces, for a parent of several children or of one that it traces. child_start()
 * returns the child's pid, or -1 with the reason, which may be that the deadline has passed; at the
 * deadline SIGALRM ends the child, unless it is stopped. child_join() is the rest of
 * child_run(). child_explain() says whether the child reached its end, by the status of wait4(2).
 * child_end() kills and reaps a child; it returns false if the child is still there at the
 * deadline, hanging in the kernel.
 */
pid_t child_start(void (*work)(void *argument), void *argument, const struct deadline *deadline,
	struct fact *why);
bool child_join(pid_t pid, bool (*poll)(void *argument), void *argument,
	const struct deadline *deadline, struct fact *why);
bool child_explain(int status, const struct deadline *deadline, struct fact *why);
bool child_end(pid_t pid, const struct deadline *deadline);

/* The signal of a stop at a system call, by PTRACE_O_TRACESYSGOOD. */
#define SYSCALL_STOP (SIGTRAP | 0x80)

/* A wait for one child or for any. */
struct child_wait {
	pid_t pid;   /* -1: any child */
	int options; /* __WALL, WUNTRACED: see wait4(2) */
	const struct deadline *deadline;
	/* Is called for each change of a child; true ends the wait. NULL: any change ends it. */
	bool (*changed)(void *argument, pid_t pid, int status, const struct rusage *usage);
	/* Is called each poll_ns and after signals; true ends the wait. May be NULL. */
	bool (*poll)(void *argument);
	int64_t poll_ns; /* which a poll may set; 0: 100 ms */
	bool is_alone;   /* goes on without children, until a poll ends the wait */
	void *argument;
	pid_t ended; /* set to the child whose change ended the wait; 0: none did */
	int status;  /* of that change */
};

/* Sets FACT_NO_CHILD for the error of a system call that makes children or waits for them. */
void child_refused(const char *call, int error, struct fact *why);

/*
 * Waits for children. Returns 0 if a change or the poll ended the wait, ETIMEDOUT at the deadline,
 * ECHILD if there is no such child, or another error of wait4(2).
 */
int child_wait(struct child_wait *wait);

/* ---- fault.c: code that may raise a signal, in one thread at a time ---- */

/*
 * Runs work(argument), which may load from a page with nothing behind it, read a counter that is
 * switched off, or call a vDSO function that crashes. Returns 0 if it came to its end, or the
 * signal that stopped it: SIGSEGV, SIGBUS, SIGILL, SIGFPE, or SIGVTALRM of an interval timer that
 * the caller set to bound the work. What the work had changed by then stays changed. The work may
 * set guards of its own, which cost no system call then, as they do in a child of child_start().
 */
int fault_guard(void (*work)(void *argument), void *argument);

/*
 * Returns what a call does that fails with this errno: "fails with EINVAL"; of 0, that it says
 * that it succeeded: "writes no result". In static storage.
 */
const char *fault_error_text(int error);

/* Returns "SIGSEGV" and so on, "signal N" for those without a name here; in static storage. */
const char *fault_signal_name(int signal);

#endif
