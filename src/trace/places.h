/* SPDX-License-Identifier: MIT */
/* Counts the places in programs that calls come from, and finds the functions of these. */
#ifndef VDSOCHECK_TRACE_PLACES_H
#define VDSOCHECK_TRACE_PLACES_H

#include "files.h"
#include "model.h"

/*
 * Adds calls by the instruction before this address of a process with this memory map, and the map
 * of its run-time code, of places_open_map(). `row` is that of the plan, and these times
 * TRACE_ROW_MAX more for 32-bit code, and for calls by syscall(2) of libc from this address.
 */
#define PLACES_OF_32_BIT 1
#define PLACES_BY_FUNCTION 2
#define PLACES_BY_SAMPLE 3 /* of no row: samples in the vDSO, whose call is not known */
void places_add(struct trace_places *places, size_t row, uint64_t calls, const struct maps *maps,
	size_t perf_map, uint64_t address);

/*
 * Opens what leads to the map of the run-time code of a thread's process. Returns the index of the
 * map; 0: there is no room for it.
 */
size_t places_open_map(struct trace_places *places, pid_t thread);

/* Opens the root of a running process, which takes privileges: files of places are below it. */
void places_open_root(struct trace_places *places, pid_t pid);

/* Makes both lists, of the `top` places with the most calls, and finds their functions. */
void places_finish(struct trace_evidence *trace, uint64_t top);

void places_free(struct trace_places *places);

/* ---- names.c ---- */

/*
 * Writes the name of a function without its parameters, "std::time::Instant::now"; another symbol
 * is copied as it is. Copies as text_clean_span() does.
 */
void name_read(struct span symbol, char *to, size_t size);

/*
 * Sets the sources of places in a file, whose offsets are addresses, by the debug information in
 * this open one, which is closed; -1: there is none. To be called in a child: a hostile file may
 * crash it, or take long.
 */
void sources_read(int file, struct trace_place *const *places, size_t count);

#endif
