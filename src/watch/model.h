/* SPDX-License-Identifier: MIT */
/*
 * `vdsocheck watch`: the words that are watched, the events, and how an event is reported: printed,
 * to a program, to systemd.
 */
#ifndef VDSOCHECK_WATCH_MODEL_H
#define VDSOCHECK_WATCH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"
#include "document.h"
#include "evidence.h"
#include "judge.h"
#include "measure/vdso.h"

/* ---- words.c: what stands in the mapped pages ---- */

/* The words that are watched, where they are mapped in this process. */
struct watch_place {
	const volatile uint32_t *mode;               /* NULL: not found, nothing can be read */
	const volatile unsigned char *pvclock_flags; /* NULL: the clocksource has none */
	const volatile uint32_t *hyperv_sequence;    /* NULL: there is no such page */
	const volatile unsigned char *pvclock;       /* KVM's page; NULL: its base is not watched */
};

struct watch_words {
	/* They decide whether the vDSO serves the clock. */
	uint32_t mode;
	bool page_valid; /* true without such a page */
	/* The base of KVM's page, and whether the page marks the TSC stable. */
	uint64_t base[2];
	bool base_valid; /* false without such a page */
};

/*
 * Finds them where mode and page were read; all are NULL if the mode was not read. The pvclock page
 * may not be mapped: then reading it faults.
 */
void watch_place_find(const struct vdso_image *vdso, const struct vclock_evidence *vclock,
	struct watch_place *place);

/* Reads them without a system call. A page that is gone raises SIGBUS or SIGSEGV. */
struct watch_words watch_words_read(const struct watch_place *place);

/* Returns true if the words that the vDSO decides by differ. */
bool watch_words_differ(const struct watch_words *one, const struct watch_words *other);

/*
 * Returns true if the guest was restored, migrated, or paused and resumed between the two: the base
 * is another one. A host that leaves tsc replaces it as well, and marks the page as not stable.
 */
bool watch_words_restored(const struct watch_words *before, const struct watch_words *now);

/* ---- events ---- */

struct watch_check {
	struct evidence evidence;
	struct diagnosis diagnosis;
};

enum watch_event_kind { WATCH_START, WATCH_CHANGE, WATCH_RESTORED, WATCH_TEST, WATCH_END };

/* "start", "change", "restored", "test", "end"; ended by NULL. */
extern const char *const watch_event_names[];

struct watch_log_line {
	struct fact fact;
	char text[KERNEL_LOG_TEXT_SIZE + 32]; /* "[93.208141] clocksource: ..." */
};

struct watch_counts {
	uint64_t changes; /* of the state or the verdict, also those that a restore brought */
	uint64_t restores;
	struct text_fact last_change; /* when it was noticed */
	uint64_t wakeups;
	double cpu_s; /* of this process, without the checks and the hooks, which are children */
};

struct watch_event {
	enum watch_event_kind kind;
	struct timestamp_evidence timestamp; /* of noticing it */
	struct watch_check *before, *now;    /* before: NULL at the start and at the end */
	struct ntp_evidence ntp;
	struct watch_log_line log; /* what the kernel logged about the change */
	struct fact page;          /* known: the data page is watched; else why not */
	bool watches_base;         /* KVM's page is stable, and its base is watched */
	double interval_s, recheck_s;
	struct real_fact stood_s; /* of a restore: seconds that the guest's clock stood still */
	struct watch_counts counts;
};

/*
 * Finds the line that explains a change: of the lines newer than all in `before` the last "Switched
 * to clocksource", or, as that only repeats what is known, the first other one of the
 * WATCH_REASON_S seconds before it. The kernel switches right after it has marked a clocksource
 * unstable: by a work item (kernel/time/clocksource.c, __clocksource_unstable(), 3.10 to 7.3).
 */
#define WATCH_REASON_S 2
void watch_log_find(const struct kernel_log_evidence *before, const struct kernel_log_evidence *now,
	struct watch_log_line *line);

/*
 * The state in a few words: "tsc (mode tsc)", "kvm-clock (mode pvclock, page invalid)". Returns
 * `text`.
 */
#define WATCH_STATE_SIZE 128
char *watch_describe_state(const struct evidence *evidence, char text[WATCH_STATE_SIZE]);

/* True if clocksource, mode and verdict are the same. */
bool watch_checks_agree(const struct watch_check *before, const struct watch_check *now);

/*
 * Finds by how many seconds the clock fell behind between two checks, and the error of that: by the
 * clock with the time of day that both were compared with, or else by what tsc missed. Returns
 * false with the reason if neither is known.
 */
bool watch_find_stood(const struct watch_check *before, const struct watch_check *now,
	double *stood_s, double *error_s, struct fact *why);

/* Returns true if the clock fell behind by a second more than the error. */
bool watch_fell_behind(const struct watch_check *before, const struct watch_check *now);

/*
 * Returns true if the number of CPUs changed and the clock did not fall behind between two checks:
 * KVM replaces the base for an added CPU, too.
 */
bool watch_only_cpus_changed(const struct watch_check *before, const struct watch_check *now);

/* ---- reports ---- */

#define WATCH_JSON_SCHEMA "vdsocheck-watch/1"

/*
 * Each takes a struct watch_event. The text is a few lines, the JSON is one, the metrics are of the
 * whole run.
 */
void watch_event_text(const void *result, const struct style *style, FILE *out);
extern const struct field watch_event_fields[];
void watch_event_json(const void *result, const struct style *style, FILE *out);
void watch_event_prometheus(const void *result, const struct style *style, FILE *out);

/* The time that a hook may take. */
#define WATCH_HOOK_NS 10000000000

/*
 * Runs the program at this path with the event's JSON on its standard input and
 * VDSOCHECK_* in its environment, and waits for it. What it prints goes to standard error. False
 * with the reason unless it ended with status 0 within WATCH_HOOK_NS; at the end of the time its
 * process group is killed.
 */
bool watch_hook_run(const char *program, const struct watch_event *event, struct fact *why);

/*
 * The notification protocol of sd_notify(3): the service is ready, with its state in a line.
 * Without NOTIFY_SOCKET nothing happens; nor does an error, since nothing depends on it.
 */
void watch_notify(const struct watch_event *event);

#endif
