/* SPDX-License-Identifier: MIT */
/* Counts calls from code that was made at run time, which is in no file. */
#ifndef VDSOCHECK_TRACE_JITTED_H
#define VDSOCHECK_TRACE_JITTED_H

#include "places.h"

struct jitted;

/* The module of its places. */
extern const char jitted_module[];

/* Opens the map that a just-in-time compiler writes for a process, if it has one; else -1. */
int jitted_open(pid_t pid);

/*
 * Adds calls from an address of a process to a list that begins as NULL. Returns the index of the
 * site, or SIZE_MAX if the map of the process is not there.
 */
size_t jitted_add(struct jitted **all, const struct trace_place *calls,
	struct place_process *process, uint64_t address);

/* Adds calls by a site. */
void jitted_count(struct jitted *jitted, size_t site, uint64_t calls);

/* The owner's number is that of another process from now on; `jitted` may be NULL. */
void jitted_forget_owner(struct jitted *jitted, uint64_t owner);

/* Makes places of the functions that the sites belong to; `jitted` may be NULL. */
void jitted_finish(struct jitted *jitted, struct trace_places *places);

void jitted_free(struct jitted *jitted);

#endif
