/* SPDX-License-Identifier: MIT */
/*
 * Declares the calls that are measured, each by up to three paths: the vDSO's function itself,
 * libc, and a raw system call.
 */
#ifndef VDSOCHECK_MEASURE_CALL_H
#define VDSOCHECK_MEASURE_CALL_H

#include <sys/time.h>
#include <sys/types.h>

#include "measure/vdso.h"

/* The arguments of a call; the functions of one shape share a prototype. */
enum call_shape {
	SHAPE_CLOCK,     /* (clock id, struct timespec *): clock_gettime, clock_getres */
	SHAPE_TIMEOFDAY, /* (struct timeval *, NULL) */
	SHAPE_TIME,      /* (NULL), and (time_t *) where the result matters */
	SHAPE_GETCPU,    /* (unsigned *, NULL, NULL) */
	SHAPE_LOOP,      /* (count): the call loops itself, as those of counter.h do */
};

typedef int clock_function(clockid_t, struct timespec *);
typedef int timeofday_function(struct timeval *, void *);
typedef time_t time_function(time_t *);
typedef int getcpu_function(unsigned *, unsigned *, void *);
typedef void loop_function(size_t count);

/* The calls that the vDSO serves on some architecture. */
enum served_call {
	SERVED_CLOCK_GETTIME,
	SERVED_GETTIMEOFDAY,
	SERVED_TIME,
	SERVED_CLOCK_GETRES,
	SERVED_GETCPU,
	SERVED_CALL_COUNT
};

/* An architecture may lack some of the system calls. */
struct served_row {
	const char *name; /* of the system call, and behind a prefix of the vDSO's function */
	const char *wide; /* the same of 32-bit architectures with 64-bit times; NULL: none */
	bool takes_clock;
	bool reads_clock;
};

/* The row of SERVED_CALL_COUNT is of no call: its name is "". */
extern const struct served_row served_calls[SERVED_CALL_COUNT + 1];

/* Finds a call by one of its names; SERVED_CALL_COUNT: no vDSO serves it. */
enum served_call served_find_call(struct span name);

/*
 * Room for what any call writes. On 32-bit architectures a call by the vDSO or the kernel writes
 * either struct timespec: of two 64-bit words, or of two 32-bit ones.
 */
union call_result {
	struct timespec timespec;
	struct timeval timeval;
	int64_t wide[4];
	int32_t narrow[8];
	time_t seconds;
	unsigned cpu;
};

/* Every byte of a result before the call: neither a time nor the number of a CPU. */
#define CALL_UNWRITTEN 0xff

/* One call by one path: what a timed loop needs, and no more. */
struct call {
	enum call_shape shape;
	clockid_t clock;
	union {
		clock_function *clock;
		timeofday_function *timeofday;
		time_function *time;
		getcpu_function *getcpu;
		loop_function *loop;
		void *any; /* NULL: the path does not exist */
	} function;
};

/* A call by each path. A path that does not exist here has a NULL function. */
struct call_row {
	const char *call;  /* "clock_gettime" */
	const char *clock; /* "CLOCK_MONOTONIC"; "" if the call takes none */
	bool decides;      /* the verdict rests on it */
	struct call path[PATH_COUNT];
};

/* Every call that is measured, in the order in which they are shown. */
struct call_table {
	size_t count;
	struct call_row rows[CALL_MAX];
};

/*
 * Makes the table from the vDSO that vdso_collect() found. The functions of the vDSO are
 * addresses of this process. On 32-bit a child finds out which calls the kernel has.
 */
void call_table_make(const struct vdso_evidence *vdso, const struct vdso_image *image,
	struct call_table *table, const struct deadline *deadline);

/* Returns the static names of the row at this place of the table; false beyond its end. */
bool call_table_names(size_t place, const char **call, const char **clock);

/* Drops the rows that the verdict does not rest on. */
void call_table_keep_deciding(struct call_table *table);

/*
 * Names the table's rows in evidence->calls, in the same order, with the paths that exist:
 * what proof and timing fill in by the place in the table.
 */
void call_table_name(const struct call_table *table, struct evidence *evidence);

/* Returns the paths of the row with these names ("" for no clock); NULL if there is none. */
const struct call *call_find(const struct call_table *table, const char *call, const char *clock);

/* Returns the cheapest system call, getppid, in the shape of time(). */
struct call call_syscall_floor(void);

/* Returns the control call of the proof, by raw system call, whatever libc does. */
struct call call_control(void);

/* Returns a call that makes its own loop. */
struct call call_loop(loop_function *loop);

/* Makes the call `count` times: the timed loop. */
void call_repeat(const struct call *call, size_t count);

/*
 * Makes the call once, errno being 0 and the result CALL_UNWRITTEN before. Returns what its
 * function returns.
 */
int64_t call_make(const struct call *call, union call_result *result);

/* The outcomes of a call. */
enum call_end {
	CALL_DONE,   /* it succeeded, and wrote its result */
	CALL_MARKED, /* it failed with the mark */
	CALL_FAILED, /* it failed with another errno */
	CALL_SILENT, /* it returned success, and left its result or a part of it unwritten */
};

/*
 * Makes the call once, where every time system call may fail with `mark`, an errno that no kernel
 * returns; 0: there is no mark. Stores what it wrote, of time() what it returned, in *result, and
 * the errno of CALL_FAILED in *error.
 */
enum call_end call_try(const struct call *call, int mark, union call_result *result, int *error);

/* Makes the call once. Returns, by libc's rules, the errno that it fails with, or 0. */
int call_error(const struct call *call);

#endif
