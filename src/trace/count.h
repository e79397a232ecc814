/* SPDX-License-Identifier: MIT */
/*
 * Declares the ways of counting and their parts: a program that is inspected, a run with one loop
 * for processes, signals and time, and what counts in it.
 */
#ifndef VDSOCHECK_TRACE_COUNT_H
#define VDSOCHECK_TRACE_COUNT_H

#include "base/privileges.h"
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

/* Makes the table of the calls of this host, and proves whether the vDSO serves them. */
void trace_host_prove(const struct root *root, struct evidence *host, struct call_table *calls);

/*
 * Measures what the calls of the table cost, as system calls and in the vDSO: those that the
 * program made, or for what runs already all of them. Leaves the others out of the table.
 */
void trace_host_time(struct trace_evidence *trace, struct call_table *calls);

/* Returns the number of CPUs that this kernel may have: the last one's number, and one. */
size_t trace_host_cpus(void);

/* Returns the version of the kernel, in this form. */
#define KERNEL(major, minor) ((major) << 16 | (minor))
unsigned long trace_host_kernel(void);

/* ---- run.c: the loop of a run, and what counts in it ---- */

/*
 * Something that counts while a run goes on, the first member of what it is part of. The run asks
 * its sources, and these do not know each other. Functions may be NULL.
 */
struct trace_source {
	/* Is called when the time begins. */
	void (*start)(struct trace_source *source);

	/* Takes a change of a child or traced thread. False: it waits for no other. */
	bool (*change)(struct trace_source *source, pid_t id, int status);

	/* Does what is due. Returns the ns until it wants to be called again; it may be sooner. */
	int64_t (*tick)(struct trace_source *source);

	/*
	 * Keeps what it needs of the memory of a process that is about to end, or (maps) has
	 * executed another program. Its map was this one before, which may be empty.
	 */
	void (*take)(struct trace_source *source, pid_t ending, const struct span *maps);

	/* Is called when the time ends: it counts no more, whatever takes long from then on. */
	void (*stop)(struct trace_source *source);

	/* Takes what is left, and frees the source. */
	void (*finish)(struct trace_source *source);

	struct trace_source *next; /* of the run */
};

struct trace_run {
	struct trace_evidence *trace;
	uint64_t privileges; /* needed after the run, see base/privileges.h */
	struct trace_source *sources;
	pid_t program;  /* was started, and gets SIGTERM at the end of the time; 0: none is left */
	int status;     /* of waitpid(), once the program has ended */
	bool is_traced; /* the program stops for its tracer */
	int stopped_by; /* the signal by which the program is stopped; 0: it runs */
	struct deadline stopped; /* until we stop, too */
	bool is_over;            /* nothing that outlives the program is waited for */
	struct deadline deadline;
	int64_t begin_ns;   /* of CLOCK_MONOTONIC */
	double begin_cpu_s; /* of a process that ran already */
};

void trace_run_add(struct trace_run *run, struct trace_source *source);

/* Calls the functions of all sources. */
void trace_run_take(struct trace_run *run, pid_t ending, const struct span *maps);

/*
 * Begins the time. From now on signals are passed to the program, or end the run if there is none.
 */
void trace_run_begin(struct trace_run *run);

/*
 * Waits until the run is over and there is no program. 0, or an errno value: ECHILD if a program
 * was started and nothing is left to wait for.
 */
int trace_run_wait(struct trace_run *run);

/* Sets the duration and the CPU time, and takes all that was counted: the run has no sources then.
 */
void trace_run_end(struct trace_run *run);

/*
 * Reads a clock by a timer, since a seccomp filter may end a process for clock_gettime(2). Returns
 * ns, or 0 if that was refused, too.
 */
int64_t trace_clock_ns(clockid_t clock);

/* ---- signals.c: signals while a program runs ---- */

/* From now on they are caught, or do what they did before. */
void trace_signals_catch(void);
void trace_signals_release(void);

/*
 * Passes on the signals that are due, and stops us if the program is stopped. Returns the ns until
 * it wants to be called again, which may be sooner.
 */
int64_t trace_signals_pass(struct trace_run *run);

/* Notes that the program gets a signal, which this process or (0) the kernel sent to it. */
void trace_signals_note(int number, pid_t sender);

/* Notes a stop of the first thread of the program, by the status of wait4(2). */
void trace_signals_note_stop(struct trace_run *run, int status);

/* Says whether the signal stops a process by default. */
bool trace_signals_stop(int number);

/* ---- started.c: a program that is started ---- */

/*
 * Runs the program until it and what it left running has ended, and fills in counts,
 * duration and CPU time. If its calls cannot be counted, it runs as it would without us, but not as
 * if this host fell back, a question that such a run would not answer. All capabilities are given
 * up that are not needed. Sets *error to that of execve(2), or 0. False with the reason in *why if
 * it was not started.
 */
bool trace_started(struct trace_run *run, int *error, struct fact *why);

/* ---- tracer.c: the source of the calls of a started program into the vDSO ---- */

/*
 * Seizes the program of the run, whose child waits, and follows it. What it leaves running is let
 * go when the run ends. False with the reason in run->trace->served.
 */
bool trace_tracer_open(struct trace_run *run);

/* ---- running.c: what runs already ---- */

/*
 * Counts the calls of the running process trace->program.pid and of the children that it starts,
 * until the run is over or the process ends, or those of the whole host, and fills in
 * trace->callers and trace->sampled, too. If only samples of the process could be taken,
 * trace->counted says why. False with the reason in trace->counted.
 */
bool trace_running(struct trace_run *run);

/* ---- events.c, samples.c: the sources by BPF programs and by the cpu-clock ---- */

/*
 * Begin to count what the run is for: its system calls and what is run in the vDSO, or that alone,
 * as this BPF program (an open file, or -1) chooses, or of one process. Add to the run the
 * privileges that this takes on the way. False with the reason, which is in run->trace->sampled for
 * samples.
 */
bool trace_events_open(struct trace_run *run, struct fact *why);
bool trace_samples_open(struct trace_run *run, int program);

/* ---- exact.c: the source of the calls of a running process into the vDSO ---- */

/*
 * Maps counters into the process, and leads its calls through them while the run lasts. False with
 * the reason in run->trace->served.
 */
bool trace_exact_open(struct trace_run *run);

/* ---- callers.c: who makes the calls of the whole host ---- */

/*
 * Finds or adds a process (0: unknown) in the control group of cgroups v2 with this ID; 0: in any.
 * `name` is what it was called; "": not known. It is valid until the next one is added.
 */
struct trace_caller *trace_callers_add(
	const struct trace_run *run, pid_t pid, uint64_t group, const char *name);

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

/* Finds the path of a group of cgroups v2 by its ID, which takes a privilege; "": there is none. */
#define PRIVILEGES_FIND_GROUP PRIVILEGES(CAP_DAC_READ_SEARCH)
void cgroup_find(uint64_t id, char path[CGROUP_SIZE]);

/* Names the unit, the container with the first digits of its ID, and its pod; else the path. */
void cgroup_describe(const char *path, char name[CGROUP_SIZE]);

#endif
