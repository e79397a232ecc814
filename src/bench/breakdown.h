/* SPDX-License-Identifier: MIT */
/* Breakdown of what a clock call costs, by the baselines. Pure. */
#ifndef VDSOCHECK_BENCH_BREAKDOWN_H
#define VDSOCHECK_BENCH_BREAKDOWN_H

#include <stdbool.h>

#include "run.h"

struct part {
	bool known;
	double ns; /* never negative: the CPU may do two things in the time of one */
};

struct breakdown {
	/* clock_gettime(CLOCK_MONOTONIC) by system call */
	struct part syscall;
	struct part entry;  /* into the kernel and back, filters and all */
	struct part kernel; /* what is done there: finding the clock, reading it, the copy */
	struct part filter; /* what one more seccomp filter would add */
	/* the same by the vDSO */
	struct part vdso;
	struct part counter;           /* reading the CPU's counter */
	struct part order;             /* waiting for what comes before it */
	struct part arithmetic;        /* the rest: from ticks to seconds and nanoseconds */
	bool vdso_is_as_dear_as_entry; /* the arithmetic is not known: there may be a system call */
};

struct breakdown breakdown_find(const struct bench *bench);

#endif
