/* SPDX-License-Identifier: MIT */
/*
 * Declares the ways of counting and their parts: a program that is inspected, a run with one wait
 * for processes, signals and time, and the programs in the kernel that count.
 */
#ifndef VDSOCHECK_TRACE_COUNT_H
#define VDSOCHECK_TRACE_COUNT_H

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
 * Finds out what the report and the tracer need to know about the file of the process program->pid,
 * whose path it sets, or if that is 0 about program->file.
 */
void trace_program_inspect(struct trace_program *program);

/*
 * Says whether the file gives privileges that we lack to a program that executes it: it is
 * set-user-ID or set-group-ID or has capabilities.
 */
bool trace_program_gains(const char *path);

/* Sets it by the bytes of the file. */
void trace_program_read(struct trace_program *program, const unsigned char *bytes, size_t length);

/* ---- host.c ---- */

/*
 * Measures the cost of the calls of the plan and of the deciding ones, as system calls and in the
 * vDSO, and proves whether the vDSO serves this host.
 */
void trace_host_measure(
	const struct root *root, const struct trace_plan *plan, struct evidence *host);

/* Returns the number of CPUs that this kernel may have: the last one's number, and one. */
size_t trace_host_cpus(void);

/* ---- sources ---- */

/*
 * Something that counts while a run goes on, the first member of what it is part of. The run asks
 * the sources that it has, and these do not know each other. Functions may be NULL.
 */
struct trace_source {
	/*
	 * Adds what was counted since the last time to the evidence: at the end (ending is 0), or
	 * what it can only add while a process has its memory, which ends, or before it executes
	 * another program: then it had this map, which may be empty.
	 */
	void (*take)(struct trace_source *source, pid_t ending, const struct span *maps);

	/* Is called some times a second. */
	void (*poll)(struct trace_source *source);

	/* Takes a change of a child or traced thread. False: it waits for no other. */
	bool (*change)(struct trace_source *source, pid_t id, int status);

	/* Ends counting: what is taken then is all. */
	void (*stop)(struct trace_source *source);

	struct trace_source *next; /* of the run */
};

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
	struct trace_evidence *trace;
	volatile bool stop;        /* for interrupts_catch() */
	void (*show)(double done); /* gets the part of the time limit that is over; or NULL */
	uint64_t privileges;       /* needed after the run, see base/privileges.h */
	bool serves;               /* the program's calls into the vDSO are counted, too */
	struct trace_places *call_places; /* of system calls; NULL: not wanted */

	/* The ways of counting set these while they count. */
	struct trace_source *sources;
	pid_t program; /* was started, and gets SIGTERM at the end of the time; 0: none is left */
	int status;    /* of waitpid(), once the program has ended */
	bool over;     /* nothing that outlives the program is waited for */
	struct trace_failure failure;

	/* The run itself uses these. */
	int file; /* to the child: a byte lets it go on; its failure is read from it */
	struct deadline deadline;
	int64_t begin_ns;   /* of CLOCK_MONOTONIC */
	double cpu_s;       /* of the program, once it has ended */
	double begin_cpu_s; /* of a process that ran already, at the beginning */
};

/* Add a source, and remove one that may be there. */
void trace_run_add(struct trace_run *run, struct trace_source *source);
void trace_run_remove(struct trace_run *run, const struct trace_source *source);

/* Call the functions of all sources. */
void trace_run_take(struct trace_run *run, pid_t ending, const struct span *maps);
void trace_run_stop(struct trace_run *run);

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
 * is a program, which may have changed its user, CAP_SYS_PTRACE for it or to read memory maps, and
 * CAP_SYS_ADMIN to suspend the seccomp filters of programs whose calls into the vDSO are counted.
 * From now on the signals that ask us to end are passed to the program.
 */
void trace_run_begin(struct trace_run *run);

/*
 * Waits for children until the run is over and there is no program. 0, or an errno value: ECHILD
 * if nothing is left to wait for.
 */
int trace_run_wait(struct trace_run *run);

/* Waits a moment, at most for so long or until a signal; false: the run is over. */
bool trace_run_pause(struct trace_run *run, int64_t most_ns);

/*
 * Reads a clock by a timer, since a seccomp filter may end a process for clock_gettime(2). Returns
 * ns, or 0 if that was refused, too.
 */
int64_t trace_clock_ns(clockid_t clock);

/* Sets the duration and the CPU time, before processes that are not counted are waited for. */
void trace_run_counted(struct trace_run *run);

