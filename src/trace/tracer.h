/* SPDX-License-Identifier: MIT */
/* Declares the tracer of a program, its threads and their stops. */
#ifndef VDSOCHECK_TRACE_TRACER_H
#define VDSOCHECK_TRACE_TRACER_H

#include <sys/resource.h>

#include "count.h"
#include "served.h"

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

/* ---- threads.c ---- */

/* Finds a thread; NULL: it is not known. */
struct traced *tracer_find(const struct tracer *tracer, pid_t id);

/*
 * Adds a thread with the table of its parent, which may be NULL. One that was known by its own stop
 * gets the table when its parent stops, which may be as late as after an execve(2) of the child.
 */
void tracer_add(struct tracer *tracer, pid_t id, const struct traced *parent);

/* Removes a thread that is known, or its table alone. */
void tracer_drop(struct tracer *tracer, pid_t id);
void tracer_drop_table(struct tracer *tracer, struct traced *thread);

/*
 * Lets a thread go on without us, from a stop. Its calls into the vDSO are counted on, and taken
 * when the run is over.
 */
void tracer_let_go(struct tracer *tracer, struct traced *thread, int signal);

/* Ends the processes that the program left running, within a time. */
void tracer_terminate(struct tracer *tracer);

/* Forgets all threads. */
void tracer_forget(struct tracer *tracer);

/*
 * Has the calls of a program into the vDSO counted, at a stop of a thread, which may be NULL, at a
 * system call.
 */
void tracer_count_served(struct tracer *tracer, struct traced *thread);

/* ---- stops.c ---- */

/* Takes a change of a thread, of which the tracer is the source. */
bool tracer_take_change(struct trace_source *source, pid_t id, int status);

#endif
