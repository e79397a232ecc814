/* SPDX-License-Identifier: MIT */
/*
 * The ways of counting, and what they share: a program that is looked at and started, a wait for
 * processes, signals and time.
 */
#ifndef VDSOCHECK_TRACE_COUNT_H
#define VDSOCHECK_TRACE_COUNT_H

#include <signal.h>
#include <sys/resource.h>

#include "base/deadline.h"
#include "base/filter.h"
#include "base/root.h"
#include "model.h"

/* The exit statuses that env(1), timeout(1) and shells use. */
#define STATUS_TROUBLE 125
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127

/* ---- program.c: the program, before it is counted, and its CPU time ---- */

/*
 * Finds the file that execvp(3) would run. 0, STATUS_NOT_FOUND or STATUS_NOT_EXECUTABLE, and
 * errno for it.
 */
int trace_program_find(const char *name, struct trace_program *program);

/*
 * Finds out whether it is static, 32-bit or preloads a library: of the process program->pid, or, if
 * that is 0, of the file program->file. Its files are opened here and read in a child without
 * capabilities.
 */
void trace_program_inspect(struct trace_program *program);

/* Reads the open file of the program: is_elf, is_static and is_32_bit. */
void trace_program_read(struct trace_program *program, int file);

/* Calls take() for each thread, until it returns an errno value. That, or 0. */
int trace_program_threads(pid_t pid, int (*take)(void *argument, pid_t id), void *argument);

/* User and system time so far of all threads of a running process; negative: not known. */
double trace_program_cpu_s(pid_t pid);

/* Sets the duration since this CLOCK_MONOTONIC, and the CPU time; negative: it has ended. */
void trace_program_used(struct trace_evidence *trace, int64_t start_ns, double cpu_s);

/* Likewise of a running process that had used so much CPU time at the start. */
void trace_program_used_since(struct trace_evidence *trace, int64_t start_ns, double start_cpu_s);

/* ---- wait.c: one wait for all ways ---- */

struct trace_wait {
	/* Set before the start. */
	int64_t limit_ns;          /* 0: never */
	const volatile bool *stop; /* for what was not started by us; else NULL */
	void (*show)(double done); /* gets the part of limit_ns that is over; or NULL */
	uint64_t privileges;       /* that are needed after the wait, see base/privileges.h */
	pid_t program; /* gets the signals that ask us to end, and SIGTERM at the end of the time;
	                  0: there is none, or it has been reaped */

	/* Nothing that outlives the program is to be waited for. */
	bool over;
	/* Its own. */
	struct deadline deadline;
	sigset_t taken, before;
};

/*
 * All that takes privileges is open: gives them up, but for CAP_KILL if there is a program, which
 * may have changed its user. From now on the signals that ask us to end are passed to it instead;
 * those of the terminal reach it anyway.
 */
void trace_wait_begin(struct trace_wait *wait);

/* Waits for a signal or a moment; false once the time is over or *stop is set. */
bool trace_wait_pause(struct trace_wait *wait, int64_t ns);

typedef void trace_handler(void *argument, pid_t id, int status, const struct rusage *usage);

/*
 * Calls handle() for each stop and each end of a child or traced thread, until the wait is over and
 * there is no program, or nothing is left to wait for. 0 or an errno value: ECHILD for the last.
 */
int trace_wait_each(struct trace_wait *wait, trace_handler *handle, void *argument);

/* From now on another wait of this time, for what is left; over when any signal comes. */
void trace_wait_again(struct trace_wait *wait, int64_t limit_ns);

void trace_wait_end(struct trace_wait *wait);

/* ---- the ways ---- */

/* Why a program could not be started or counted: a step and an errno value; 0: it could. */
struct trace_failure {
	bool preparing; /* for counting, or following it; else execve() */
	int error;
};

struct trace_run {
	const struct root *root;
	struct trace_evidence *trace;
	struct trace_wait wait;
	size_t shown; /* processes that are kept of trace->top */
	/* For a program that we start. */
	char *const *arguments;
	int status; /* of waitpid(), once it has ended */
	struct trace_failure failure;
};

