/* SPDX-License-Identifier: MIT */
/*
 * Counts the calls into the vDSO: the symbols of a program's vDSO lead to stubs, which count and go
 * on into its functions. 64-bit programs on x86-64 and arm64.
 */
#ifndef VDSOCHECK_TRACE_SERVED_H
#define VDSOCHECK_TRACE_SERVED_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/elf.h"
#include "model.h"

#define SERVED_PAGE 4096

/*
 * If the return address is in this code, the caller's is `up` bytes above on the stack, above the
 * return address on x86-64 and above the stack pointer on arm64; or above where the frame pointer
 * points, if that is less than SERVED_FRAME_MOST bytes above these, or Go's: the stubs read memory
 * of the program's stack only.
 */
struct served_frame {
	uint64_t start;
	uint32_t size;
	uint16_t up;    /* bytes, a multiple of 8, and flags */
	uint16_t frame; /* bytes, from the caller's saved frame pointer up to the return address, 0:
	                   it is in its register; on arm64 from the stack or frame pointer here to
	                   the caller's stack pointer */
};

#define SERVED_BY_POINTER 1
#define SERVED_SAVES_POINTER 2 /* arm64: the caller's frame pointer is below the return address */
#define SERVED_OF_GO 4         /* the frame pointer is that of another stack */

/*
 * No frame is larger. Where call frame information is wrong, this is within what the kernel and C
 * libraries have above a first frame: the environment, a thread's own data, a signal's frame.
 */
#define SERVED_FRAME_MOST 1024

/*
 * The table that the stubs count in, a file in memory that the processes of one executed image
 * share, and that is open here. It begins with this; from SERVED_SHARDS_AT on are SERVED_SHARDS
 * shards of SERVED_SHARD_SIZE bytes, chosen by the stack's address. Each is a hash table of struct
 * served_entry, whose last places go on in the next one; a page is behind the last shard. The stubs
 * have these numbers in their instructions as well.
 */
#define SERVED_CLOCKS 32
#define SERVED_CLOCK_OTHER 24 /* clock ids below are themselves */
#define SERVED_FRAMES 16
#define SERVED_SHARED_AT 2600
struct served_head {
	uint64_t overflows[SERVED_CALL_COUNT * SERVED_CLOCKS]; /* calls without a free entry */
	/* Functions that lead to the call, a caller behind those that it calls; size 0: the end. */
	struct served_frame frames[SERVED_CALL_COUNT][SERVED_FRAMES];
	uint64_t refused[SERVED_CALL_COUNT]; /* system calls in its place that a filter refused */
	uint32_t shared;                     /* not 0 once more than one thread may use the table */
};

#define SERVED_PROBES 16
#define SERVED_SHARDS_AT 4096
#define SERVED_SHARDS 64
#define SERVED_SHARD_SIZE 8192
#define SERVED_TABLE_SIZE (SERVED_SHARDS_AT + SERVED_SHARDS * SERVED_SHARD_SIZE + SERVED_PAGE)

/* The key has the clock in bits 0 to 4, the call in 5 to 7, the return address from 16 on; 0: free.
 */
struct served_entry {
	uint64_t key;
	uint64_t count;
};

/* The bytes from one stub to the next, and of the memory that holds all of them. */
#define SERVED_STUB_SIZE 672 /* clang -O0 assembles every jump long */
#define SERVED_STUBS_SIZE (2 * SERVED_PAGE)

/* Stubs for the address `to` in the program; the place of the last one stays free. */
struct served_stubs {
	unsigned char *code; /* SERVED_STUBS_SIZE bytes, of which the first `used` hold stubs */
	size_t used;
	uint64_t to, table;  /* addresses in the program */
	bool as_if_fallback; /* the stubs make system calls */
};

/*
 * Adds a stub for this function of the vDSO, which is reached by a jump at the address `jump` of
 * the program. Returns its address in the program, or 0 if there is no stub for this architecture
 * or no room.
 */
uint64_t served_stub_make(
	struct served_stubs *stubs, enum served_call call, uint64_t jump, uint64_t target);

/* Writes a jump to a stub, and returns its size: at most SERVED_ROOM for all calls. */
#define SERVED_ROOM 192
size_t served_jump_make(unsigned char *to, uint64_t stub);

