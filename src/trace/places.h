/* SPDX-License-Identifier: MIT */
/* Finds the places in a program that calls come from, by addresses and memory maps. */
#ifndef VDSOCHECK_TRACE_PLACES_H
#define VDSOCHECK_TRACE_PLACES_H

#include "base/elf.h"
#include "measure/vdso.h"
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
 * inode; 0: any. To be called in a child, as elf_map().
 */
bool places_map_file(int root, const char *path, uint64_t inode, struct elf *elf);

/* Maps the file with the symbols that were stripped from this one, if it is installed. */
bool places_map_symbols(int root, const struct elf *elf, struct elf *symbols);

/* Say whether the name of the file begins with one of these, which NULL ends, or with a C
 * library's. */
bool places_is_named(struct span path, const char *const *names);
bool places_is_c_library(struct span path);

/* A memory map, sorted by address. Free it with maps_free(); the text is its caller's. */
struct place_mapping {
	struct mapping map;
	uint64_t load; /* the address that offsets in the file are relative to */
};

struct maps {
	struct span text;
	struct place_mapping *list;
	size_t count;
};

struct maps maps_parse(struct span text);
void maps_free(struct maps *maps);

/* Opens the map that a just-in-time compiler writes for a process, if it has one; else -1. */
int places_open_jitted(pid_t pid);

/* A process that calls come from. */
struct place_process {
	const struct maps *maps;
	int jitted;     /* of places_open_jitted(), or -1; it is -1 if the places have taken it */
	uint64_t owner; /* of call sites, whose map is opened when it is needed; 0: none */
	pid_t pid;
	bool has_file; /* of places.c */
	size_t file;
};

/*
 * Adds calls by the instruction before this address; `calls` has their count and row, and whether
 * they are by 32-bit code. Returns the index of the place, or of a site of code that was made at
 * run time.
 */
size_t places_add(struct trace_places *places, const struct trace_place *calls,
	struct place_process *process, uint64_t address, bool *is_jitted);

/* Adds calls by a place that places_add() returned. */
void places_count(struct trace_places *places, size_t place, bool is_jitted, uint64_t calls);

/* Keeps the `top` places of both lists with the most calls, and finds their functions. */
void places_finish(struct trace_evidence *trace, uint64_t top);

/*
 * Does the same for a system call, and asks for the place of an address in a process once. `owner`
 * is the same number for threads with the same memory.
 */
void call_sites_add(struct trace_places *places, const struct trace_place *calls, uint64_t owner,
	pid_t thread, uint64_t address);

/* The memory of an owner is another one from now on; `places` may be NULL. */
void call_sites_forget(struct trace_places *places);

void places_free(struct trace_places *places);

#endif
