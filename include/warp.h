/* SPDX-License-Identifier: MIT */
/*
 * A time warp is an earlier time, read on one CPU, than one already read on another CPU. The test
 * looks for warps, and finds how far apart the CPUs' counters are.
 */
#ifndef VDSOCHECK_WARP_H
#define VDSOCHECK_WARP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document.h"
#include "evidence.h"
#include "measure/call.h"

struct cli;

/* CPUs of a larger machine that are tested, evenly spread. */
#define WARP_CPU_MAX 1024

enum warp_clock_id {
	WARP_COUNTER,   /* the CPU's bare counter */
	WARP_MONOTONIC, /* these three by the vDSO, or by libc where there is no vDSO */
	WARP_REALTIME,
	WARP_TIMEOFDAY,
	WARP_KERNEL, /* CLOCK_MONOTONIC by vDSO and by raw system call in turn */
	WARP_CLOCK_COUNT,
};

/* A set of clocks. */
#define WARP_CLOCK(id) (1u << (id))
#define WARP_ALL_CLOCKS (WARP_CLOCK(WARP_CLOCK_COUNT) - 1)

struct warp_result {
	const char *name; /* "rdtsc" or its like, "CLOCK_MONOTONIC", ...; static storage */
	struct fact fact; /* known: the clock was tested */
	uint64_t reads;
	uint64_t warps;                /* readings that were earlier than one already taken */
	int64_t largest_ns;            /* size of the largest warp; 0: no warp */
	struct fact cpu_fact;          /* known: a warp was seen */
	int cpu_behind;                /* CPU whose clock was behind in the largest warp */
	int cpu_ahead;                 /* CPU that had read the later time; may be the same */
	struct number_fact max_offset; /* upper bound, ns, on the offset between any two CPUs */
	unsigned discarded;            /* slices not counted, because the clock was set */
};

/* The clock, reads, warps and largest_warp_ns of a struct warp_result: keys and columns. */
extern const struct field warp_clock_fields[];

enum warp_pair_state {
	WARP_PAIR_KNOWN,
	WARP_PAIR_UNSEEN, /* the two CPUs never ran at the same time: no bounds */
	WARP_PAIR_MOVED,  /* the offset was not constant */
};

/* Two CPUs' counters. The offset is certainly within error_ns of offset_ns. */
struct warp_pair {
	enum warp_pair_state state;
	int cpu;
	int other_cpu;
	double offset_ns; /* other_cpu's counter minus cpu's */
	double error_ns;
};

/* The counter against CLOCK_MONOTONIC_RAW, on one CPU. */
struct warp_drift {
	struct fact fact;
	double counter_hz;
	double hz_error_ppm; /* by which the rate may be wrong at most */
	double drift_ppm;    /* how much faster it ran in the second half than in the first */
	double error_ppm;
};

struct warp_evidence {
	struct fact fact;
	bool stopped;      /* before the time that was asked for */
	double duration_s; /* of the run, which may be extended or stopped */
	size_t allowed;    /* CPUs available to this process */
	size_t cpu_count;  /* CPUs that were tested */
	int cpus[WARP_CPU_MAX];
	struct warp_result results[WARP_CLOCK_COUNT];
	struct warp_drift drift;
	struct fact pair_fact;
	size_t pair_count;
	struct warp_pair *pairs; /* owned; warp_release() */
};

struct warp_setup {
	int64_t duration_ns;
	unsigned clocks; /* a set */
	/* Ends the run early once it is true; in memory shared with children. NULL: never. */
	const volatile bool *stop;
	/* Called in this process while the measurement runs, with the part done. May be NULL. */
	void (*progress)(double done);
};

/*
 * Reads the clocks in a child with one thread per CPU. On a single CPU, readings are compared
 * with earlier ones there. warp->fact is known if it was done; else each part has its reason.
 * Release with warp_release() in any case.
 */
void warp_measure(
	const struct call_table *calls, const struct warp_setup *setup, struct warp_evidence *warp);

/*
 * Does the same for a command, for cli->duration_ns, with a progress display that begins with
 * `doing`; a signal ends it early. False after an error message.
 */
bool warp_measure_shown(const struct cli *cli, const char *doing, const struct call_table *calls,
	unsigned clocks, struct warp_evidence *warp);

void warp_release(struct warp_evidence *warp);

/* False, too, where the number of CPUs that are online is not known. */
static inline bool host_has_one_cpu(const struct number_fact *online)
{
	return fact_is_known(&online->fact) && online->value == 1;
}

/* True if a bound of this many ns is the counter's resolution: no reading differed. */
bool warp_is_one_tick(const struct warp_drift *drift, double ns);

#endif
