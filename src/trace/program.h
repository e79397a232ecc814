/* SPDX-License-Identifier: MIT */
/* The program to be counted: found, looked at, and started in a child that waits for us. */
#ifndef VDSOCHECK_TRACE_PROGRAM_H
#define VDSOCHECK_TRACE_PROGRAM_H

#include <sys/resource.h>

#include "model.h"

/* As env(1), timeout(1) and shells have them. */
#define STATUS_TROUBLE 125
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127

/*
 * Finds the file that execvp(3) would run. 0, STATUS_NOT_FOUND or STATUS_NOT_EXECUTABLE, and
 * errno for it.
 */
int trace_program_find(const char *name, struct trace_program *program);

/* Reads from the file at program->file whether it is static or 32-bit, if it is an ELF file. */
void trace_program_inspect(struct trace_program *program);

/* What /proc shows of the running process program->pid, its file included. */
void trace_program_inspect_process(struct trace_program *program);

/* Sets duration and CPU time of a program that has ended; started at this CLOCK_MONOTONIC. */
void trace_set_used(struct trace_evidence *trace, int64_t start_ns, const struct rusage *usage);

/* A moment in a running process's life. */
struct trace_moment {
	int64_t ns; /* of CLOCK_MONOTONIC */
	bool cpu_known;
	double cpu_s; /* used so far, by all its threads */
};

struct trace_moment trace_moment_now(pid_t pid);

/* Sets duration and CPU time of trace->program since then. */
void trace_set_used_since(struct trace_evidence *trace, const struct trace_moment *start);

/* A child that waits to become the program. */
struct trace_start {
	pid_t pid;
	int go;      /* a byte written to it lets the child go on */
	int failure; /* the errno of what went wrong in the child; closed by execve() */
	int error;   /* of trace_start_go(): the child was killed */
};

/*
 * Forks. The child waits for trace_start_go(), calls prepare(argument), if there is one, which
 * returns 0 or an errno value, and becomes the program. False with the reason.
 */
bool trace_start_fork(const struct trace_program *program, char *const *arguments,
	int (*prepare)(void *argument), void *argument, struct trace_start *start,
	struct fact *why);

/* Lets the child go on; trace_start_result() has to follow. */
void trace_start_go(struct trace_start *start);

/* Ends the child instead. */
void trace_start_cancel(struct trace_start *start);

/* What went wrong: a step and an errno value. Zero: nothing, the program runs. */
struct trace_failure {
	bool preparing; /* for counting, or following it; else execve() */
	int error;
};

struct trace_failure trace_start_result(struct trace_start *start);

#endif
