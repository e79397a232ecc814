/* SPDX-License-Identifier: MIT */
/*
 * The parts of check: the request with its policy, the evidence, what both lead to, and the formats
 * in which that is printed: for people, for programs, for a ticket, for monitoring.
 */
#ifndef VDSOCHECK_CHECK_MODEL_H
#define VDSOCHECK_CHECK_MODEL_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/root.h"
#include "base/time.h"
#include "document.h"
#include "evidence.h"
#include "judge.h"
#include "report.h"

/* ---- policy.c: what the caller requires of a host beyond the verdict ---- */

#define POLICY_CLOCKSOURCE_MAX 16

/* A zeroed policy requires nothing. */
struct policy {
	size_t clocksource_count;                         /* one of these must be in use */
	struct span clocksources[POLICY_CLOCKSOURCE_MAX]; /* not owned */
	double max_ns; /* most ns that a deciding call may take; 0: any */
};

/* All names, each with its comma. */
#define REQUIREMENT_SIZE (POLICY_CLOCKSOURCE_MAX * CLOCKSOURCE_NAME_SIZE)

/* The requirement of one option, and whether the host is known to meet it. */
struct requirement {
	const char *option; /* "require" or "max-ns" */
	char value[REQUIREMENT_SIZE];
	bool met;
	char reason[REQUIREMENT_SIZE]; /* a clause: "the clocksource is hpet" */
};

struct outcome {
	uint32_t exit_status; /* 1 if a requirement is not met, else that of the verdict; 128+N:
	                         interrupted */
	size_t count, unmet;
	struct requirement requirements[2];
};

void policy_judge(const struct policy *policy, const struct evidence *evidence,
	enum verdict_kind verdict, struct outcome *outcome);

/* Adds "--require tsc is not met: the clocksource is hpet", between these, for each. */
void policy_add_unmet(
	const struct outcome *outcome, const char *before, const char *after, struct strbuf *sb);

/* The name of a call: "gettimeofday", "CLOCK_BOOTTIME" for clock_gettime of this clock. */
const char *policy_call_name(const struct call_evidence *call);

/* ---- options.c ---- */

/* A run: the user's request, and what was found. */
struct check_request {
	double rate; /* calls per second; 0: not given */
	bool identity;
	struct policy policy;
	struct evidence evidence;
	struct diagnosis diagnosis;
	struct outcome outcome;
	const char *file;    /* path of the document, or "-"; NULL: this host or a tree */
	unsigned long line;  /* where it begins, if the file has others; else 0 */
	const char *sysroot; /* path of the captured tree; NULL: none */
	bool several;        /* further documents are printed, and each has to be named */
	bool printed;        /* the report of another document was printed */
};

extern const struct option_row check_options[];

/* Stores a value in cli->data, a struct check_request; false after an error message. */
bool check_take(struct cli *cli, int id, const char *value);

/*
 * True if each clocksource of the policy is known by name or offered by this host. False after a
 * message: a misspelt name would make a policy that no host meets.
 */
bool check_clocksources_exist(const struct policy *policy, const struct evidence *evidence);

/* ---- gather.c: what is read and measured for a report, or for a verdict ---- */

/*
 * Fills the evidence. A live root is measured; before that the process opens the kernel log and
 * gives up its capabilities. With another root nothing is measured. Without `all`, only
 * what the screen shows is: the deciding calls, and no copy of a vDSO that serves them.
 */
void gather_evidence(const struct root *root, struct evidence *evidence, bool all,
	const struct deadline *deadline);

/*
 * Fills only what a verdict can rest on: the proof, and times where they can change it. That is
 * enough for an exit status, not for a report.
 */
void gather_verdict(
	const struct root *root, struct evidence *evidence, const struct deadline *deadline);

/* ---- the formats: the head of each file says what it writes ---- */

typedef void check_report(const void *request, const struct style *style, FILE *out);
check_report check_report_text, check_report_json, check_report_markdown, check_report_prometheus,
	check_report_nagios, check_report_summary, check_report_line;

/* Writes the error message as a status, since monitoring shows standard output only. */
void check_report_nagios_failure(const char *message, FILE *out);

/*
 * The exit status of a Nagios plugin for a request: 0 OK, 1 WARNING for what the verdict finds
 * wrong, 2 CRITICAL for a requirement of the user's that is not met, 3 UNKNOWN.
 */
int check_nagios_status(const void *request);

/* ---- help.c: what "vdsocheck help" explains beside the commands ---- */

/*
 * Lists and terms, then the id of each cause and of each advice, by place; within "causes" their
 * groups; NULL: no more.
 */
const char *help_topic(const char *within, size_t place);

/* Prints the list or group with this name, or explains the term, the cause or the advice. */
void help_explain(const char *topic, FILE *out);

/* Prints a piece of advice with all its steps, as the screen does with --verbose. */
void check_write_advice(const struct advice *advice, FILE *out);

/* Prints what --verbose does, without the table of calls, plainly. */
void check_write_whole(const struct check_request *request, FILE *out);

/* "==> FILE <==", as head(1) has it, if the report is one of several. */
void check_report_write_file(const struct check_request *request, FILE *out);

/* ---- json.c: documents as they are read ---- */

/*
 * The keys of a struct check_request. Of a document the evidence alone is read, since it is judged
 * anew. Facts whose keys are missing or null are not known.
 */
extern const struct field check_fields[];

/* ---- describe.c: words that several formats have in common ---- */

/* Bytes of a document's name: "clocks.jsonl:17". */
#define CHECK_NAME_SIZE (PATH_MAX + 24)

/* The path of the request's document, with its line if the file has others; harmless to print. */
void check_name_document(const struct check_request *request, char name[CHECK_NAME_SIZE]);

/* The length of the first sentence of this text. */
int check_first_sentence(const char *text);

/* The verdict in a sentence, with what a call takes and would take, where that is known. */
void check_add_verdict(
	const struct diagnosis *diagnosis, const struct evidence *evidence, struct strbuf *sb);

enum line_id {
	LINE_CLOCKSOURCE,
	LINE_VDSO,
	LINE_VCLOCK,
	LINE_PROOF,
	LINE_VALUES,
	LINE_TIMING,
	LINE_NTP,
	LINE_HOST,
	LINE_DETAILS,
};

/* The column in which the text of a line below begins. */
#define EVIDENCE_INDENT 16

/*
 * A line about the evidence: add() adds its text, nothing if there is nothing to say. With `all` it
 * has the reasons and details, too; without, the host fits the screen's line.
 */
extern const struct evidence_line {
	const char *label;
	void (*add)(const struct evidence *evidence, bool all, struct strbuf *sb);
} evidence_lines[];

/* The label of the causes: "Why"; "Note" if all is well, "Seen" in a captured tree. */
const char *check_why(const struct check_request *request);

/* The clock mode as a word: "none", "tsc" ..., "other" without a name; "" if it is not known. */
const char *check_mode_word(const struct vclock_evidence *vclock);

/* "2026-11-21T15:02:11Z, 3 days after boot"; empty if the time is not known. */
void check_add_timestamp(const struct timestamp_evidence *timestamp, struct strbuf *sb);

/* The calls' losses; empty if they are not known, or nothing is lost and no rate was given. */
void check_add_cost(const struct diagnosis *diagnosis, struct strbuf *sb);

/*
 * Writes a table of calls: ns of each path and "served by the vDSO", "always falls back" ... The
 * calls that the verdict rests on come first; the others follow with `all`.
 */
void check_write_calls(
	const struct check_request *request, bool all, enum table_form form, FILE *out);

#endif
