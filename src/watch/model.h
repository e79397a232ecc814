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

/* The words that the vDSO reads, where they are mapped in this process. */
struct watch_place {
	const volatile uint32_t *mode;               /* NULL: not found, nothing can be read */
	const volatile unsigned char *pvclock_flags; /* NULL: the clocksource has none */
	const volatile uint32_t *hyperv_sequence;    /* NULL: there is no such page */
};

/* The values that decide whether the vDSO serves the clock. */
struct watch_words {
	uint32_t mode;
	bool page_valid; /* true without such a page */
};

/* Finds them where mode and page were read; all are NULL if the mode was not read. */
void watch_place_find(const struct vdso_image *vdso, const struct vclock_evidence *vclock,
	struct watch_place *place);

/* Reads them without a system call. A page that is gone raises SIGBUS or SIGSEGV. */
struct watch_words watch_words_read(const struct watch_place *place);

/*
 * A Hyper-V sequence that goes from one valid number to another is not a change of the words: it is
 * a sign of a migration.
 */
bool watch_words_differ(const struct watch_words *one, const struct watch_words *other);

/* ---- restore.c: whether the guest was restored or migrated, or the host suspended ---- */

/* The signs of it; the first that has changed is reported. */
enum watch_restore {
	RESTORE_NONE,
	RESTORE_VMCLOCK, /* the disruption marker in the page of /dev/vmclock0 */
	RESTORE_VMGENID, /* a uevent of drivers/virt/vmgenid.c */
	RESTORE_HYPERV,  /* the sequence number of the Hyper-V TSC page */
	RESTORE_SUSPEND, /* CLOCK_BOOTTIME went on while CLOCK_MONOTONIC stood still */
};

/* "", "vmclock" ...; ended by NULL. */
extern const char *const watch_restore_names[];

struct watch_vmclock;

/* The signs that are not in the pages of the vDSO come from these. */
struct watch_sources {
	const volatile struct watch_vmclock *vmclock; /* NULL: no device, or it cannot be read */
	int uevents;                                  /* a socket to poll; -1: none */
	uint64_t generations;                         /* uevents of vmgenid so far */
};

/* The signs; each is 0 where it cannot be read. */
struct watch_signs {
	uint64_t disruption;
	uint64_t generations;
	uint32_t hyperv_sequence;
	/* Bounds of the time that the host was suspended; none: INT64_MIN and INT64_MAX. */
	int64_t suspended_least_ns, suspended_most_ns;
};

/* Opens those that are there. */
void watch_sources_open(struct watch_sources *sources);

/* Counts the uevents that have arrived, by system calls. */
void watch_uevents_take(struct watch_sources *sources);

/* Returns whether a uevent's text, strings ended by NUL, says that the vmgenid is new. */
bool watch_uevent_is_vmgenid(const char *text, size_t length);

/* Reads what is mapped, without a system call; faults as watch_words_read(). */
struct watch_signs watch_signs_read(
	const struct watch_sources *sources, const struct watch_place *place);

/* Reads the clocks too: by the vDSO, or else by system calls, which a sandbox may punish. */
void watch_signs_read_suspended(struct watch_signs *signs);

/*
 * Returns the first sign that has changed. The time between the reads of two clocks is not a sign:
 * the bounds before and now must be 100 ms apart.
 */
enum watch_restore watch_restore_find(
	const struct watch_signs *before, const struct watch_signs *now);

/* ---- events ---- */

struct watch_check {
	struct evidence evidence;
	struct diagnosis diagnosis;
};

enum watch_event_kind { WATCH_START, WATCH_CHANGE, WATCH_RESTORED, WATCH_END };

/* "start", "change", "restored", "end"; ended by NULL. */
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
	enum watch_restore restored;         /* RESTORE_NONE unless that is the event */
	struct watch_check *before, *now;    /* before: of a change and a restore; else NULL */
	struct ntp_evidence ntp;
	struct watch_log_line log; /* what the kernel logged about the change */
	struct fact page;          /* known: the data page is watched; else why not */
	double interval_s;
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

/* ---- reports ---- */

#define WATCH_JSON_SCHEMA "vdsocheck-watch/1"

/*
 * Each takes a struct watch_event. The text is a few lines, the JSON is one, the metrics are of the
 * whole run.
 */
bool watch_event_text(const void *result, const struct style *style, FILE *out);
extern const struct field watch_event_fields[];
bool watch_event_json(const void *result, const struct style *style, FILE *out);
bool watch_event_prometheus(const void *result, const struct style *style, FILE *out);

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
