/* SPDX-License-Identifier: MIT */
/* Whether somebody else had the CPU between two moments, or we went to another one. */
#ifndef VDSOCHECK_MEASURE_DISTURBANCE_H
#define VDSOCHECK_MEASURE_DISTURBANCE_H

/* What the kernel says about this thread at one moment. */
struct disturbance_mark {
	long switches; /* times the CPU was taken from us or given up; -1: not told */
	int cpu;       /* where we ran; -1: not told */
};

enum disturbance {
	DISTURBANCE_NONE,
	DISTURBANCE_PREEMPTED, /* another thread had the CPU */
	DISTURBANCE_MOVED,     /* another CPU, with cold caches and perhaps another rate */
};

struct disturbance_mark disturbance_mark(void);

/* Marks that were not told never differ. */
enum disturbance disturbance_between(struct disturbance_mark before, struct disturbance_mark after);

#endif
