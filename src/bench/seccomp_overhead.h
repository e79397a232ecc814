/* SPDX-License-Identifier: MIT */
/*
 * What a seccomp filter adds to every system call. Filters that are in force cannot be taken
 * off, so their cost cannot be measured from within; that of one more can.
 */
#ifndef VDSOCHECK_BENCH_SECCOMP_OVERHEAD_H
#define VDSOCHECK_BENCH_SECCOMP_OVERHEAD_H

#include "base/fact.h"

struct seccomp_overhead {
	struct fact fact;
	double without_ns; /* getppid as it is */
	double with_ns;    /* under one more filter of SECCOMP_OVERHEAD_RULES rules */
};

/* As many as a container runtime's default profile has. */
#define SECCOMP_OVERHEAD_RULES 300

/* Measures in a child, which keeps the filter. Takes some 20 ms. */
void seccomp_overhead_find(struct seccomp_overhead *stats);

#endif
