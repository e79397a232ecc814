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

#define SERVED_CLOCKS 32
#define SERVED_CLOCK_OTHER 24 /* clock ids below are themselves */
#define SERVED_SHARDS 64
#define SERVED_COUNTERS (8 * SERVED_CLOCKS) /* of a shard: by call, then by clock */
#define SERVED_RECORDS 2048
#define SERVED_STACK_SIZE 256

/*
 * Where a call comes from: the registers that a function keeps, and the stack from its pointer on,
 * up to the end of the page, or of the first thread's stack.
 */
enum { SERVED_BUSY = 1, SERVED_WHOLE };
struct served_record {
	uint32_t state;  /* SERVED_WHOLE, or not to be read */
	uint32_t which;  /* its counter */
	uint64_t before; /* calls that this had counted before */
#if defined(__aarch64__)
	uint64_t kept[12]; /* x19 to x30 */
#else
	uint64_t kept[6]; /* rbx, rbp, r12 to r15 */
	uint64_t return_address;
#endif
	uint64_t stack_pointer;
	uint64_t size; /* bytes of the stack */
	unsigned char stack[SERVED_STACK_SIZE];
};

/*
 * What the stubs count in: a file in memory that the processes of one executed image share, and
 * that is open here. Any of them may write anything to it.
 */
struct served_file {
	uint64_t refused[8]; /* by call: system calls in its place that a filter refused */
	uint64_t taken;      /* calls that records were taken of, of which some are left */
	uint32_t shared;     /* not 0 once more than one thread may use the file */
	/* Functions of Go's runtime that keep the pointer of their stack in r12 or x20. */
	struct code_range go[TRACE_GO_FUNCTIONS];
	uint64_t stack_end; /* of the first thread; 0: not known */
	unsigned char unused[SERVED_PAGE - 152];
	uint64_t counters[SERVED_SHARDS][SERVED_COUNTERS];
	struct served_record records[SERVED_RECORDS];
};

/* The stubs behind it have pages of their own, also where a page has 16 or 64 KiB (arm64). */
#define SERVED_PAGE_MOST 65536
#define SERVED_FILE_SIZE                                                                           \
	((sizeof(struct served_file) + SERVED_PAGE_MOST - 1) / SERVED_PAGE_MOST * SERVED_PAGE_MOST)

#define SERVED_STACK_MOST                                                                          \
	0x800000 /* bytes of the first thread's stack: nearer to its end is none */

/*
 * A record is taken of each of the first calls of a counter, of one in two of as many that follow,
 * of one in four of twice as many, and so on, and of one in SERVED_SELDOM from SERVED_EARLY on.
 * Returns the N of one in 2^N for the call before which a counter has counted so many.
 */
#define SERVED_FIRST 128
#define SERVED_SELDOM 1024
#define SERVED_EARLY (SERVED_FIRST / 2 * SERVED_SELDOM)
unsigned served_rarity(uint64_t before);

/* The bytes from one stub to the next, and of the memory that holds all of them. */
#define SERVED_STUB_SIZE 768 /* clang -O0 assembles every jump long */
#define SERVED_STUBS_SIZE (2 * SERVED_PAGE)

/* Stubs for the address `to` in the program; the place of the last one stays free. */
struct served_stubs {
	unsigned char *code; /* SERVED_STUBS_SIZE bytes, of which the first `used` hold stubs */
	size_t used;
	uint64_t to, file;   /* addresses in the program, of the code and of struct served_file */
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

/* Words that lead a program into its vDSO, or to jumps to our stubs in place of that. */
#define SERVED_WORDS (2 * SERVED_CALL_COUNT)
struct served_words {
	size_t count;
	uint64_t function[SERVED_WORDS], jump[SERVED_WORDS];
};

/*
 * Makes stubs for the counted functions of such an image, which is at the address `vdso` in the
 * program, and jumps to them, in the room of the image, to which its symbols lead then. If that is
 * 0, the jumps are at the end of the stubs' memory, and the image stays as it is.
 */
void served_stubs_make(struct served_stubs *stubs, unsigned char *image, size_t size, uint64_t vdso,
	size_t room, struct served_words *words);

/*
 * Makes the program count its calls, at the stop of a thread at the end of execve(2)
 * (PTRACE_SYSCALL from PTRACE_EVENT_EXEC on), in the open file *file, which is -1 before. 0 or an
 * errno value: ESRCH if it was killed, else with the reason, and the program is as it was; if that
 * could not be, it is killed.
 */
int served_inject(pid_t thread, bool as_if_fallback, int *file, struct fact *why);

/* Finds a thread that can be stopped: it runs or waits. 0: there is none. */
pid_t served_find_thread(pid_t process);

/*
 * Maps the same into the process of a thread that runs, which is stopped for that moment, and does
 * not lead it there yet: the words that would are in *words. A child of ours does it, and comes to
 * its end without us. False with the reason; the process is as it was then.
 */
bool served_attach(pid_t thread, int *file, struct served_words *words, struct fact *why);

/*
 * Replaces words of a process's memory (an open file) that are `from` by `to`, each pair at its
 * index: in the private data of files with code, by this memory map. Returns how many are `to`
 * then, or a negative errno value.
 */
int64_t served_replace(
	int memory, struct span maps, size_t count, const uint64_t *from, const uint64_t *to);

/* ---- served.c: the tables of a run ---- */

struct served_table;

/*
 * Calls served_inject(), unless the process has more than `around` seccomp filters: its own may end
 * it for our system calls; or it has a limit of address space. Returns NULL if that fails, and
 * trace->missed has one more program, with the reason, if the program goes on.
 */
struct served_table *served_open(struct trace_evidence *trace, pid_t thread, uint64_t around);

/*
 * Says whether the address space of a process is limited, with the reason not to map the counters,
 * which take some that it may need.
 */
bool served_has_limited_space(pid_t pid, struct fact *why);

/* Keeps the table in this open file, which a thread uses. */
struct served_table *served_begin(int file, pid_t thread);

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
 * to the evidence.
 */
struct served_table *served_share(struct served_table *table);
void served_drop(struct trace_evidence *trace, struct served_table *table);

/*
 * Reads the memory map of a process at its end, by which places are found, and opens what leads to
 * the map of the code that it made at run time.
 */
void served_end(struct trace_evidence *trace, struct served_table *table, pid_t pid);

/* Says where the program has functions of Go's runtime, by the begin of its file. */
void served_know_go(struct served_table *table, const struct code_range go[TRACE_GO_FUNCTIONS]);

/* Returns the map that was read last; empty if `table` is NULL. */
struct span served_maps(const struct served_table *table);

/*
 * Reads the memory map, once the libraries are loaded; and does so when a process starts a thread,
 * unless it starts many: java(1) and others load a library at run time. The second table may be
 * NULL.
 */
void served_map(struct served_table *table, pid_t pid);
void served_map_thread(struct served_table *table, pid_t pid);

#endif
