/* SPDX-License-Identifier: MIT */
/* Keeps stacks that calls were made from, and finds the functions that made the calls. */
#ifndef VDSOCHECK_TRACE_STACK_H
#define VDSOCHECK_TRACE_STACK_H

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
	uint64_t registers[STACK_REGISTERS]; /* 0: not known; a function may change it */
	uint32_t size;                       /* bytes of the stack */
	unsigned char bytes[256];
};

/* The functions that a place has: the one that makes the call, and its callers. */
#define STACK_FRAMES 3

struct stacks;

/*
 * Makes room for stacks of processes with this memory map, which is copied, and the map of their
 * run-time code; NULL begins the list.
 */
struct stacks *stacks_begin(struct stacks *stacks, struct span maps, size_t perf_map);

/* Adds the stack of a call, which stands for so many. */
void stacks_add(
	struct stacks *stacks, size_t row, double weight, const struct stack_sample *sample);

/*
 * Unwinds them in a child, with a limit of time, and takes each: with the addresses behind the
 * calls of its functions, or if they are not known of the one that calls the vDSO alone. A function
 * that is a part of the C library is left out, if another one calls it. Files are below the
 * directory `root`, as for code_open().
 */
typedef void stack_taker(void *argument, size_t row, double weight, const struct maps *maps,
	size_t perf_map, const uint64_t addresses[STACK_FRAMES]);
void stacks_take(const struct stacks *stacks, int root, stack_taker *take, void *argument);

void stacks_free(struct stacks *stacks);

#endif
