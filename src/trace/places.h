/* SPDX-License-Identifier: MIT */
/* Keeps the places in programs that calls come from, and finds their functions and callers. */
#ifndef VDSOCHECK_TRACE_PLACES_H
#define VDSOCHECK_TRACE_PLACES_H

#include "base/time.h"
#include "files.h"
#include "model.h"

/* Registers by DWARF's numbers, of which the last one here is the place of the instruction. */
#if defined(__aarch64__)
#define STACK_REGISTERS 33
#define STACK_POINTER 31
#else
#define STACK_REGISTERS 17
#define STACK_POINTER 7
#endif
#define STACK_PLACE (STACK_REGISTERS - 1)

/* A thread in a function, at an instruction of it: its registers, and the stack from its end on. */
struct stack_sample {
	pid_t process;                       /* whose map is not known yet; 0: it is */
	uint64_t registers[STACK_REGISTERS]; /* 0: not known; a function may change it */
	uint32_t size;                       /* bytes of the stack */
	unsigned char bytes[256];
	/* What the kernel found by frame pointers: the instruction, and addresses behind calls. */
#define STACK_CHAIN 8
	uint64_t chain[STACK_CHAIN]; /* 0: no more */
};

/* The memory map of some processes. */
struct image {
	struct image *next;
	struct span text; /* owned */
	struct maps maps; /* of the text */
	size_t perf_map;  /* of their run-time code, with the root of their files; 0: none */
};

/* Two calls are at the same place only if their kind and their row of the plan are the same. */
struct place_call {
	enum place_kind {
		PLACE_OF_CALL,
		PLACE_OF_32_BIT,   /* a system call by 32-bit code */
		PLACE_BY_FUNCTION, /* a system call by syscall(2) of libc, from where that is called
		                    */
		PLACE_BY_SAMPLE    /* a sample in the vDSO: the row is 0, since no call is known */
	} kind;
	size_t row;
};

/*
 * Keep a memory map: a copy of this one with this map of run-time code, of places_open_map(), or
 * that of a process that runs, by default as it is now. The latter returns `known`, which may be
 * NULL, if that is the same, or if the process has ended.
 */
const struct image *places_keep(struct trace_places *places, struct span maps, size_t perf_map);
const struct image *places_keep_process(struct trace_places *places, pid_t process,
	const struct span *maps, const struct image *known);

/*
 * Add all calls by the instruction before an address of an image, or one that stands for so many,
 * with its stack. Without an image (NULL) nothing is known of the address.
 */
void places_add(struct trace_places *places, const struct image *image, struct place_call call,
	uint64_t calls, uint64_t address);
void places_add_stack(struct trace_places *places, const struct image *image,
	struct place_call call, double weight, const struct stack_sample *sample);

/*
 * Opens what leads to the map of the run-time code of a thread's process. Returns the index of the
 * map; 0: there is no room for it.
 */
size_t places_open_map(struct trace_places *places, pid_t thread);

/* At the end of a run, memory maps of processes are read for so long. */
#define PLACES_READING_NS NS_PER_SECOND

/*
 * Reads the memory maps of the processes that the most stacks are of, at most so many and while
 * they run; those of a former process or program with the ID have no place.
 */
void places_read_maps(struct trace_places *places, uint64_t most);

/* Opens the root of a running process, which takes privileges: files of places are below it. */
void places_open_root(struct trace_places *places, pid_t pid);

/* Makes both lists, of the `top` places with the most calls, and finds their functions. */
void places_finish(struct trace_evidence *trace, uint64_t top);

/* Frees the places, of which there are none then. */
void places_free(struct trace_places *places);

#endif
