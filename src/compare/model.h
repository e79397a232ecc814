/* SPDX-License-Identifier: MIT */
/*
 * The model of `vdsocheck compare`: the clocksource being switched, one candidate's measurement,
 * the run over all of them, and the report.
 */
#ifndef VDSOCHECK_COMPARE_MODEL_H
#define VDSOCHECK_COMPARE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/root.h"
#include "base/time.h"
#include "evidence.h"
#include "judge.h"
#include "measure/call.h"
#include "report.h"

/* ---- clocksource_switch.c: the kernel's clocksource, changed through sysfs ---- */

/*
 * Is locked during a run, and holds the name of the original clocksource while another one may be
 * in use. The name is left behind only if all of compare's processes are killed.
 */
#define SWITCH_RECORD "/run/vdsocheck-compare"

struct clocksource_switch {
	const struct root *root; /* not owned */
	int file;                /* current_clocksource */
	int record;              /* its lock is released when the last copy is closed */
	/* Names that the file may hold because of us, shared by all of compare's processes. */
	char *current;                           /* as last read back */
	char *wanted;                            /* being written; "": nothing is */
	char original[CLOCKSOURCE_NAME_SIZE];    /* in use when the lock was taken */
	char interrupted[CLOCKSOURCE_NAME_SIZE]; /* the original one of a compare that was killed
	                                            and left another in use; "": none */
};

enum switch_result {
	SWITCH_DONE,
	SWITCH_CLOSED,  /* opening: the file or the record cannot be opened for writing */
	SWITCH_BUSY,    /* opening: another process holds the lock */
	SWITCH_REFUSED, /* the kernel refused it, or it could not be read, or locked: see *why */
	SWITCH_FOREIGN, /* something else switched it: left as it is, see *why */
};

/*
 * Takes the lock, until the process ends, and reads the current clocksource. Forked children share
 * the lock. Unless it is done, *why has the reason.
 */
enum switch_result clocksource_switch_open(
	struct clocksource_switch *sw, const struct root *root, struct fact *why);

/*
 * Switches to this clocksource unless it is in use already, and reads it back: the kernel
 * accepts any name without an error. A clocksource that something else selected is not
 * overwritten, unless it is the original one.
 */
enum switch_result clocksource_switch_to(
	const struct clocksource_switch *sw, const char *name, struct fact *why);

/* Switches to the original one in the same way, and tries several times. */
enum switch_result clocksource_switch_restore(
	const struct clocksource_switch *sw, struct fact *why);

/* Writes the name into the record. After a failure, false, a part of it may be there: forget it. */
bool clocksource_switch_record(const struct clocksource_switch *sw, struct fact *why);
void clocksource_switch_forget(const struct clocksource_switch *sw);

/* ---- guardian.c: the process that restores the clocksource ---- */

struct guardian {
	pid_t pid;
	int alive[2]; /* a pipe to it, open in each process that may switch, also in children */
};

/* Called in the guardian with the result when it had to act alone. */
typedef void guardian_report(
	const struct clocksource_switch *sw, enum switch_result result, const struct fact *why);

/* Returns false with the reason; nothing may be switched then. */
bool guardian_start(struct guardian *guardian, const struct clocksource_switch *sw,
	guardian_report *orphaned, struct fact *why);

bool guardian_is_running(const struct guardian *guardian);

/*
 * Has the guardian restore the clocksource, or restores it in its place, and reads it back. All
 * children that may switch must have ended before.
 */
enum switch_result guardian_finish(
	struct guardian *guardian, const struct clocksource_switch *sw, struct fact *why);

/* ---- preflight.c: the effects of a switch beyond this process ---- */

/* True if a virtual machine of KVM runs on this host, or may: `which` says by what sign. */
bool guests_running(const struct root *root, char *which, size_t size);

/* ---- candidate.c: one clocksource, measured ---- */

struct candidate {
	char name[CLOCKSOURCE_NAME_SIZE];
	bool in_use;      /* before the run */
	struct fact fact; /* known: it was in use all the time, and proof and timing have theirs */
	bool foreign;     /* something else switched, as *fact says */
	struct evidence evidence; /* proof, timing, the deciding calls */

	/* Concluded by compare_conclude(). */
	const char *reason;          /* why a number is missing; "" if none is */
	struct real_fact cost_ns;    /* clock_gettime(CLOCK_MONOTONIC), as programs call it */
	struct real_fact syscall_ns; /* the same by system call */
	struct entry_counts entries; /* counts of the deciding calls */
	struct fact proven;          /* known: there are counts */
};

struct run;

/*
 * Switches to candidate->name and measures. Does not switch back: it runs in a child whose
 * parent sees to that, and which may be killed at any moment.
 */
void candidate_measure(const struct run *run, struct candidate *candidate);

/* *fact is known if a clock of this speed, 1 being right, is usable; else it failed. Pure. */
void candidate_judge_speed(double speed, struct fact *fact);

/* ---- run.c: all of them, one after the other ---- */

struct run {
	/* The request. */
	const struct clocksource_switch *sw;
	const struct call_table *calls; /* the deciding ones */
	guardian_report *orphaned;
	const volatile bool *stop; /* ends the run once it is true */

	/* The results. */
	bool begun;      /* else nothing was switched */
	struct fact why; /* known: every candidate was tried; or what ended it early */
	enum switch_result restored;
	struct fact restored_fact; /* known: the original clocksource is in use, as read back */
	size_t count;
	struct candidate *candidates; /* the one in use is the first; shared with the workers */

	/* During the run. */
	struct guardian guardian;
	size_t current;           /* place of the candidate that is worked on */
	struct deadline deadline; /* of that work */
};

/*
 * Tries these candidates, without the one in use; a terminal cannot stop the process then. The
 * results stay until it ends.
 */
void run_candidates(struct run *run, const char *const *names, size_t count);

/* ---- compare.c: a run of the command ---- */

/* The kind of cli->data. */
struct compare {
	struct report report;

	/* The options. */
	bool with_guests;
	bool yes;

	/* The plan. */
	struct evidence host; /* the clocksources that are available, and the host's name */
	struct clocksource_switch sw;
	size_t count; /* number of candidates, without the one in use */
	const char *names[CLOCKSOURCE_MAX];

	struct run run;
};

extern const struct answer compare_answers[];

/* Concludes the answer, and what is left open in all candidates. Pure. */
void compare_conclude(struct compare *compare);

/* ---- print.c: the document, and the text ---- */

extern const struct field compare_fields[];

/* Takes a struct compare. */
void compare_text(const void *data, struct page *page);

#endif
