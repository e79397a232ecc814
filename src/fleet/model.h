/* SPDX-License-Identifier: MIT */
/*
 * The data of `vdsocheck fleet`: of each document the few values that are shown, some 500 bytes,
 * and the groups that the hosts fall into.
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

#define FLEET_VERDICTS 4 /* of enum verdict_kind */

/* The properties by which hosts are grouped. */
enum fleet_dimension {
	FLEET_CAUSE, /* of hosts that are not ok: each has several, or none */
	FLEET_KERNEL,
	FLEET_CLOCKSOURCE,
	FLEET_INSTANCE_TYPE,
	FLEET_DIMENSIONS,
};

struct fleet_host {
	char *name;                /* owned */
	char time[TIMESTAMP_SIZE]; /* "": unknown */
	enum verdict_kind verdict;
	const char *rule; /* that the verdict was found by; static */
	size_t cause_count;
	const char *causes[CAUSE_MAX]; /* static */
	char *keys[FLEET_DIMENSIONS];  /* owned; "": unknown; of FLEET_CAUSE the first cause */
	double call_ns;                /* of one call; negative: unknown, here and below */
	double lost_ns;                /* of one call, against the vDSO */
	double lost_cpus;              /* by as many calls as the host makes */
};

/* Hosts, and what they lose. */
struct fleet_sums {
	size_t hosts, affected; /* all, and those that are not ok */
	size_t verdicts[FLEET_VERDICTS];
	size_t with_lost_ns; /* affected hosts with known lost_ns */
	double mean_lost_ns; /* of these */
	size_t rated;        /* affected hosts with known lost_cpus */
	double lost_cpus;    /* of all of these together */
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
	size_t count, room;
	struct fleet_host *hosts;
	size_t broken; /* documents that could not be read */
	/* After fleet_sum(). */
	struct fleet_sums sums;
	struct fleet_groups groups[FLEET_DIMENSIONS];
	enum verdict_kind verdict; /* the worst; with broken documents not better than unknown */
};

/* One document, as it comes in. */
struct fleet_document {
	struct evidence evidence;
	char file[PATH_MAX]; /* whose document it was, for `check --from`; "": not known */
	double rate;         /* calls per second that the host makes; not positive: unknown */
};

/* ---- hosts.c ---- */

/*
 * Judges a document and keeps what is shown of it. The name is the host's or, without one, that of
 * document->file or else `place`, where the document was found.
 */
void fleet_add(struct fleet *fleet, const struct fleet_document *document, const char *place);

/* After the last document: sorts the hosts, makes and sorts the groups, the worst first. */
void fleet_sum(struct fleet *fleet);

void fleet_free(struct fleet *fleet);

/* ---- text.c, json.c ---- */

#define FLEET_SUMMARY_SIZE 240

struct fleet_report {
	const struct fleet *fleet;
	const struct timestamp_evidence *timestamp;
	char summary[FLEET_SUMMARY_SIZE]; /* one sentence */
	size_t host_count;                /* hosts to be listed, the first of fleet->hosts */
	const struct fleet_host *hosts;
	double rate; /* calls per second of each host; 0: not given */
	size_t top;  /* rows of hosts and of each group in the text; 0: not given */
	bool all;
	int exit_status;
};

/* Writes the sentence. */
void fleet_summarize(const struct fleet *fleet, char summary[FLEET_SUMMARY_SIZE]);

/* Both take a struct fleet_report. */
bool fleet_report_text(const void *result, const struct style *style, FILE *out);
extern const struct field fleet_report_fields[];
bool fleet_report_json(const void *result, const struct style *style, FILE *out);

#endif
