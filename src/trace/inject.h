/* SPDX-License-Identifier: MIT */
/* System calls in the name of a stopped thread, and what is mapped into its process by them. */
#ifndef VDSOCHECK_TRACE_INJECT_H
#define VDSOCHECK_TRACE_INJECT_H

#include "registers.h"
#include "served.h"

struct target {
	struct trace_evidence *trace;
	pid_t thread;
	struct registers before;
	uint64_t instruction; /* that makes a system call */
	bool was_stopped;     /* with its process, which is stopped still or was continued */
	unsigned char *image; /* of its vDSO, at this address in the program */
	uint64_t vdso;
	size_t size; /* of the image, and of what is mapped behind it */
};

/* Lets the thread go on to its next stop at a system call. False if it ended instead. */
bool inject_go_on(struct target *target);

/* Makes the system call in the program's name. Returns its result, or a negative errno value. */
int64_t inject_call(struct target *target, const char *name, const uint64_t arguments[6]);
#define CALL(target, name, ...) inject_call(target, name, (const uint64_t[6]){__VA_ARGS__})

/* Reads the image of the vDSO, and finds the instruction. 0 or an errno value. */
int inject_read_vdso(struct target *target);

/*
 * Map the stubs, and the table at this address or, if that is 0, at any. Return the address there,
 * or a negative errno value.
 */
int64_t inject_map_stubs(struct target *target);
int64_t inject_map_table(struct target *target, uint64_t stubs, uint64_t at, int *table);

/*
 * Writes to the program's memory, also where it may not write itself, the words from the first to
 * the last one in which `now` differs from `before`. False: see errno.
 */
bool inject_write(pid_t thread, uint64_t to, const unsigned char *before, const unsigned char *now,
	size_t length);

/* Sets the registers and signals to those before. 0 or an errno value. */
int inject_restore(const struct target *target, const sigset_t *mask);

/* Says why the counters were not mapped. */
void inject_explain(int error, struct fact *why);

#endif
