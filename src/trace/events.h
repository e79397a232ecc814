/* SPDX-License-Identifier: MIT */
/* Declares the BPF programs that count system calls, and the maps that they share with us. */
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

/*
 * The map EVENT_NUMBERS has these bits for a number twice: for 64-bit code, and EVENT_COMPAT_SHIFT
 * bits above that for 32-bit code. From EVENT_INDEX_SHIFT on there is an index below EVENT_INDEXES;
 * a call that takes a clock has one for each clock, the first of which this is.
 */
#define EVENT_IS_COUNTED 1
#define EVENT_TAKES_CLOCK 2
#define EVENT_EXECUTES 4
#define EVENT_INDEX_SHIFT 8
#define EVENT_INDEXES 128
#define EVENT_COMPAT_SHIFT 32

enum event_map {
	EVENT_NUMBERS,  /* array: number of a call -> uint64_t as above, and the two below */
	EVENT_COUNTS,   /* array: CPU -> struct event_counts */
	EVENT_FOLLOWED, /* hash: address of the kernel's structure of a thread -> unused */
	EVENT_MAP_COUNT
};

/* Number of the reading that goes on; and of the threads that there was no room to follow. */
#define EVENT_READING EVENT_CALLS
#define EVENT_UNFOLLOWED (EVENT_CALLS + 1)
#define EVENT_NUMBER_COUNT (EVENT_CALLS + 2)

#define EVENT_FOLLOWED_MAX 32768

/* The calls of a process with this index, and from one place or of one control group. */
struct event_slot {
	/*
	 * The process ID as we see it, 0 for one of another PID namespace, and 32 bits above that
	 * EVENT_IS_COMPAT or 0 | index.
	 */
	uint64_t key;
	uint64_t where; /* instruction pointer, or ID of the control group, or 0 */
	uint64_t count; /* of these calls and those that the slot was for before */
	uint64_t last;  /* EVENT_READING at the last of them */
};

#define EVENT_IS_COMPAT EVENT_INDEXES

/*
 * A hash table: a key is in one of the EVENT_PROBES slots from the one that its hash says, and
 * takes one that had no call for EVENT_IDLE readings, the last but one of which has read all.
 */
#define EVENT_SLOT_BITS 10
#define EVENT_PROBES 8
#define EVENT_SLOTS ((1 << EVENT_SLOT_BITS) + EVENT_PROBES)
#define EVENT_IDLE 3

/* The counts of a CPU. A key may be in two slots, which are added up. */
struct event_counts {
	uint64_t rest[2 * EVENT_INDEXES]; /* by call: those that no slot was free for */
	struct event_slot slots[EVENT_SLOTS];
};

/* What is counted; one of the first three, with others. */
enum event_trait {
	EVENTS_OF_HOST = 1,    /* by process */
	EVENTS_OF_PROGRAM = 2, /* of a process from its execve(2) on and what it starts, by place */
	EVENTS_OF_PROCESS = 4, /* of a running process and what it starts, by place */
	EVENTS_BY_GROUP = 8,   /* of the host, by control group, too */
	EVENTS_IN_NAMESPACE = 16, /* of process IDs that is not the first one of the host */
	EVENTS_BY_PAGE = 32       /* of EVENT_PAGE */
};

#define EVENT_CODE_MAX 224

struct event_program {
	int traits;
	pid_t process; /* of the host: ours, which is not counted */
	uint64_t namespace_device, namespace_inode;
	uint32_t cpus;   /* elements of EVENT_COUNTS, a power of two */
	const int *maps; /* open files, by enum event_map */
	size_t count;
	struct bpf_insn code[EVENT_CODE_MAX];
};

/*
 * Raw tracepoints: sys_enter, sched_process_fork, sched_process_exit and, of the vsyscall page of
 * x86-64, whose calls are no system calls to sys_enter, emulate_vsyscall.
 */
enum event_tracepoint { EVENT_ENTER, EVENT_FORK, EVENT_EXIT, EVENT_PAGE, EVENT_TRACEPOINT_COUNT };

/* Writes the program for a tracepoint; false: this machine's registers are not known. */
bool event_program_write(struct event_program *program, enum event_tracepoint tracepoint);

#endif
