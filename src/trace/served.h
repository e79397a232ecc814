/* SPDX-License-Identifier: MIT */
/*
 * Counts the calls into the vDSO: a program gets a copy of the vDSO's image whose functions count
 * and go on into the real ones. 64-bit programs on x86-64 and arm64.
 */
#ifndef VDSOCHECK_TRACE_SERVED_H
#define VDSOCHECK_TRACE_SERVED_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model.h"

/* PTRACE_O_TRACESYSGOOD marks stops at system calls with this bit. */
#define SYSCALL_STOP (SIGTRAP | 0x80)

#define SERVED_PAGE 4096

/* A vDSO with a larger image is not copied. */
#define SERVED_IMAGE_MAX (64 * SERVED_PAGE)

/*
 * The table that the stubs count in, a file in memory that the processes of one executed image
 * share, and that is open here:
 *
 *	0            uint64_t [256]: calls, by call and clock, for which no entry was free
 *	FRAMES_AT    struct served_frame [SERVED_FRAMES] of each call: the C library's functions
 *	             that lead to it, a caller behind those that it calls, and an end of size 0
 *	REFUSED_AT   uint64_t of each call: system calls in its place that a filter refused
 *	SHARDS_AT    SERVED_SHARDS shards of SERVED_SHARD_SIZE bytes, chosen by the stack's address;
 *	             each is a hash table of struct served_entry, with SERVED_PROBES more of them
 *	             behind the last place that a hash gives
 *
 * The stubs have these numbers in their instructions as well.
 */
#define SERVED_OVERFLOWS 256
#define SERVED_CLOCK_OTHER 24 /* clock ids below are themselves */
#define SERVED_PROBES 16
#define SERVED_FRAMES_AT 2048
#define SERVED_FRAMES 8
#define SERVED_REFUSED_AT 3072
#define SERVED_SHARDS_AT 4096
#define SERVED_SHARDS 64
#define SERVED_SHARD_SIZE 32768
#define SERVED_TABLE_SIZE (SERVED_SHARDS_AT + SERVED_SHARDS * SERVED_SHARD_SIZE)

/* The key has the return address in bits 0 to 47, the clock in 48 to 52, the call in 53 to 55; 0:
 * free. */
struct served_entry {
	uint64_t key;
	uint64_t count;
};

/* If the return address is in this code, the caller's is `up` bytes above on the stack. */
struct served_frame {
	uint64_t start;
	uint32_t size;
	uint16_t up;
	uint16_t frame; /* bytes from the stack pointer here to that of the caller; for arm64 */
};

/* They have the numbers that are in a key. */
enum served_call {
	SERVED_CLOCK_GETTIME,
	SERVED_GETTIMEOFDAY,
	SERVED_TIME,
	SERVED_CLOCK_GETRES,
	SERVED_GETCPU,
	SERVED_CALL_COUNT
};

struct served_row {
	const char *name; /* "clock_gettime" */
	bool takes_clock;
	const char *functions[SERVED_FRAMES]; /* the C library's; a caller behind what it calls */
};

extern const struct served_row served_calls[SERVED_CALL_COUNT];

/* Finds the call of "__vdso_time" or "__kernel_time"; SERVED_CALL_COUNT: there is none. */
enum served_call served_find_call(struct span name);

/* The bytes from one stub to the next. */
#define SERVED_STUB_SIZE 512

/*
 * A copy of the vDSO's image for the address `to`: image[] has room for `size` bytes, of which the
 * first `length` hold the image that is at `from` in the program. Its stubs come behind it.
 */
struct served_copy {
	unsigned char *image;
	size_t length, size;
	uint64_t from, to, table; /* addresses in the program */
	bool as_if_fallback;      /* the stubs make system calls */
	size_t end;               /* offset of the next stub */
};

/*
 * Puts a stub for this function of the vDSO at copy->end. Returns the offset of its entry, or 0 if
 * there is no stub for this architecture or no room.
 */
size_t served_stub_make(struct served_copy *copy, enum served_call call, uint64_t target);

/* Functions without a stub stay those of the real vDSO. False if the image makes no sense. */
bool served_copy_make(struct served_copy *copy);

/* Returns the bytes of a copy of an image that is so long: whole pages. */
size_t served_copy_size(size_t length);

/* Returns the bytes of the image, by its headers; 0: it makes no sense. */
size_t served_image_length(const unsigned char *image, size_t size);

/*
 * Gives the program its copy at the stop of a thread at the end of execve(2) (PTRACE_SYSCALL from
 * PTRACE_EVENT_EXEC on). Returns the open table, or -1 with the reason in *why: the program is then
 * as it was. *signal becomes a signal that arrived and has to be delivered, or -errno: the program
 * has registers that are not its own, and cannot go on. The system calls that are made in the
 * program's name are taken off the counts of tracepoints.
 */
int served_inject(struct trace_evidence *trace, pid_t thread, int *signal, struct fact *why);

/* Finds the row of the system call that a thread is in; TRACE_ROW_MAX: there is none. */
size_t served_system_call(const struct trace_plan *plan, pid_t thread);

/*
 * Says at the stop of a thread at a system call whether its C library is loaded; it is not yet used
 * when that becomes true.
 */
bool served_is_loaded(pid_t thread);

/* ---- served.c: the tables of a run ---- */

struct served_table;

/*
 * Calls served_inject(), unless the process runs under more seccomp filters than `filters`: its own
 * may end it for our system calls. NULL: trace->uncounted is one more, with the reason beside it.
 */
struct served_table *served_open(
	struct trace_evidence *trace, pid_t thread, uint64_t filters, int *signal);

/* Say whether the call, or one of the calls in the plan, is one that a vDSO may have. */
bool served_is_call(const char *name);
bool served_has_call(const struct trace_plan *plan);

/*
 * Tries in a child whether a seccomp filter that the program will inherit ends a process for the
 * system calls that are made in its name. False with the reason.
 */
bool served_is_harmless(struct fact *why);

/* Counts the seccomp filters of a process; where the kernel does not, 0 or more if there are any.
 */
uint64_t served_filters(pid_t pid);

/* Another thread uses the table, or one does no more: the last adds the counts to the evidence. */
struct served_table *served_share(struct served_table *table);
void served_drop(struct trace_evidence *trace, struct served_table *table);

/* Reads the memory map of a process, by which its places are found. */
void served_look(struct served_table *table, pid_t pid);

/* Returns the map that was read last; empty if `table` is NULL. */
struct span served_maps(const struct served_table *table);

#define SERVED_PATH_SIZE 256

/* The C library, or program without a shared one, whose frames were looked for last. */
struct served_library {
	char path[SERVED_PATH_SIZE];
	uint64_t inode; /* 0: there was none yet */
	struct served_frame frames[SERVED_CALL_COUNT][SERVED_FRAMES];
};

/* Calls served_look() once the C library is loaded, and finds the frames of its functions. */
void served_learn(struct served_table *table, pid_t pid, struct served_library *library);

/* ---- frames.c: pure ---- */

/*
 * Finds the frames of these functions in the bytes of an ELF file; NULL or SERVED_FRAMES - 1 names
 * end the list. A function has one where it calls the vDSO or a function before it, if its frame is
 * known for sure. Starts are relative to the first byte that is loaded. Returns the number of
 * frames; the one behind them has a size of 0.
 */
size_t frames_find(const unsigned char *bytes, size_t length, const char *const *names,
	struct served_frame *frames);

#endif
