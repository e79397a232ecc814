/* SPDX-License-Identifier: MIT */
/*
 * The data of `vdsocheck fleet`: of each document the few values that are shown, a kilobyte at
 * most, and the groups that the hosts fall into.
 */
#ifndef VDSOCHECK_FLEET_MODEL_H
#define VDSOCHECK_FLEET_MODEL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"
#include "document.h"
#include "evidence.h"
#include "judge.h"

#define FLEET_SCHEMA "vdsocheck-fleet/1"

#define FLEET_VERDICTS 5 /* of enum verdict_kind */
#define FLEET_SUMMARY_SIZE 240

/* The properties by which hosts are grouped. */
enum fleet_dimension {
	FLEET_KERNEL,
	FLEET_CLOCKSOURCE,
	FLEET_INSTANCE_TYPE,
	FLEET_CAUSE, /* of hosts that are not ok: each has several, or none */
	FLEET_DIMENSIONS,
};

struct fleet_host {
	char *name;                /* owned */
	char time[TIMESTAMP_SIZE]; /* "": unknown */
	enum verdict_kind verdict;
	const char *rule; /* id of the rule that gave the verdict; static */
	size_t cause_count;
	const char *causes[CAUSE_MAX];          /* static */
	char keys[FLEET_CAUSE][FACT_TEXT_SIZE]; /* "": unknown */
	double call_ns;                         /* ns per call; NAN: unknown, here and below */
	double lost_ns;                         /* ns per call, against the vDSO */
	double lost_cpus;                       /* CPUs, at the rate of calls of the host */
};

/* Hosts, and what they lose. */
struct fleet_sums {
	size_t hosts, affected; /* all, and those that are not ok */
	size_t verdicts[FLEET_VERDICTS];
	size_t timed;        /* affected hosts with known lost_ns */
	double mean_lost_ns; /* ns per call, over these */
	size_t rated;        /* affected hosts with known lost_cpus */
	double lost_cpus;    /* CPUs, of all of these together */
};

/* The hosts that have a key in common. */
struct fleet_group {
	const char *name; /* "": unknown, or no cause was found */
	struct fleet_sums sums;
};

struct fleet_groups {
	size_t count, room;
	struct fleet_group *list;
};

struct fleet {
	uint64_t top; /* rows of hosts and of each group in the text; 0: not given */
	double rate;  /* calls per second of each host; 0: that of each document */
	bool all;     /* hosts that are ok are listed, too */
	struct timestamp_evidence timestamp;
	size_t count, room;
	struct fleet_host *hosts;
	size_t broken; /* documents that could not be read */
	/* After fleet_sum(). */
	struct fleet_sums sums;
	struct fleet_groups groups[FLEET_DIMENSIONS];
	size_t listed;             /* hosts in the report, the first of the list */
	enum verdict_kind verdict; /* the worst; with broken documents not better than unknown */
	char summary[FLEET_SUMMARY_SIZE]; /* one sentence */
	int exit_status;
};

/* One document, as it comes in. */
struct fleet_document {
	struct evidence evidence;
	char file[PATH_MAX]; /* whose document it was, for `check --from`; "": not known */
	double rate;         /* calls per second that the host makes; not positive: unknown */
};

/*
 * Judges a document and keeps what is shown of it. The name is the host's or, without one, that of
 * document->file or else `place`, where the document was found.
 */
void fleet_add(struct fleet *fleet, const struct fleet_document *document, const char *place);

/* After the last document: sorts the hosts, makes and sorts the groups, the worst first. */
void fleet_sum(struct fleet *fleet);

void fleet_free(struct fleet *fleet);

/* Writes the sentence about the sums. */
void fleet_summarize(struct fleet *fleet);

/* Both take a struct fleet. */
bool fleet_write_text(const void *result, const struct style *style, FILE *out);
bool fleet_write_json(const void *result, const struct style *style, FILE *out);
extern const struct field fleet_fields[];

#endif
