/* SPDX-License-Identifier: MIT */
/* System calls in the name of a stopped thread, and what is mapped into its process by them. */
#ifndef VDSOCHECK_TRACE_INJECT_H
#define VDSOCHECK_TRACE_INJECT_H

#include <signal.h>

#include "registers.h"
#include "served.h"

struct target {
	pid_t thread;
	bool as_if_fallback; /* the stubs make system calls */
	struct registers before;
	sigset_t mask;
	uint64_t instruction; /* that makes a system call */
	bool was_stopped;     /* with its process, which is stopped still or was continued */
	/* Of its vDSO, at this address in the program, and behind that room for a changed one. */
	unsigned char *image;
	uint64_t vdso;
	size_t size; /* of the image, and of what is mapped behind it */
};

/* Makes a target of a thread without registers, with memory for the image. */
struct target inject_target(pid_t thread);

/* Lets the thread go on to its next stop at a system call. False if it ended instead. */
bool inject_go_on(struct target *target);

/*
 * Blocks the thread's signals, and sets these and the registers to those before. 0 or an errno
 * value.
 */
int inject_block(struct target *target);
int inject_restore(const struct target *target);

/* Reads the image of the vDSO, and finds the instruction. 0 or an errno value. */
int inject_read_vdso(struct target *target);

/*
 * Maps the file of the counters, and the stubs unless these are at the address `left`, by system
 * calls in the thread's name. Makes the stubs with jumps in the room of the image, to which the
 * symbols of the vDSO lead then, or without. 0 or an errno value, and nothing is mapped.
 */
int inject_counters(
	struct target *target, uint64_t left, size_t room, struct served_words *words, int *file);

/* Writes whole words to the program's memory, also where it may not itself. False: see errno. */
bool inject_write(pid_t thread, uint64_t to, const void *bytes, size_t length);

/* Says why the counters were not mapped. */
void inject_explain(int error, struct fact *why);

#endif
