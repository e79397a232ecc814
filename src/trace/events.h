/* SPDX-License-Identifier: MIT */
/*
 * Declares the BPF programs that count system calls, and what they share with us: maps, and the
 * values that are filled into them. Compiled for both sides: without libc's headers.
 */
#ifndef VDSOCHECK_TRACE_EVENTS_H
#define VDSOCHECK_TRACE_EVENTS_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Values that are filled into programs before they are loaded; the first are open files of maps. */
enum event_value {
	EVENT_NUMBERS,  /* array: number of a call -> uint64_t as above, and those below */
	EVENT_COUNTS,   /* array: CPU -> struct event_counts */
	EVENT_FOLLOWED, /* hash: address of the kernel's structure of a thread -> unused */
	EVENT_MAP_COUNT,
	EVENT_TRAITS = EVENT_MAP_COUNT, /* enum event_trait */
	EVENT_PROCESS,                  /* process ID; of the host: ours, which is not counted */
	EVENT_LAST_CPU,                 /* elements of EVENT_COUNTS, a power of two, less one */
	EVENT_DEVICE,                   /* of our PID namespace, as stat(2) has it */
	EVENT_INODE,
	EVENT_VALUE_COUNT
};

/*
 * Number of the reading that goes on; how often a slot got a key; and the number of threads that
 * there was no room to follow.
 */
#define EVENT_READING EVENT_CALLS
#define EVENT_TAKEN (EVENT_CALLS + 1)
#define EVENT_UNFOLLOWED (EVENT_CALLS + 2)
#define EVENT_NUMBER_COUNT (EVENT_CALLS + 3)

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
	EVENTS_IN_NAMESPACE = 16 /* of process IDs that is not the first one of the host */
};

/*
 * Raw tracepoints: sys_enter, sched_process_fork, sched_process_exit and, of the vsyscall page of
 * x86-64, whose calls are no system calls to sys_enter, emulate_vsyscall. EVENT_PERF_ENTER is
 * sys_enter as an event of perf, by which Linux 7 does not preempt the program.
 */
enum event_tracepoint {
	EVENT_ENTER,
	EVENT_PERF_ENTER,
	EVENT_FORK,
	EVENT_EXIT,
	EVENT_PAGE,
	EVENT_TRACEPOINT_COUNT
};

#define EVENT_CODE_MAX 384
#define EVENT_FILL_MAX 40

/* A program as it was compiled, with the instructions that a value is filled into. */
struct event_program {
	uint32_t count, fill_count; /* 0: this machine's registers are not known */
	uint64_t code[EVENT_CODE_MAX];
	struct {
		uint16_t at, value;
	} fills[EVENT_FILL_MAX];
};

/* Writes the program for a tracepoint. Returns the number of instructions; 0: there is none. */
uint32_t event_program_write(enum event_tracepoint tracepoint,
	const uint64_t values[EVENT_VALUE_COUNT], struct bpf_insn code[EVENT_CODE_MAX]);

#endif
