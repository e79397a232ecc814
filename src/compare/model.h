/* SPDX-License-Identifier: MIT */
/*
 * The model of `vdsocheck compare`: the clocksource being switched, one candidate's measurement,
 * the run over all of them, their ranking, and the report.
 *
 * The clocksource in use is measured first and again after each candidate (A-B-A), so that the
 * spread of equal measurements is known before a difference is believed.
 */
#ifndef VDSOCHECK_COMPARE_MODEL_H
#define VDSOCHECK_COMPARE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/root.h"
#include "base/time.h"
#include "evidence.h"
#include "judge.h"
#include "measure/call.h"
#include "report.h"
#include "warp.h"

/* ---- clocksource_switch.c: the kernel's clocksource, changed through sysfs ---- */

/*
 * While another clocksource may be in use, the record holds the name of the original one. It is
 * left behind only if all of compare's processes are killed, and does not survive a reboot.
 */
#define SWITCH_FOLDER "/run"
#define SWITCH_RECORD "vdsocheck-compare"
#define SWITCH_LOCK "vdsocheck-compare.lock"

/* The size of the path of a tree, or of current_clocksource in it. */
#define CURRENT_PATH_SIZE 512

struct clocksource_switch {
	const struct root *root; /* not owned */
	const char *tree;        /* prefix of paths in messages; set by the owner; not owned */
	int file;                /* current_clocksource; owned */
	int folder;              /* SWITCH_FOLDER; -1: a tree without it; owned */
	int lock;                /* owned; is released when the last copy is closed */
	/* Names that the file may hold because of us, shared by all of compare's processes. */
	char *current;                           /* as last read back; owned, with the next */
	char *wanted;                            /* being written; "": nothing is */
	char original[CLOCKSOURCE_NAME_SIZE];    /* in use when the lock was taken */
	char interrupted[CLOCKSOURCE_NAME_SIZE]; /* the original one of a compare that was killed
	                                            and left another in use; "": none */
};

enum switch_result {
	SWITCH_DONE,
	SWITCH_CLOSED,  /* opening: the file cannot be opened for writing */
	SWITCH_BUSY,    /* opening: another process holds the lock */
	SWITCH_REFUSED, /* the kernel refused it, or it could not be read, or locked: see *why */
	SWITCH_FOREIGN, /* something else switched it: left as it is, see *why */
};

/*
 * Takes the lock and reads the current clocksource. Forked children share the lock. Unless it is
 * done, *why has the reason and nothing is to be closed.
 */
enum switch_result clocksource_switch_open(
	struct clocksource_switch *sw, const struct root *root, struct fact *why);
void clocksource_switch_close(struct clocksource_switch *sw);

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

/*
 * Writes SWITCH_RECORD. After a failure, false, a part of it may be there and has to be forgotten.
 * A tree without SWITCH_FOLDER keeps no record.
 */
bool clocksource_switch_record(const struct clocksource_switch *sw, struct fact *why);
void clocksource_switch_forget(const struct clocksource_switch *sw);

/* ---- guardian.c: the process that restores the clocksource ---- */

struct guardian {
	pid_t pid;
	int alive[2]; /* a pipe to it, open in each process that may switch, also in children */
	int watch[2]; /* a pipe from it, at its end when the guardian is gone: for poll() */
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

/*
 * True if a virtual machine of KVM runs on this host: its vendor's module is in use, or a process
 * holds /dev/kvm or a machine open. Then `which` names the module or process.
 */
bool guests_running(const struct root *root, char *which, size_t size);

/* ---- candidate.c: one clocksource, measured ---- */

/* The kernel's clocks; the bare counter is the same whatever the clocksource. */
#define CANDIDATE_CLOCKS (WARP_ALL_CLOCKS & ~WARP_CLOCK(WARP_COUNTER))

/* A candidate is timed twice, and the one in use once more after each candidate. */
#define TIMING_MAX (CLOCKSOURCE_MAX + 2)

#define SPEED_WINDOWS 5

enum candidate_state {
	CANDIDATE_NOT_TESTED = 0, /* it was refused, hung, crashed or was not in use all the time */
	CANDIDATE_INCOMPLETE,     /* no proof, no times or no test for warps */
	CANDIDATE_WARPS,          /* a clock ran backwards */
	CANDIDATE_MEASURED,
};

/* The advantage over the clocksource in use. */
enum gain {
	GAIN_NONE = 0, /* no gain, or too small to be sure of it */
	GAIN_COST,     /* clearly cheaper */
	GAIN_VDSO,     /* served by the vDSO, where the one in use falls back */
	GAIN_NO_WARPS, /* no warp seen, where the one in use ran backwards */
};

struct candidate {
	char name[CLOCKSOURCE_NAME_SIZE];
	struct fact fact; /* known: it was in use all the time, and each part has its fact */
	bool foreign;     /* something else switched, as *fact says */
	struct evidence evidence; /* proof, timing (the least of all), the deciding calls */
	size_t timing_count;
	double timings_ns[TIMING_MAX]; /* clock_gettime(CLOCK_MONOTONIC), timed several times */
	size_t warp_allowed;           /* CPUs available to this process */
	struct warp_evidence warp;     /* test of CANDIDATE_CLOCKS, without pairs */

