/* SPDX-License-Identifier: MIT */
/* Keeps the places in programs that calls come from, and finds their functions and callers. */
#ifndef VDSOCHECK_TRACE_PLACES_H
#define VDSOCHECK_TRACE_PLACES_H

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
	pid_t process;                       /* 0: one with the map of places_begin() */
	uint64_t registers[STACK_REGISTERS]; /* 0: not known; a function may change it */
	uint32_t size;                       /* bytes of the stack */
	unsigned char bytes[256];
	/* What the kernel found by frame pointers: the instruction, and addresses behind calls. */
#define STACK_CHAIN 8
	uint64_t chain[STACK_CHAIN]; /* 0: no more */
};

/*
 * The calls that are added from now on are those of processes with this memory map, which is
 * copied, and this map of their run-time code, of places_open_map().
 */
void places_begin(struct trace_places *places, struct span maps, size_t perf_map);

/*
 * Add all calls by the instruction before an address, or one that stands for so many, with its
 * stack. `row` is that of the plan, and these times TRACE_ROW_MAX more for 32-bit code, for calls
 * by syscall(2) of libc from this address, and for samples in the vDSO, whose call is not known.
 */
#define PLACES_OF_32_BIT 1
#define PLACES_BY_FUNCTION 2
#define PLACES_BY_SAMPLE 3
void places_add(struct trace_places *places, size_t row, uint64_t calls, uint64_t address);
void places_add_stack(
	struct trace_places *places, size_t row, double weight, const struct stack_sample *sample);

/*
 * Opens what leads to the map of the run-time code of a thread's process. Returns the index of the
 * map; 0: there is no room for it.
 */
size_t places_open_map(struct trace_places *places, pid_t thread);

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
