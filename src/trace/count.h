/* SPDX-License-Identifier: MIT */
/*
 * Declares the ways of counting and their parts: a program that is inspected, a run with one wait
 * for processes, signals and time, and the kernel's tracepoints.
 */
#ifndef VDSOCHECK_TRACE_COUNT_H
#define VDSOCHECK_TRACE_COUNT_H

#include <linux/perf_event.h>

#include "base/root.h"
#include "base/time.h"
#include "model.h"

/* The exit statuses that env(1), timeout(1) and shells use. */
#define STATUS_TROUBLE 125
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127

/* ---- program.c: the program, before it is counted ---- */

/* Finds the file that execvp(3) would run. 0 or an errno value. */
int trace_program_find(const char *name, struct trace_program *program);

/*
 * Finds out whether the process program->pid, or if that is 0 the file program->file, is static or
 * 32-bit, and sets the path of a process.
 */
void trace_program_inspect(struct trace_program *program);

/* Sets is_static and is_32_bit by the first bytes of the program's file. */
void trace_program_read(struct trace_program *program, const unsigned char *bytes, size_t length);

/* Calls visit() for each thread, or with 0 for each process, until it returns an errno value. */
int trace_program_threads(pid_t pid, int (*visit)(void *argument, pid_t id), void *argument);

/* ---- run.c ---- */

/* TRACE_STARTING, TRACE_EXECUTING: the program was not started. */
enum trace_stage { TRACE_STARTING, TRACE_EXECUTING, TRACE_FOLLOWING };

/* The reason why a program could not be started or counted. */
struct trace_failure {
	enum trace_stage stage;
	int error; /* an errno value; 0: there was no failure */
};

struct trace_run {
	/* These are set before it begins. */
	const struct root *root;
	struct trace_evidence *trace;
	char *const *arguments;    /* of the program to start; NULL: what is counted runs already */
	int64_t limit_ns;          /* 0: no limit */
	volatile bool stop;        /* for interrupts_catch() */
	void (*show)(double done); /* gets the part of limit_ns that is over; or NULL */
	uint64_t privileges;       /* needed after the run, see base/privileges.h */
	bool is_repeated;          /* the program runs again, with all privileges that it had */
	uint64_t shown;            /* processes that are kept of trace->top, or places */
	bool serves;               /* the program's calls into the vDSO are counted, too */
	int64_t interval_ns; /* of the whole host: time between two reports; 0: one at the end */
	bool (*report)(void *argument); /* prints the counts of an interval; false ends the run */
	void *argument;
	struct trace_places *call_places; /* of system calls; NULL: not wanted */

	/* The ways of counting set these while they count. */
	struct trace_events *events; /* the open tracepoints; NULL: there are none */
	struct tracer *tracer;       /* gets the stops of threads; NULL: there is none */
	pid_t program; /* was started, and gets SIGTERM at the end of the time; 0: none is left */
	int status;    /* of waitpid(), once the program has ended */
	bool over;     /* nothing that outlives the program is waited for */
	struct trace_failure failure;

	/* The run itself uses these. */
	int file; /* to the child: a byte lets it go on; its failure is read from it */
	struct deadline deadline;
	int64_t begin_ns;   /* of CLOCK_MONOTONIC */
	int64_t next_ns;    /* the end of the interval, by the same clock */
	double cpu_s;       /* of the program, once it has ended */
	double begin_cpu_s; /* of a process that ran already, at the beginning */
};

/*
 * Forks. The child waits for trace_run_go(), sets the seccomp filter, which may be NULL, and
 * becomes the program. False with the reason.
 */
bool trace_run_fork(struct trace_run *run, struct filter *filter, struct fact *why);

/* Ends the child that waits. */
void trace_run_cancel(struct trace_run *run);

/*
 * Lets the child go on, and waits for its end by the functions below. Sets run->failure where the
 * child failed.
 */
void trace_run_go(struct trace_run *run);

/*
 * Begins the time. All that takes privileges is open: they are given up, but for CAP_KILL if there
 * is a program, which may have changed its user, and CAP_SYS_PTRACE to read memory maps. From now
 * on the signals that ask us to end are passed to the program.
 */
