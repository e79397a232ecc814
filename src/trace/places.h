/* SPDX-License-Identifier: MIT */
/* The places in a program that calls come from, by addresses and memory maps. */
#ifndef VDSOCHECK_TRACE_PLACES_H
#define VDSOCHECK_TRACE_PLACES_H

#include "base/text.h"
#include "model.h"

/* The memory map of a thread's process, as text; free it. Empty: the thread has ended. */
struct span maps_read(pid_t thread);

/* A line of it. */
struct map_line {
	uint64_t start, end, offset, inode;
	struct span path;
};

/* Takes the next line; those that make no sense are skipped. */
bool map_next(struct span *maps, struct map_line *map);

/* Whether the file is a C library by its name. */
bool map_is_c_library(struct span path);

/*
 * Adds `count` calls by the instruction before this address in the process with this memory map;
 * `place` has the row and what else is known of them. Returns the index of the place.
 */
size_t places_add(struct trace_places *places, const struct trace_place *place, struct span maps,
	pid_t pid, uint64_t address, uint64_t count);

/* Keeps the `top` places of both lists with the most calls, and finds their functions. */
void places_finish(struct trace_evidence *trace, size_t top);

/*
 * The system calls of a run are added by the address behind their instruction. What an address is
 * in a process is read from its memory map once, while it is there.
 */
struct call_sites;

struct call_sites *call_sites_start(struct trace_places *places);

/*
 * `owner` is the same number for threads with the same memory. `maps` is read from the thread if
 * that is empty.
 */
void call_sites_add(struct call_sites *sites, const struct trace_place *place, uint64_t owner,
	pid_t thread, struct span maps, uint64_t address, uint64_t count);

/* The memory of an owner is another one from now on. */
void call_sites_forget(struct call_sites *sites);

#endif
