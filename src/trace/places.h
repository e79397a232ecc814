/* SPDX-License-Identifier: MIT */
/* Finds the places in a program that calls come from, by addresses and memory maps. */
#ifndef VDSOCHECK_TRACE_PLACES_H
#define VDSOCHECK_TRACE_PLACES_H

#include "files.h"
#include "model.h"

/* A process that calls come from. */
struct place_process {
	const struct maps *maps;
	int jitted;     /* of jitted_open(), or -1; it is -1 if the places have taken it */
	uint64_t owner; /* of call sites, whose map is opened when it is needed; 0: none */
	pid_t pid;
	bool has_file; /* of jitted.c */
	size_t file;
};

/*
 * Adds calls by the instruction before this address; `calls` has their count and row, and whether
 * they are by 32-bit code. Returns the index of the place, or of a site of code that was made at
 * run time.
 */
size_t places_add(struct trace_places *places, const struct trace_place *calls,
	struct place_process *process, uint64_t address, bool *is_jitted);

/*
 * Does so for a thread (0: not known) whose memory map is `maps`, or if that is NULL is read.
 * `owner` is the same number for threads with the same memory: the place of an address is looked up
 * once.
 */
void call_sites_add(struct trace_places *places, const struct trace_place *calls, uint64_t owner,
	pid_t thread, const struct span *maps, uint64_t address);

/* The memory of an owner is another one from now on; `places` may be NULL. */
void call_sites_forget(struct trace_places *places, uint64_t owner);

/* Keeps the `top` places of both lists with the most calls, and finds their functions. */
void places_finish(struct trace_evidence *trace, uint64_t top);

/* Opens the root of a running process, which takes privileges: files of places are below it. */
void places_open_root(struct trace_places *places, pid_t pid);

void places_free(struct trace_places *places);

#endif