void trace_run_begin(struct trace_run *run);

/*
 * Waits for children until the run is over and there is no program. 0, or an errno value: ECHILD
 * if nothing is left to wait for.
 */
int trace_run_wait(struct trace_run *run);

/* Waits a moment, at most until a signal or the end of the interval; false: the run is over. */
bool trace_run_pause(struct trace_run *run);

/* Sets the duration and the CPU time, before processes that are not counted are waited for. */
void trace_run_counted(struct trace_run *run);

/* ---- the ways ---- */

/*
 * Each fills in method, counts, duration and CPU time. False with the reason in *why, or in
 * trace->tracepoints.
 *
 * ..._run() runs the program until it ends, the second one until its children have ended, too; if
 * false the program was not started. ..._attach() counts the calls of the running process
 * trace->program.pid and of the children that it starts, until the run is over or the process ends.
 * trace_system_wide() counts those of the whole host, and fills in trace->top.
 */
bool trace_perf_run(struct trace_run *run);
bool trace_ptrace_run(struct trace_run *run, struct fact *why);
bool trace_perf_attach(struct trace_run *run);
bool trace_system_wide(struct trace_run *run, struct fact *why);

/* ---- ptrace.c ---- */

/*
 * Does what trace_run_go() does for a program whose system calls are counted otherwise or not at
 * all, and counts its calls into the vDSO if run->serves is set and it can be traced. False, with
 * the reason in trace->served: it was to run as if this host fell back, and was not started.
 */
bool trace_follow(struct trace_run *run);

/* Takes a stop or the end of a child or traced thread. */
void tracer_take(struct tracer *tracer, pid_t id, int status);

/* ---- estimate.c ---- */

struct estimating;

/*
 * Estimates the calls into the vDSO by the running process run->trace->program.pid, for
 * run->limit_ns at most, in a child. NULL with the reason in trace->estimate; privileges are needed
 * until then.
 */
struct estimating *trace_estimate_start(struct trace_run *run);

/* Stores the estimate; estimating may be NULL. */
void trace_estimate_end(struct estimating *estimating, struct trace_evidence *trace);

/* ---- system_wide.c, cgroup.c ---- */

/* Puts those with the most calls first, and forgets all but `shown`. */
void trace_callers_sort(struct trace_callers *callers, uint64_t shown);

/* Finds the path of a process in the text of its /proc/PID/cgroup. */
bool cgroup_find_path(struct span text, struct span *path);

/* Reads the path of a running process; "": it has ended, or has none. */
void cgroup_read(const struct root *root, pid_t pid, char path[CGROUP_SIZE]);

/* Names the unit, the container with the first digits of its ID, and its pod; else the path. */
void cgroup_describe(const char *path, char name[CGROUP_SIZE]);

/* Adds the samples of the processes to their groups, and forgets the processes. */
void cgroup_add_processes(struct trace_top *top);

/* Adds the group of a running process, without samples; `run` is a struct trace_run. */
int cgroup_add_running(void *run, pid_t pid);

/* Opens counters for the first groups in trace->top; trace->counted says why there is none. */
void cgroup_open_counters(struct trace_events *events);

/* Forgets all callers but the groups with counters. */
void cgroup_begin(struct trace_evidence *trace);

/* Moves the counts since the last time to the list of the groups. */
void cgroup_take_counts(struct trace_evidence *trace);

/* Closes the directories of the groups. */
void cgroup_close(struct trace_counted *counted);

/* ---- perf.c: the kernel's tracepoints ---- */

struct trace_event {
	int file;
	uint64_t *sum;   /* its count is added to it; NULL: it has samples instead */
	uint64_t before; /* the part of its count that was added */
};

/* The kernel writes the samples of one event or more to a ring. */
struct trace_ring {
	struct perf_event_mmap_page *page; /* the records follow it */
	size_t size;                       /* of the records, in bytes */
	const struct trace_call *call;     /* if it is of one alone */
};

struct trace_events {
	struct trace_event *list;
	size_t count, room;
	struct trace_ring *rings;
	size_t ring_count, ring_room;
	struct trace_evidence *trace;
	uint32_t ids[TRACE_CALL_MAX]; /* of the calls' tracepoints; as tracefs names them */

