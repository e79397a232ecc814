/* SPDX-License-Identifier: MIT */
/* Unwinds stacks, and names functions and source lines, in a child that reads the files. */
#ifndef VDSOCHECK_TRACE_FRAMES_H
#define VDSOCHECK_TRACE_FRAMES_H

#include "places.h"

/* One call or more from a place. */
struct stack {
	const struct image *image;
	struct place_call call;
	double weight;
	bool is_exact; /* so many were counted */
	struct stack_sample sample;
};

/* The functions of a place: the one that makes the call, and its callers. */
#define PLACE_FRAMES (1 + ARRAY_SIZE(((struct trace_place *)NULL)->callers))

/* Where a stack comes from. */
struct found {
	const struct place_mapping *mapping; /* of the instruction; NULL: there is none */
	uint64_t at;                         /* of the instruction, in the process */
	uint64_t address;                    /* the same in the file; 0: there is none */
	char names[PLACE_FRAMES]
		  [sizeof(((struct trace_place *)NULL)->function)]; /* "": not known */
};

/*
 * Begins to read what these lead to: the files of code are below the directory `root` (0: ours),
 * and perf_maps[0] is none. Without libdw the stacks are not unwound, and run-time code alone has
 * names.
 */
void frames_begin(int root, const struct perf_map *perf_maps);

/*
 * Finds the functions of a stack, whose instruction is set: the one that calls the C library or the
 * vDSO, and its callers up to those that start a program; or without a caller the C library's.
 */
void frames_find(const struct stack *stack, struct found *found);

/* Finds the source line of the instruction. */
void frames_find_source(
	const struct stack *stack, const struct found *found, struct place_source *source);

/*
 * Writes the name of a function without its parameters, "std::time::Instant::now"; another symbol
 * is copied as it is. Copies as text_clean_span() does.
 */
void name_read(struct span symbol, char *to, size_t size);

#endif
