/* SPDX-License-Identifier: MIT */
/* The model of a run of warp: its clocks, the workers, the child's state, and the answer. */
#ifndef VDSOCHECK_WARP_MODEL_H
#define VDSOCHECK_WARP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fact.h"
#include "cli/command.h"
#include "document.h"
#include "measure/call.h"
#include "measure/timebase.h"
#include "report.h"
#include "warp.h"

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
 *
 * The smallest gap between two CPUs' readings, in both directions, bounds the offset of their
 * clocks.
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

/* Shared by parent and child; the pairs follow it. */
struct warp_shared {
	struct warp_evidence warp;
	volatile double done;
	struct warp_pair pairs[];
};

/* The argument of the child. */
struct warp_job {
	const struct call_table *calls;
	const struct warp_setup *setup;
	struct warp_shared *shared;
};

/* The child's state during a run. */
struct warp_state {
	const struct warp_job *job;
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