/* ---- started.c: a program that is started ---- */

/*
 * Runs the program until it and what it left running has ended, and fills in method, counts,
 * duration and CPU time. If its calls cannot be counted, it runs as it would without us, but not as
 * if this host fell back, a question that such a run would not answer. False with the reason in
 * *why if it was not started.
 */
bool trace_started(struct trace_run *run, struct fact *why);

/*
 * Runs the program again, as often as is asked for, each time with standard input from this offset
 * on, and compares the times.
 */
void trace_compare(const struct trace_run *run, off_t input);

/* ---- running.c: what runs already ---- */

/*
 * Counts the calls of the running process trace->program.pid and of the children that it starts,
 * until the run is over or the process ends, or those of the whole host, and fills in
 * trace->callers and trace->sampled, too. If only samples of the process could be taken,
 * trace->method_fact says why. At the end of an interval, report(argument) prints the counts; false
 * ends the run. False with the reason in trace->bpf.
 */
bool trace_running(struct trace_run *run, bool (*report)(void *argument), void *argument);

/* ---- ptrace.c ---- */

/* A tracer without the first, or a filter set without the second, takes a program's privileges. */
#define TRACE_PRIVILEGES PRIVILEGES(CAP_SYS_PTRACE)
#define TRACE_FILTER_PRIVILEGES PRIVILEGES(CAP_SYS_ADMIN)

/*
 * Runs the program under a seccomp filter until it and its children have ended, and counts its
 * system calls at its stops. False with the reason in *why if it was not started.
 */
bool trace_ptrace_run(struct trace_run *run, struct fact *why);

/*
 * Does what trace_run_go() does for a program whose system calls are counted otherwise or not at
 * all, and counts its calls into the vDSO if run->serves is set and it can be traced. False, with
 * the reason in trace->served: it was to run as if this host fell back, and was not started.
 */
bool trace_follow(struct trace_run *run);

/* ---- events.c: system calls, counted by BPF programs ---- */

/*
 * Makes the maps for the calls of the plan, before anything is counted. NULL with the reason. Free
 * the result, which may be NULL, with trace_events_free().
 */
struct trace_events *trace_events_make(const struct trace_plan *plan, struct fact *why);
void trace_events_free(struct trace_events *events);

/* Begins to count what the run is for, as a source of it. False with the reason. */
bool trace_events_start(struct trace_events *events, struct trace_run *run, struct fact *why);

/* ---- samples.c: what is run in the vDSO ---- */

/*
 * Prepares samples of what the run is for. NULL with the reason in run->trace->sampled. Adds the
 * privileges that are needed on the way to those of the run. Close the result, which may be NULL,
 * with trace_samples_close(). The other functions do nothing with NULL.
 */
struct trace_samples *trace_samples_open(struct trace_run *run);
void trace_samples_close(struct trace_samples *samples);

/* Begins to take samples, as a source of the run. */
void trace_samples_begin(struct trace_samples *samples);

/* ---- callers.c: who makes the calls of the whole host ---- */

/*
 * Adds calls and samples in the vDSO of a process (0: unknown) in the control group of cgroups v2
 * with this ID; 0: in any.
 */
void trace_callers_add(
	const struct trace_run *run, pid_t pid, uint64_t group, uint64_t calls, uint64_t in_vdso);

/*
 * Adds processes to their groups, if groups are listed, and keeps those that spend the most time by
 * calls, of which one takes so many ns, and in the vDSO.
 */
void trace_callers_finish(struct trace_evidence *trace, uint64_t most, double ns_per_call);

/* Frees the list, which is empty then. */
void trace_callers_forget(struct trace_callers *callers);

/* ---- cgroup.c ---- */

/* The root of cgroups v2 has this ID. */
#define CGROUP_ROOT_ID 1

/* Finds the path of a process in the text of its /proc/PID/cgroup. */
bool cgroup_find_path(struct span text, struct span *path);

/* Reads the path of a running process; "": it has ended, or has none. */
void cgroup_read(pid_t pid, char path[CGROUP_SIZE]);

/* Finds the path of a group of cgroups v2 by its ID; "": there is none. */
void cgroup_find(uint64_t id, char path[CGROUP_SIZE]);

/* Does that below this folder. False: it is not there. */
bool cgroup_find_below(const char *root, uint64_t id, char path[CGROUP_SIZE]);

/* Names the unit, the container with the first digits of its ID, and its pod; else the path. */
void cgroup_describe(const char *path, char name[CGROUP_SIZE]);

#endif
