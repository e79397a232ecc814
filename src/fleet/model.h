/* SPDX-License-Identifier: MIT */
/*
 * The data of `vdsocheck fleet`: of each document the few values that are shown, and the groups
 * that the hosts fall into. Some 400 bytes per host, whatever its document has.
 */
#ifndef VDSOCHECK_FLEET_MODEL_H
#define VDSOCHECK_FLEET_MODEL_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "evidence.h"
#include "judge.h"

#define FLEET_VERDICTS 4 /* of enum verdict_kind */

/* What hosts are grouped by. */
enum fleet_dimension {
	FLEET_CAUSE, /* of hosts that are not ok: each has several, or none */
	FLEET_KERNEL,
	FLEET_CLOCKSOURCE,
	FLEET_INSTANCE_TYPE,
	FLEET_DIMENSIONS,
};

struct fleet_host {
	const char *name;
	char time[MOMENT_TIME_SIZE]; /* "": unknown */
	enum verdict_kind verdict;
	const char *rule; /* that the verdict was found by; static */
	size_t cause_count;
	const char *causes[CAUSE_MAX];    /* static */
	const char *of[FLEET_DIMENSIONS]; /* "": unknown; of FLEET_CAUSE the first */
	double call_ns;                   /* of one call; negative: unknown, here and below */
	double lost_ns;                   /* of it, against the vDSO */
	double lost_cpus;                 /* by as many calls as the host makes */
};

/* Hosts, and what they lose. */
struct fleet_sums {
	size_t hosts[FLEET_VERDICTS];
	size_t with_lost_ns; /* not ok, with known lost_ns */
	double lost_ns;      /* of all of these together */
	size_t rated;        /* the same for lost_cpus */
	double lost_cpus;
};

/* The hosts that have something in common. */
struct fleet_group {
	const char *name; /* "": unknown, or no cause was found */
	struct fleet_sums sums;
};

struct fleet_groups {
	json_t *places; /* an object: for each name its place in the list */
	size_t count, room;
	struct fleet_group *list;
};

struct fleet {
	size_t count, room;
	struct fleet_host *hosts;
	json_t *names;      /* an object, for its keys alone: the texts of the hosts */
	json_t *identities; /* an object: hosts that documents name, with their places in hosts */
	size_t broken;      /* documents that could not be read */
	size_t superseded;  /* documents of hosts of which there is a newer one */
	/* After fleet_sum(). */
	struct fleet_sums sums;
	struct fleet_groups groups[FLEET_DIMENSIONS];
};

/* One document, as it comes in. */
struct fleet_document {
	struct evidence evidence;
	char file[PATH_MAX]; /* whose document it was, for `check --from`; "": not known */
	double rate;         /* calls per second that the host makes; not positive: unknown */
};

/* False if memory ran out, here and below; fleet_free() in any case. */
bool fleet_start(struct fleet *fleet);
void fleet_free(struct fleet *fleet);

/*
 * Judges a document and keeps what is shown of it. Where it names its host, only the newest
 * document of that host is kept; otherwise its name is that of document->file or, without one,
 * `place`, where the document was found.
 */
bool fleet_add(struct fleet *fleet, const struct fleet_document *document, const char *place);

/*
 * After the last document: sorts the hosts, makes the groups and sorts them, the worst first.
 */
bool fleet_sum(struct fleet *fleet);

/* A copy of the text that the fleet owns, one for all equal texts; NULL if memory ran out. */
const char *fleet_keep(struct fleet *fleet, const char *text);

/* The worst verdict of all; with broken documents not better than unknown. */
enum verdict_kind fleet_verdict(const struct fleet *fleet);

/* How many there are in all, and how many are not ok. */
size_t fleet_hosts(const struct fleet_sums *sums);
size_t fleet_affected(const struct fleet_sums *sums);

#endif
