/* SPDX-License-Identifier: MIT */
/* Finds the places in a program that calls come from, by addresses and memory maps. */
#ifndef VDSOCHECK_TRACE_PLACES_H
#define VDSOCHECK_TRACE_PLACES_H

#include "base/elf.h"
#include "model.h"

/* Reads at most so many bytes of an open file, for span_free(), and closes it; it may be -1. */
struct span file_take(int file, size_t most);
void span_free(struct span span);

/* Reads at most so many bytes of /proc/PID/NAME; empty: the process has ended. */
struct span proc_read(pid_t pid, const char *name, size_t most);

/* Reads /proc/PID/status; empty: the process has ended. */
struct span status_read(pid_t pid);

/* Reads the memory map of a thread's process. Empty: the thread has ended. */
struct span maps_read(pid_t thread);

/* Opens the root of the files of a process, which takes privileges, for places->root. */
int places_open_root(pid_t pid);

/*
 * Maps the file at a path of a memory map, below a root or 0, if it is still the one with this
 * inode. To be called in a child, as elf_map().
 */
bool places_map_file(int root, const char *path, uint64_t inode, struct elf *elf);

/* Says whether the file is a C library, by its name. */
bool places_is_c_library(struct span path);

/*
 * Adds calls by the instruction before this address in the process with this memory map; `calls`
 * has their count and row, and whether they are by 32-bit code. Returns the index of the place.
 */
size_t places_add(struct trace_places *places, const struct trace_place *calls, struct span maps,
	pid_t pid, uint64_t address);

/* Keeps the `top` places of both lists with the most calls, and finds their functions. */
void places_finish(struct trace_evidence *trace, uint64_t top);

/*
 * Does the same for system calls, and asks for the place of an address in a process once. `owner`
 * is the same number for threads with the same memory. `maps` is read from the thread if that is
 * empty.
 */
void call_sites_add(struct trace_places *places, const struct trace_place *calls, uint64_t owner,
	pid_t thread, struct span maps, uint64_t address);

/* The memory of an owner is another one from now on; `places` may be NULL. */
void call_sites_forget(struct trace_places *places);

void places_free(struct trace_places *places);

#endif
