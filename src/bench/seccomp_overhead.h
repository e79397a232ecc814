/* SPDX-License-Identifier: MIT */
/*
 * What a seccomp filter adds to every system call. Filters that are in force cannot be taken
 * off, so their cost cannot be measured from within; that of one more can.
 */
#ifndef VDSOCHECK_BENCH_SECCOMP_OVERHEAD_H
#define VDSOCHECK_BENCH_SECCOMP_OVERHEAD_H

#include "base/fact.h"

struct filter_price {
	struct fact fact;
	double without_ns; /* getppid as it is */
	double with_ns;    /* under one more filter of FILTER_PRICE_RULES rules */
};

/* As many as a container runtime's default profile has. */
#define FILTER_PRICE_RULES 300

/* Measures in a child, which keeps the filter. Takes some 20 ms. */
void filter_price_find(struct filter_price *stats);

#endif
