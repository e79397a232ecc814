/* SPDX-License-Identifier: MIT */
/* The model of a run of warp: its clocks, the workers, the child's state, and the answer. */
#ifndef VDSOCHECK_WARP_MODEL_H
#define VDSOCHECK_WARP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"
#include "cli/command.h"
#include "document.h"
#include "measure/call.h"
#include "measure/timebase.h"
#include "report.h"

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

/* The counters of the two CPUs that are furthest apart. */
struct warp_pair {
	struct fact fact; /* known: the offset; failed: it is not constant */
	int cpu;
	int other_cpu;
	double offset_ns; /* other_cpu's counter minus cpu's */
	double error_ns;  /* by which that may be wrong at most */
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
	struct warp_pair worst;
};

/* A run, in memory that the child shares: child_share(). */
struct warp_job {
	const struct call_table *calls;
	int64_t duration_ns;
	volatile bool stop;        /* ends it early */
	volatile double done;      /* part of the duration */
	struct warp_evidence warp; /* the result */
};

/*
 * Reads the clocks in a child with one thread per CPU, and shows the progress. On a single CPU,
 * readings are compared with earlier ones there. job->warp.fact is known if it was done; else each
 * part has its reason.
 */
void warp_measure(struct warp_job *job);

/* True if a bound of this many ns is the counter's resolution: no reading differed. */
bool warp_is_one_tick(const struct warp_drift *drift, double ns);

/* ---- clock.c ---- */

/* "rdtsc" or its like, "CLOCK_MONOTONIC", ..., "vDSO against kernel". Static storage. */
const char *warp_clock_name(enum warp_clock_id id);

/* One path by which a clock is read. */
struct warp_path {
	bool counter; /* the bare counter; otherwise by the call */
	struct call call;
	bool wide; /* the call writes 64-bit words, not 32-bit ones */
};

/* Paths taken in turn; the same one twice where there is only one. */
struct warp_clock {
	struct warp_path paths[2];
};

/*
 * Makes the clock ready to be read. False with the reason if it cannot be: no such call, no
 * counter, or reading it raises a signal. For a single-threaded, forked child.
 */
bool warp_clock_prepare(enum warp_clock_id id, const struct call_table *calls,
	struct warp_clock *clock, struct fact *why);

/*
 * Reads the clock after everything that the thread loaded before. Returns ns, or ticks of the
 * counter; 0 if the call failed.
 */
int64_t warp_clock_read(const struct warp_clock *clock, unsigned turn);

/*
 * A timerfd that the kernel cancels when CLOCK_REALTIME is set: a clock that was set back returns
 * an earlier time on all CPUs, which is not a warp. Slewing never makes a clock run backwards and
 * does not cancel it. -1 if this kernel has no such timers.
 */
int settime_timer_open(void);

/* True if the clock was set since the last call, or since the start; never for -1. */
bool settime_timer_fired(int timer);

/* ---- cross_cpu.c ---- */

/*
 * One thread per CPU reads a clock and compares it with what the other CPUs read last. A worker
 * loads another worker's last value first and reads the clock after it, so a smaller reading
 * means that the clock is behind on its CPU. No lock is held: a worker that is preempted, or
 * whose virtual CPU is descheduled, leaves old values behind, and these are never a warp.
 */

/* The gap of two CPUs that have not been compared. */
#define CROSS_CPU_NO_GAP INT64_MAX

/* The counts of one CPU, in the clock's unit (ns, or ticks of the counter). */
struct cross_cpu_result {
	uint64_t reads;
	uint64_t warps;
	int64_t largest;
	size_t against; /* index of the CPU whose reading the largest warp was behind */
	int64_t *least; /* the smallest gap to each CPU: own reading less its; not owned */
};

struct cross_cpu;

/*
 * Starts one worker per CPU, pinned, and lets them wait. `results` has one element per CPU, each
 * with room for `count` gaps in `least`. NULL with the reason if threads or pinning fail.
 */
struct cross_cpu *cross_cpu_start(
	const int *cpus, size_t count, struct cross_cpu_result *results, struct fact *why);

/* All workers read the clock for slice_ns. The results describe this slice alone. */
void cross_cpu_run(struct cross_cpu *run, const struct warp_clock *clock, int64_t slice_ns);

/* Joins the workers. */
void cross_cpu_stop(struct cross_cpu *run);

/* ---- run.c: the child ---- */

/* Extra time if some CPUs could not be compared in the time asked for. */
#define WARP_EXTRA_NS 2000000000

/* The child's state during a run. */
struct warp_state {
	struct warp_job *job;
	struct warp_evidence *warp;
	size_t count; /* CPUs */
	struct warp_clock clocks[WARP_CLOCK_COUNT];
	struct cross_cpu_result *results; /* a CPU's each, of one slice */
	int64_t *least[WARP_CLOCK_COUNT]; /* gaps over all slices: count rows of count */
	int settime_timer;
	struct cross_cpu *cross_cpu;
	struct clock_mark marks[3]; /* start, middle, end */
	int64_t start_ns;
};

/* Runs a struct warp_job in a child, whose exit releases the memory. */
void warp_run_job(void *job);

/* ---- result.c: what the slices of a run add up to; pure ---- */

/* True if the counter is tested, so that its rate and drift are found too. */
bool warp_has_counter(const struct warp_state *state);

/*
 * How far one CPU's clock may be ahead of another's, in the clock's unit: the largest, over all
 * ordered pairs, of the smallest gap. CROSS_CPU_NO_GAP if some pair was never compared.
 */
int64_t warp_worst_gap(const struct warp_state *state, enum warp_clock_id id);

/* Works out the counter's rate and drift from three marks in their order. */
void warp_drift_compute(const struct clock_mark marks[3], struct warp_drift *drift);

/* After the last slice: converts to ns and fills in everything that follows from the gaps. */
void warp_finish(struct warp_state *state);

/* ---- command.c ---- */

struct warp_run {
	struct report report;
	struct evidence evidence; /* clocksource and host */
	struct warp_evidence warp;
};

/* Sets the answer; pure. */
void warp_judge(
	const struct warp_evidence *warp, const struct number_fact *online, struct report *report);

extern const struct field warp_fields[];

#endif