	/* Concluded by compare_conclude(). */
	bool in_use;
	enum candidate_state state;
	enum gain gain;
	const char *reason; /* why it was not measured, or not in full; "" otherwise */
	double cost_ns;     /* least of the timings; NAN: none */
	double spread_ns;   /* largest of the timings less the least; NAN: fewer than two */
	struct fact proven;
	struct entry_counts entries; /* counts of the deciding calls */
	uint64_t warps;              /* reads that were warps, over all clocks */
};

struct run;

/*
 * Switches to candidate->name and measures. Does not switch back: it runs in a child whose
 * parent sees to that, and which may be killed at any moment.
 */
void candidate_measure(const struct run *run, struct candidate *candidate);

/* Switches back to the clocksource in use and times it once more, in a child as well. */
void candidate_time_again(const struct run *run, struct candidate *candidate);

/* Returns how many of the CPUs test this clocksource for warps. Pure. */
size_t candidate_warp_cpus(const char *name, size_t allowed);

/*
 * *fact is known if a clock that ran at these ratios of its right speed, each over a window of its
 * own, is usable; failed if the median is far from 1, which takes most windows to agree. Pure.
 */
void candidate_judge_speed(const double ratios[SPEED_WINDOWS], struct fact *fact);

/* ---- run.c: all of them, one after the other ---- */

struct run {
	/* The request. */
	const struct clocksource_switch *sw;
	const struct call_table *calls; /* the deciding ones */
	int64_t warp_ns;                /* duration of the test for warps */
	guardian_report *orphaned;
	const volatile bool *stop; /* ends the run once it is true */

	/* The results. */
	bool begun;      /* else nothing was switched */
	struct fact why; /* known: every candidate was tried; or what ended it early */
	enum switch_result restored;
	struct fact restored_fact; /* known: the original clocksource is in use, as read back */
	struct ntp_evidence before, after;
	size_t count;
	struct candidate *candidates; /* the one in use is the first; shared with the workers */

	/* During the run. */
	struct guardian guardian;
	void (*work)(const struct run *run, struct candidate *candidate);
	size_t current;           /* place of the candidate that is worked on */
	struct deadline deadline; /* of that work */
};

/*
 * Tries these candidates, without the one in use; a terminal cannot stop the process then. The
 * results stay until it ends.
 */
void run_candidates(struct run *run, const char *const *names, size_t count);

/* ---- compare.c: a run of the command ---- */

#define ONLY_MAX 32

/* The kind of cli->data. */
struct compare {
	struct report report;

	/* The options. */
	size_t only_count; /* 0: all */
	struct span only[ONLY_MAX];
	bool with_guests;
	bool yes;

	/* The plan. */
	char tree[CURRENT_PATH_SIZE]; /* before a path in a message: that of --sysroot; "": none */
	bool rehearsal;               /* on a tree: the clock of this host does not change */
	struct evidence host;         /* evidence of the tree, for the advice */
	struct clocksource_switch sw;
	double warp_s; /* seconds that each is tested for warps */
	size_t count;  /* number of candidates, without the one in use */
	const char *names[CLOCKSOURCE_MAX];

	struct run run;

	/* Concluded by compare_conclude(). */
	/* No warp was seen; the one in use unless another is clearly better. NULL: none. */
	const struct candidate *fastest;
	struct text_fact fastest_name;
	const char *why_not; /* the fastest is not advisable; NULL: it is, or is in use */
	/* The advice, where report.advice_fact is known: candidate to change to, lines for a shell.
	 */
	const struct candidate *advised;
	char command[CURRENT_PATH_SIZE + 128], parameter[64], undo[CURRENT_PATH_SIZE + 128];
	char risk[REPORT_SENTENCE_SIZE];
};

/* ---- ranking.c: concludes the answer, and what is left open in all candidates. Pure ---- */

extern const struct answer compare_answers[];
extern const char *const candidate_state_names[]; /* ended by NULL, like the next */
extern const char *const candidate_gain_names[];

void compare_conclude(struct compare *compare);

/* ---- print.c: the document, and the text ---- */

extern const struct field compare_fields[];

/* Takes a struct compare. */
void compare_text(const void *data, struct page *page);

#endif
