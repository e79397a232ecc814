/* SPDX-License-Identifier: MIT */
/*
 * Declares the BPF programs that count system calls, and the maps that they share with us. The
 * programs are written here instruction by instruction, as our seccomp filters are: no compiler is
 * needed to build them, and what is not wanted in a run is not in its program.
 */
#ifndef VDSOCHECK_TRACE_EVENTS_H
#define VDSOCHECK_TRACE_EVENTS_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model.h"

/* Numbers of system calls are below this; those of x32 have a high bit and are not counted. */
#define EVENT_CALLS 1024

/* Clock ids from this one on, and negative ones, are one: the others. */
#define EVENT_CLOCK_OTHER 24

/* What the map EVENT_WANTED has for a number: two bits for each architecture, and one more. */
#define EVENT_IS_COUNTED 1
#define EVENT_TAKES_CLOCK 2
#define EVENT_COMPAT_SHIFT 2
#define EVENT_EXECUTES 16

enum event_map {
	EVENT_WANTED,   /* array: number of a call -> EVENT_IS_COUNTED and so on */
	EVENT_FOLLOWED, /* hash: address of the kernel's structure of a thread -> unused */
	EVENT_COUNTS,   /* hash: struct event_key -> number of calls */
	EVENT_MAP_COUNT
};

/* A CPU adds to the counts of its own shard. Keys of all zeros but `call` have what did not fit. */
struct event_key {
	uint64_t where;   /* instruction pointer, or ID of the control group, or 0 */
	uint32_t process; /* its ID as we see it; 0: it is of another PID namespace */
	uint32_t call;    /* number | clock << 16 | is 32-bit << 24 | shard << 28 */
};

enum event_scope {
	EVENTS_OF_HOST,    /* by process and control group */
	EVENTS_OF_PROGRAM, /* of a process from its execve(2) on and what it starts, by place */
	EVENTS_OF_PROCESS  /* of a running process and what it starts, by place */
};

#define EVENT_CODE_MAX 160

struct event_program {
	enum event_scope scope;
	bool finds_groups;         /* of the host */
	pid_t process;             /* of the host: ours, which is not counted */
	uint64_t namespace_device; /* of our PID namespace; 0: the first one */
	uint64_t namespace_inode;
	const int *maps; /* open files, by enum event_map */
	size_t count;
	struct bpf_insn code[EVENT_CODE_MAX];
};

/*
 * Write the programs for the raw tracepoints sys_enter, sched_process_fork and sched_process_exit.
 * The first returns false if this machine's registers are not known.
 */
bool event_program_count(struct event_program *program);
void event_program_fork(struct event_program *program);
void event_program_exit(struct event_program *program);

#endif