	/* For the calls by 32-bit code, if the fact trace->unlisted is known. */
	uint32_t raw_id;               /* raw_syscalls:sys_enter, which has those of both */
	char raw_filter[2048];         /* the numbers of the calls in 32-bit code */
	uint32_t same[TRACE_CALL_MAX]; /* tracepoints of the 64-bit calls with these numbers */
	size_t same_count;
	uint64_t raw, native; /* counts of the two */
	uint64_t slack;       /* how far these may differ without calls by 32-bit code */
	uint64_t unlisted;    /* the calls by 32-bit code that were reported */
};

/*
 * Finds the tracepoints of all calls of the plan. False with the reason: no tracefs, no
 * permission, or a call without one.
 */
bool trace_events_find(const struct root *root, struct trace_evidence *trace,
	struct trace_events *events, struct fact *why);

/* The target of an event: a thread and what it starts (cpu -1: on all), or a CPU (thread -1). */
struct trace_target {
	pid_t thread;
	int cpu;
	int leader;          /* the event that enables it, too; 0: none */
	unsigned long flags; /* PERF_FLAG_PID_CGROUP: `thread` is a group's open directory */
	struct perf_event_attr attributes; /* with what perf_event_open(2) calls them */
};

/*
 * Opens one event, by trace_event_add() of a tracepoint with a filter, which may be NULL. 0 or an
 * errno value.
 */
int trace_event_open(struct trace_events *events, const struct trace_target *target, uint64_t *sum);
int trace_event_add(struct trace_events *events, uint32_t id, struct trace_target target,
	const char *filter, uint64_t *sum);

/* Returns the file of the event that was opened last. */
int trace_event_last(const struct trace_events *events);

/* Opens the counters of one target more, disabled. 0 or an errno value. */
int trace_events_open(struct trace_events *events, struct trace_target target);

/* Sends the request PERF_EVENT_IOC_ENABLE or _DISABLE to all. */
void trace_events_control(const struct trace_events *events, unsigned long request);

/* Returns the row that a call with this first argument is counted in. */
size_t trace_events_row(
	const struct trace_plan *plan, const struct trace_call *call, uint64_t argument);

/*
 * Adds what was counted since the last time to the sums, and sets the number of calls by 32-bit
 * code. 0, or an errno value if a counter cannot be read.
 */
int trace_events_add_up(struct trace_events *events);

/* Counts what runs already, until the run is over or look(), called again and again, is false. */
void trace_events_watch(
	struct trace_run *run, struct trace_events *events, bool (*look)(struct trace_run *run));

/* Closes all events and rings, and frees the lists. */
void trace_events_close(struct trace_events *events);

/* Says why events could not be opened, and what would help. */
void trace_events_explain(int error, struct fact *why);

/* ---- samples.c: the calls that the kernel takes samples of ---- */

/*
 * Maps a ring for the event that was opened last, with so many pages of records: a power of two. 0
 * or an errno value.
 */
int trace_ring_open(struct trace_events *events, size_t pages, const struct trace_call *call);
void trace_ring_close(const struct trace_ring *ring);

/* The first words of a record behind its header, as the event's sample_type orders them. */
#define TRACE_RECORD_WORDS 6

struct trace_record {
	uint32_t type; /* PERF_RECORD_... */
	size_t count;  /* of its words, of which the first are here */
	uint64_t words[TRACE_RECORD_WORDS];
	pid_t pid, thread; /* the first word, if it is that of PERF_SAMPLE_TID */
};

/* Takes the next record. False if there is none yet. */
bool trace_ring_next(const struct trace_ring *ring, struct trace_record *record);

/* Samples some clock calls a second of a thread and what it starts. 0 or an errno value. */
int trace_samples_open(struct trace_events *events, pid_t thread, bool from_exec);

/*
 * Adds the samples that were taken since the last time to run->call_places, if both are there. A
 * process whose memory is gone (0: none) has `maps`, which may be empty.
 */
void trace_samples_take(struct trace_run *run, pid_t gone, struct span maps);

#endif
