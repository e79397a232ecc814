/* SPDX-License-Identifier: MIT */
/* What the calls cost here, and what they could cost. Pure. */
#ifndef VDSOCHECK_JUDGE_COST_H
#define VDSOCHECK_JUDGE_COST_H

#include "evidence.h"
#include "judge/verdict.h"

struct cost {
	bool known;
	const char *reason;   /* why a number is not known; static storage; NULL: all are */
	double call_ns;       /* the dearest deciding call, as programs make it here */
	bool mixed;           /* call_ns is the average of calls that enter and calls that do not */
	double syscall_ns;    /* the same by raw system call */
	bool estimated;       /* user_space_ns is known, and something is lost */
	bool measured;        /* it is known by measuring it, on a copy of the vDSO */
	double rate;          /* calls per second it is worked out for; 0: none was given */
	double user_space_ns; /* what it takes in user space, or would: counter and arithmetic */
};

/*
 * Where the verdict is ok, the call itself shows what user space takes. Where it is unknown,
 * so is the cost.
 */
void cost_find(const struct evidence *evidence, enum verdict verdict, struct cost *cost);

/* Sets the rate that the caller is interested in; 0 leaves it open. */
void cost_set_rate(struct cost *cost, double rate);

/* What `ns` in each of `rate` calls per second take of one CPU, in percent. */
double cost_share_percent(double ns, double rate);

/* Calls per second that one thread can make at the most, to two digits; 0 if unknown. */
double cost_calls_per_thread(const struct cost *cost);

/* What `calls` calls take longer, in seconds, at slow_ns each instead of fast_ns. */
double cost_seconds(double calls, double slow_ns, double fast_ns);

/* Nanoseconds lost in each call against user space; 0 if unknown or nothing is lost. */
double cost_lost_ns(const struct cost *cost);

#endif
