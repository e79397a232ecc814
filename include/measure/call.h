/* SPDX-License-Identifier: MIT */
/*
 * The calls that are measured, each by up to three ways: straight through the vDSO's
 * function, through libc, and by a raw system call.
 */
#ifndef VDSOCHECK_MEASURE_CALL_H
#define VDSOCHECK_MEASURE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#include "evidence.h"

/* What a call takes; the functions of one shape share a prototype. */
enum call_shape {
	SHAPE_CLOCK,     /* (clock id, struct timespec *): clock_gettime, clock_getres */
	SHAPE_TIMEOFDAY, /* (struct timeval *, NULL) */
	SHAPE_TIME,      /* (NULL) */
	SHAPE_GETCPU,    /* (unsigned *, NULL, NULL) */
};

typedef int clock_function(clockid_t, struct timespec *);
typedef int timeofday_function(struct timeval *, void *);
typedef time_t time_function(time_t *);
typedef int getcpu_function(unsigned *, unsigned *, void *);

/* One way to make one call: what a loop needs to know, and no more. */
struct call {
	enum call_shape shape;
	clockid_t clock;
	union {
		clock_function *clock;
		timeofday_function *timeofday;
		time_function *time;
		getcpu_function *getcpu;
		void *any; /* NULL: there is no such way */
	} function;
};

/*
 * Fills evidence->calls with the calls to be measured and their names, and `calls` with the
 * ways to make them. A way that does not exist here has a NULL function.
 */
void call_list(struct evidence *evidence, struct call calls[CALL_MAX][PATH_COUNT]);

/* The paths of the row with these names ("" for no clock); NULL if there is none. */
const struct call *call_find(const struct evidence *names,
	const struct call calls[CALL_MAX][PATH_COUNT], const char *call, const char *clock);

/* The cheapest system call, getppid, in the shape of time(). */
struct call call_entry(void);

/* Makes the call `count` times: the timed loop. */
void call_repeat(const struct call *call, size_t count);

/* The same loop with no call in it, for what the counting itself takes. */
void call_repeat_nothing(size_t count);

/* Makes the call once: true if the error number `mark`, which no kernel gives, came up in it. */
bool call_returns_error(const struct call *call, int mark);

/* Makes the call once by libc's rules: the errno it fails with, 0 if it does not fail. */
int call_error(const struct call *call);

/* By raw system call, whatever libc does: the control of the proof. */
bool call_control_returns_error(int mark);

#endif
