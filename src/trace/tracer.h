/* SPDX-License-Identifier: MIT */
/* Declares the tracer of a program: a source of a run, which follows its threads by their stops. */
#ifndef VDSOCHECK_TRACE_TRACER_H
#define VDSOCHECK_TRACE_TRACER_H

#include "count.h"
#include "served.h"

struct traced {
	pid_t id;
	struct served_table *table; /* NULL: its calls into the vDSO are not counted */
	unsigned loading;  /* it stops at so many system calls, or until its libraries are mapped */
	bool has_executed; /* its memory is no longer that of its parent */
	bool was_sent_sigsys; /* by another process */
	struct traced *next;
};

struct tracer {
	struct trace_source source;
	struct trace_run *run;
	bool is_weak;        /* programs do not get the privileges of their files */
	unsigned executions; /* successful execve(2) */
	unsigned options;    /* of ptrace */
	uint64_t filters;    /* of the program that are not its own */
	struct traced *threads;
	struct traced *left; /* that were let go, for their tables */
};

/* ---- ptrace.c ---- */

/*
 * Seizes the program of tracer->run, whose child waits, and becomes a source of the run, which
 * counts its calls into the vDSO. False with the reason.
 */
bool tracer_seize(struct tracer *tracer, struct fact *why);

/* Ends, once the run has ended, and lets go what the program left running. */
void tracer_release(struct tracer *tracer);

/*
 * Finds a thread, or adds it with the table of its parent, which may be NULL. One that was known by
 * its own stop gets the table when its parent stops, which may be as late as after an execve(2) of
 * the child.
 */
struct traced *tracer_add(struct tracer *tracer, pid_t id, const struct traced *parent);

/* Removes a thread that is known, or its table alone. */
void tracer_drop(struct tracer *tracer, pid_t id);
void tracer_drop_table(struct tracer *tracer, struct traced *thread);

/*
 * Lets a thread go on without us, from a stop. Its calls into the vDSO are counted on, and taken
 * when the run is over.
 */
void tracer_let_go(struct tracer *tracer, struct traced *thread, int signal);

/* ---- stops.c ---- */

/* Takes a change of a thread, as the function of the tracer that is the source. */
bool tracer_take_change(struct trace_source *source, pid_t id, int status);

#endif
