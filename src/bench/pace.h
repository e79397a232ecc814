/* SPDX-License-Identifier: MIT */
/*
 * How many calls the threads of a gathering made, and whether they had their CPUs for it. Each
 * keeps a pace of its own; one of them reads all, slice after slice of the time.
 */
#ifndef VDSOCHECK_BENCH_PACE_H
#define VDSOCHECK_BENCH_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACE_MAX 1024

/* Neighbouring cache lines are fetched in pairs: no two writers share one. */
#define PACE_ALIGNMENT 128

struct pace {
	size_t calls;
	size_t looks;
	long preempted; /* how often, when it last looked */
} __attribute__((aligned(PACE_ALIGNMENT)));

/* What the paces were at one moment. */
struct pace_moment {
	uint64_t ticks; /* by the counter of one CPU alone: others' may differ */
	struct pace paces[PACE_MAX];
};

/* Calls of a slice of the time, from one moment to another. */
struct pace_sum {
	size_t calls;
	size_t fewest;  /* of a thread that made any */
	size_t threads; /* that made any */
};

void pace_add(struct pace *pace, size_t calls);

/* Looks at how often this thread lost its CPU to another one. */
void pace_look(struct pace *pace);

void pace_note(struct pace_moment *moment, const struct pace *paces, size_t count, uint64_t ticks);

struct pace_sum pace_sum(
	const struct pace_moment *start, const struct pace_moment *end, size_t count);

/* True if every thread has looked since that moment. */
bool pace_all_looked(const struct pace_moment *since, const struct pace *paces, size_t count);

/* True if no thread lost its CPU between that moment and its last look. */
bool pace_none_preempted(const struct pace_moment *since, const struct pace *paces, size_t count);

#endif
