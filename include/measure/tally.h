/* SPDX-License-Identifier: MIT */
/*
 * How many calls the threads of a gathering made, and whether they had their CPUs for it. Each
 * writes a tally of its own; one of them reads all, slice after slice of the time.
 */
#ifndef VDSOCHECK_MEASURE_TALLY_H
#define VDSOCHECK_MEASURE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_MAX 1024

/* Neighbouring cache lines are fetched in pairs: no two writers share one. */
#define TALLY_ALIGNMENT 128

struct tally {
	size_t calls;
	size_t looks;
	long preempted; /* how often, when it last looked */
} __attribute__((aligned(TALLY_ALIGNMENT)));

/* What the tallies were at one moment. */
struct tally_moment {
	uint64_t ticks; /* by the counter of one CPU alone: others' may differ */
	struct tally tallies[TALLY_MAX];
};

/* Calls of a slice of the time, from one moment to another. */
struct tally_sum {
	size_t calls;
	size_t fewest;  /* of a thread that made any */
	size_t threads; /* that made any */
};

void tally_add(struct tally *tally, size_t calls);

/* Looks at how often this thread lost its CPU to another one. */
void tally_look(struct tally *tally);

void tally_note(
	struct tally_moment *moment, const struct tally *tallies, size_t count, uint64_t ticks);

struct tally_sum tally_sum(
	const struct tally_moment *start, const struct tally_moment *end, size_t count);

/* True if every thread has looked since that moment. */
bool tally_all_looked(const struct tally_moment *since, const struct tally *tallies, size_t count);

/* True if no thread lost its CPU between that moment and its last look. */
bool tally_none_preempted(
	const struct tally_moment *since, const struct tally *tallies, size_t count);

#endif