/* A vDSO with a larger image is left alone. */
#define SERVED_IMAGE_MAX (64 * SERVED_PAGE)

/* Returns the bytes of the image, by its headers; 0: it makes no sense, or is a 32-bit one. */
size_t served_image_length(const unsigned char *image, size_t size);

/*
 * Returns the place for jumps in an image of which these bytes are mapped: the end of its last
 * page, if nothing is there. 0: there is no room.
 */
size_t served_find_room(const unsigned char *image, size_t size);

/*
 * Makes stubs for the counted functions of such an image, which is at the address `vdso` in the
 * program, and leads their symbols to jumps to the stubs.
 */
void served_stubs_make(
	struct served_stubs *stubs, unsigned char *image, size_t size, uint64_t vdso);

/*
 * INJECTED_GONE: the thread was killed, and its end comes next. INJECTED_BROKEN: it has registers
 * that are not its own, and must not go on.
 */
enum injected { INJECTED, INJECTED_NOT, INJECTED_GONE, INJECTED_BROKEN };

/*
 * Makes the program count its calls, at the stop of a thread at the end of execve(2)
 * (PTRACE_SYSCALL from PTRACE_EVENT_EXEC on), in the open file *table. If not, the reason is in
 * *why, and after INJECTED_NOT the program is as it was.
 */
enum injected served_inject(
	struct trace_evidence *trace, pid_t thread, int *table, struct fact *why);

/* ---- served.c: the tables of a run ---- */

struct served_table;

/* The number of seccomp filters of a process, 0: our own. Linux before 5.9 shows that there are
 * some. */
#define SERVED_SOME_FILTERS UINT64_MAX
uint64_t served_count_filters(pid_t pid);

/*
 * Calls served_inject(), unless the process has more than `around` seccomp filters: its own may end
 * it for our system calls; or it has a limit of address space. *table is NULL without INJECTED, and
 * trace->uncounted is one more, with the reason beside it, if the program goes on.
 */
enum injected served_open(
	struct trace_evidence *trace, pid_t thread, uint64_t around, struct served_table **table);

/*
 * Tries in a child whether a seccomp filter that the program will inherit ends a process for the
 * system calls that are made in its name. False with the reason.
 */
bool served_is_harmless(struct fact *why);

/*
 * Makes the stubs lock what they count in the table, which may be NULL, before more than one thread
 * uses it.
 */
void served_lock(struct served_table *table);

/*
 * Another thread uses the table, which may be NULL, or one does no more: the last adds the counts
 * to the evidence. True: no other thread uses it.
 */
struct served_table *served_share(struct served_table *table);
bool served_drop(struct trace_evidence *trace, struct served_table *table);

/*
 * Reads the memory map of a process at its end, by which places are found, and opens what leads to
 * the map of the code that it made at run time.
 */
void served_end(struct trace_evidence *trace, struct served_table *table, pid_t pid);

/* Returns the map that was read last; empty if `table` is NULL. */
struct span served_maps(const struct served_table *table);

/*
 * Reads the memory map once the libraries are loaded, and finds the frames of their functions; and
 * does so again when a process starts a thread, unless it starts many: java(1) and others load a
 * library of their language at run time. The second table may be NULL.
 */
void served_learn(struct served_table *table, pid_t pid);
void served_learn_thread(struct served_table *table, pid_t pid);

/* ---- frames.c: pure ---- */

/* Functions that read the clock for others, and their frames, which end with one of size 0. */
struct frame_names {
	const char *const *names; /* symbols, in which '*' is any characters; NULL ends them */
	bool are_wrappers;
	struct served_frame *frames; /* SERVED_FRAMES */
};

/*
 * Finds the frames of the functions in a file, by the symbols in the same or another file; `wanted`
 * has at most 1 + SERVED_CALL_COUNT elements. A function has a frame where it calls the vDSO or a
 * function before it, or if it is a wrapper where it calls anything, if its frame is known for
 * sure. Starts are relative to the first byte that is loaded. Returns the number of frames.
 */
size_t frames_find(const struct elf *file, const struct elf *symbols,
	const struct frame_names *wanted, size_t count);

#endif