/*
 * Each fills in method, counts, duration and CPU time. False with the reason in *why.
 *
 * ..._run(): runs the program until it ends, the second one until its children have ended, too; if
 * false the program was not started.
 * ..._attach(): counts the calls of the running process trace->program.pid and of the children that
 * it starts, until the wait or the process ends.
 * trace_system_wide(): counts those of the whole host, and fills in trace->top.
 */
bool trace_perf_run(struct trace_run *run, struct fact *why);
bool trace_ptrace_run(struct trace_run *run, struct fact *why);
bool trace_perf_attach(struct trace_run *run, struct fact *why);
bool trace_ptrace_attach(struct trace_run *run, struct fact *why);
bool trace_system_wide(struct trace_run *run, struct fact *why);

/* ---- start.c: a child that waits to become the program ---- */

struct trace_start {
	pid_t pid;
	int file;   /* a byte written to it lets the child go on; its failure is read from it */
	int64_t ns; /* of CLOCK_MONOTONIC, when it was let go on */
};

/*
 * Forks. The child waits for trace_start_go(), calls prepare(argument), if there is one, which
 * returns 0 or an errno value, and becomes the program. False with the reason.
 */
bool trace_start_fork(struct trace_run *run, int (*prepare)(void *argument), void *argument,
	struct trace_start *start, struct fact *why);

/* Ends the child instead. */
void trace_start_cancel(struct trace_start *start);

/*
 * Begins run->wait, lets the child go on, waits by trace_wait_each() and sets run->failure where
 * the child failed. trace_wait_end() has to follow. handle() clears run->wait.program when it has
 * ended.
 */
void trace_start_follow(
	struct trace_start *start, struct trace_run *run, trace_handler *handle, void *argument);

/* ---- filter.c ---- */

/*
 * Adds the instructions of the whole filter. At a counted call it returns SECCOMP_RET_TRACE with
 * the number of the row, plus TRACE_ROW_MAX for the 32-bit architecture, as data for the tracer.
 */
void trace_filter_make(const struct trace_plan *plan, struct filter *filter);

/* ---- perf.c: the kernel's tracepoints ---- */

struct trace_event {
	int file;
	uint64_t *sum; /* what its count is added to; NULL: it is there for its samples */
};

struct trace_events {
	struct trace_event *list;
	size_t count, room;
	struct trace_evidence *trace;
	uint32_t ids[TRACE_CALL_MAX]; /* of the calls' tracepoints; as tracefs names them */

	/* For the calls by 32-bit code, if the fact trace->unlisted is known. */
	uint32_t raw_id;               /* raw_syscalls:sys_enter, which has those of both */
	char raw_filter[2048];         /* the numbers of the calls in 32-bit code */
	uint32_t same[TRACE_CALL_MAX]; /* tracepoints of the 64-bit calls with these numbers */
	size_t same_count;
	uint64_t raw, native; /* counts of the two */
	uint64_t slack;       /* how far these may differ without calls by 32-bit code */
};

/*
 * Finds the tracepoints of all calls of the plan. False with the reason: no tracefs, no
 * permission, or a call without one.
 */
bool trace_events_find(const struct root *root, struct trace_evidence *trace,
	struct trace_events *events, struct fact *why);

/* The target of an event: a thread and what it starts (cpu -1), or a CPU (thread -1). */
struct trace_target {
	pid_t thread;
	int cpu;
	bool from_exec; /* from the next execve(2) on, else once trace_events_enable() is called */
	int leader;     /* the event of a group that it counts together with; 0: none */
	unsigned sample_period; /* 0: no samples, else PERF_SAMPLE_TID of one call in so many */
	bool sample_abi;        /* and PERF_SAMPLE_REGS_USER of one register */
};

/* Opens one event; `filter` may be NULL. 0 or an errno value. */
int trace_event_add(struct trace_events *events, uint32_t id, struct trace_target target,
	const char *filter, uint64_t *sum);

/* Opens the events for one target more. 0 or an errno value. */
int trace_events_open(struct trace_events *events, struct trace_target target);
void trace_events_enable(const struct trace_events *events);
void trace_events_disable(const struct trace_events *events);

/* Adds up what was counted. 0, or an errno value if a counter could not be read: then nothing. */
int trace_events_read(struct trace_events *events);
void trace_events_close(struct trace_events *events);

/* Why events could not be opened, with what would help. */
void trace_events_explain(int error, struct fact *why);

#endif
