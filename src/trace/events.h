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
 * The number of a call has these bits twice: for 64-bit code, and EVENT_COMPAT_SHIFT bits above
 * that for 32-bit code. From EVENT_INDEX_SHIFT on there is an index below EVENT_INDEXES; a call
 * that takes a clock has one for each clock, the first of which this is.
 */
#define EVENT_IS_COUNTED 1
#define EVENT_TAKES_CLOCK 2
#define EVENT_EXECUTES 4
#define EVENT_INDEX_SHIFT 8
#define EVENT_INDEXES 128
#define EVENT_COMPAT_SHIFT 32

/* Values that are filled into the program before it is loaded; the first are open files of maps. */
enum event_value {
	EVENT_SHARED,    /* array of one: struct event_shared */
	EVENT_COUNTS,    /* hash: struct event_key -> uint64_t */
	EVENT_PROCESSES, /* hash: process ID as we see it, or 0 -> struct event_process */
	EVENT_FOLLOWED,  /* hash: address of the kernel's structure of a thread -> its image */
	EVENT_KEPT,      /* array of one: of each CPU, struct event_slot[EVENT_SLOTS] */
	EVENT_MAP_COUNT,
	EVENT_HOOK = EVENT_MAP_COUNT, /* enum event_hook */
	EVENT_TRAITS,                 /* enum event_trait */
	EVENT_PROCESS,                /* process ID; of the host: ours, which is not counted */
	EVENT_DEVICE,                 /* of our PID namespace, as stat(2) has it */
	EVENT_INODE,
	EVENT_VALUE_COUNT
};

/* Counts samples in the vDSO, in place of a call. */
#define EVENT_IN_VDSO (EVENT_INDEXES - 1)

/* An address is in the vDSO if so many bytes there are those of the vDSO in the same place of a
 * page. */
#define EVENT_VDSO_PAGE 4096
#define EVENT_VDSO_PAGES 4
#define EVENT_VDSO_WORDS 4
#define EVENT_VDSO_SIZE (EVENT_VDSO_PAGES * EVENT_VDSO_PAGE + EVENT_VDSO_WORDS * 8)

/* All CPUs share this value. */
struct event_shared {
	uint64_t calls[EVENT_CALLS];      /* what is wanted, by the number of a call */
	uint64_t rest[2 * EVENT_INDEXES]; /* calls that had no room in EVENT_COUNTS */
	uint64_t unfollowed;              /* threads that there was no room to follow */
	uint64_t samples;                 /* of the CPUs, in what is counted */
	uint64_t samples_of_others;       /* of another process than EVENT_PROCESS */
	uint64_t samples_compat;          /* in 32-bit code, whose vDSO is another */
	uint64_t changes;                 /* of EVENT_FOLLOWED: what is kept is right until then */
	unsigned char vdso[EVENT_VDSO_SIZE]; /* ours: each process has the same bytes */
};

#define EVENT_FOLLOWED_MAX 32768
#define EVENT_PROCESSES_MAX 16384
#define EVENT_KEYS_BY_CPU 4096

/*
 * A number of the memory that a process has from its execve(2) on, and its children until theirs: 0
 * for that of the begin, else the low bits are the ID of the process. The kernel's limit for these
 * is PID_MAX_LIMIT, 22 bits.
 */
#define EVENT_IMAGE_SHIFT 22

/*
 * Calls with this index, and from one place or of one control group. No other CPU adds to the same
 * count. A hash that has a part for each CPU would be as good, but takes 10 ms to make.
 */
struct event_key {
	uint64_t image;
	uint64_t where; /* instruction pointer, or ID of the control group, or 0 */
	uint16_t call;  /* EVENT_IS_COMPAT, EVENT_BY_FUNCTION or 0 | index */
	uint16_t cpu;
	uint32_t maker; /* of the host: ID of the process; else 1: another than EVENT_PROCESS */
};

#define EVENT_IS_COMPAT EVENT_INDEXES

/* It was made by syscall(2) of glibc, and `where` is the address that this returns to. */
#define EVENT_BY_FUNCTION (2 * EVENT_INDEXES)

/* A process that made calls, when one of its threads began to. */
struct event_process {
	uint64_t image;
	uint64_t group;   /* ID of the control group, where calls are counted by it */
	uint64_t name[2]; /* a string, as the kernel has it */
};

/*
 * What a CPU keeps of the last thread and key with the same hash: the thread is looked for once,
 * and the calls are in no other table yet.
 */
struct event_slot {
	uint64_t task, changes;
	struct event_key key;
	uint64_t count;
	uint32_t process;
	uint16_t is_followed;
	uint16_t is_function; /* key.where is behind the call of glibc's syscall(2): none is here */
};

#define EVENT_SLOTS (1 << (64 - EVENT_SLOT_SHIFT))
#define EVENT_SLOT_SHIFT 57

/* What is counted; one of the first three, with others. */
enum event_trait {
	EVENTS_OF_HOST = 1,    /* by process */
	EVENTS_OF_PROGRAM = 2, /* of a process from its execve(2) on and what it starts, by place */
	EVENTS_OF_PROCESS = 4, /* of a running process and what it starts, by place */
	EVENTS_BY_GROUP = 8,   /* of the host, by control group, too */
	EVENTS_IN_NAMESPACE = 16 /* of process IDs that is not the first one of the host */
};

/*
 * Where the program runs: at the raw tracepoints sys_enter, sched_process_fork, _exec and _exit
 * and, of the vsyscall page of x86-64, whose calls are no system calls to sys_enter,
 * emulate_vsyscall. EVENT_PERF_ENTER is sys_enter as an event of perf, by which Linux 7 does not
 * preempt the program; EVENT_SAMPLE is that of the cpu-clock, a timer of the kernel.
 */
enum event_hook {
	EVENT_ENTER,
	EVENT_PERF_ENTER,
	EVENT_FORK,
	EVENT_EXEC,
	EVENT_EXIT,
	EVENT_PAGE,
	EVENT_SAMPLE,
	EVENT_HOOK_COUNT
};

#define EVENT_CODE_MAX 1024

/* The program as it was compiled. */
struct event_program {
	uint32_t count;
	uint64_t code[EVENT_CODE_MAX];
};

/* Marks an instruction that loads a value, by a register that there is not. */
#define EVENT_FILL(value) ((uint64_t)EVENT_FILL_REGISTER << 12 | (uint64_t)(value) << 32)
#define EVENT_FILL_REGISTER 15

/* Writes the program. Returns the number of instructions; 0: this machine's registers are not
 * known. */
uint32_t event_program_write(
	const uint64_t values[EVENT_VALUE_COUNT], struct bpf_insn code[EVENT_CODE_MAX]);

#endif
