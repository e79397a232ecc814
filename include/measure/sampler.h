/* SPDX-License-Identifier: MIT */
/*
 * Measures what calls cost, side by side: each is made in batches of as many iterations as take
 * the time of a batch, one batch of each call in turn.
 */
#ifndef VDSOCHECK_MEASURE_SAMPLER_H
#define VDSOCHECK_MEASURE_SAMPLER_H

#include "measure/call.h"
#include "measure/timebase.h"

/* ---- statistics.c: sums up many measurements of the same thing ---- */

/* The mean of fewer values is not believed. */
#define STATISTICS_MEAN_LEAST 10

/* A summary of values, in their unit. */
struct statistics_summary {
	size_t count; /* values */
	double minimum;
	double median;
	double p99;          /* 99 in 100 values are not above it */
	size_t outliers;     /* values left out of the mean: far above the upper quartile */
	double trimmed_mean; /* mean without the outliers; NAN: fewer than STATISTICS_MEAN_LEAST */
};

/* Rounds ns to the tenths that are printed: a document that is judged again makes the same text. */
double statistics_in_tenths(double ns);

/* Sorts `count` values. Returns their median; 0 if there are none. */
double statistics_median(double *values, size_t count);

/* Sorts `count` values and sums them up. All is zero if there are none. */
struct statistics_summary statistics_summarise(double *values, size_t count);

/* ---- sampler.c ---- */

/* Batches that were measured, and those of them that were discarded. */
struct batch_counts {
	uint64_t begun;
	uint64_t preempted; /* another thread had the CPU */
	uint64_t migrated;  /* to another CPU, with cold caches and perhaps another frequency */
	uint64_t too_short; /* shorter than this clock can time */
	uint64_t stalled;   /* so long that the whole machine must have been stopped */
};

/* One call and its samples. */
struct timed_call {
	/* The owner sets these; the rest is zero at first. */
	struct call call; /* not measured if it has no function */
	double *samples;  /* room for `capacity` samples, ticks for one call; not owned */
	size_t capacity;

	size_t iterations; /* calls in a batch */
	int signal;        /* the first try ended with it; nothing more was measured */
	bool fails;        /* the first try failed, with `error`: the same */
	int error;         /* errno; 0: it returned success and wrote no result */
	size_t count;      /* samples; evenly spread over the batches that were kept */
	uint64_t kept;
	size_t stride; /* one in this many of the batches that are kept is a sample */
	double least;  /* least of all batches that were kept */
	struct batch_counts batches;
};

/* Tries the call once under a guard and finds the iterations for batches of `batch_ticks`. */
void timed_call_calibrate(
	struct timed_call *timed, const struct timebase *timebase, uint64_t batch_ticks);

/* The calls that are measured side by side. */
struct sampler {
	struct timed_call *cases; /* set by the owner, not owned */
	size_t count;
	struct timebase timebase;
	uint64_t batch_ticks;
	size_t rounds; /* so far; in each one batch of every case */
};

/* A run ends after `ns`, but neither before rounds_least rounds nor after rounds_most. */
struct sampler_limits {
	int64_t ns;
	size_t rounds_least;
	size_t rounds_most;
	const volatile bool *stop; /* ends the run early once it is true; may be NULL */
};

/*
 * Starts the timebase, by the CPU's counter or where user space cannot read that by the kernel's
 * clock, and calibrates every case to batches of about `batch_ns`. Returns false, with the reason
 * in *why, if the kernel refuses to read the clock or the clock is too coarse.
 */
bool sampler_start(struct sampler *sampler, int64_t batch_ns, struct fact *why);

/* Measures batch after batch, each after a warm-up; one that was disturbed is discarded. */
void sampler_run(struct sampler *sampler, const struct sampler_limits *limits);

/* The cost of one call. */
struct ns_stats {
	struct fact fact;             /* known: measured, and what follows holds */
	struct statistics_summary ns; /* over batches, each with its average per call */
	size_t iterations;            /* calls in a batch */
	struct batch_counts batches;
};

/* Converts the case's samples from ticks to ns, and sorts them. */
void ns_stats_compute(struct timed_call *timed, double ns_per_tick, struct ns_stats *stats);

#endif
