/* SPDX-License-Identifier: MIT */
/* What `vdsocheck check` prints: for people, for programs, for a ticket, for monitoring. */
#ifndef VDSOCHECK_CHECK_REPORT_H
#define VDSOCHECK_CHECK_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/describe.h"
#include "document.h"
#include "evidence.h"
#include "judge.h"
#include "policy.h"

struct check_report {
	const struct evidence *evidence;
	const struct diagnosis *diagnosis;
	const struct policy *policy;
	const struct outcome *outcome;
	const char *file; /* path of the document; NULL: this host or a captured tree */
	bool several;     /* further documents are printed, and each has to be named */
};

/* ---- the formats, which take a struct check_report ---- */

/* The screen: the verdict first, then evidence, table, why, what to do, cost. */
bool check_report_text(const void *result, const struct style *style, FILE *out);

/* Schema "vdsocheck/1": one object and a newline, on one line where the style is compact. */
bool check_report_json(const void *result, const struct style *style, FILE *out);

/*
 * For a ticket: verdict, evidence, proof, table, kernel log, and how to see the same with
 * standard tools. Nothing in it names the host unless asked for.
 */
bool check_report_markdown(const void *result, const struct style *style, FILE *out);

/* The text format of Prometheus, for node_exporter's textfile collector. */
bool check_report_prometheus(const void *result, const struct style *style, FILE *out);

/* "VDSOCHECK OK - ... | perfdata", and the causes and advice as long output. */
bool check_report_nagios(const void *result, const struct style *style, FILE *out);

/* "VDSOCHECK UNKNOWN - " and the error message: monitoring shows standard output only. */
void check_report_nagios_failure(const char *message, FILE *out);

/* "VERDICT: SENTENCE", after what the exit status follows from otherwise: one line. */
bool check_report_summary(const void *result, const struct style *style, FILE *out);

/* "HOST VERDICT CLOCKSOURCE MODE NS CAUSE KERNEL", "-" for what is not known. */
bool check_report_line(const void *result, const struct style *style, FILE *out);

/*
 * The exit status of a Nagios plugin for it: 0 OK, 1 WARNING for what the verdict finds wrong,
 * 2 CRITICAL for a requirement of the user's that is not met, 3 UNKNOWN.
 */
int check_nagios_status(const void *result);

/* "==> FILE <==", as head(1) has it, if the report is one of several. */
void check_report_write_file(const struct check_report *report, FILE *out);

/* ---- json.c: documents as they are read ---- */

#define CHECK_PART_COUNT 9 /* with the empty one at the end */

/*
 * The parts of a document: to be written, or to be read into `to`, which has to be zeroed;
 * neither: for its schema. Only the evidence is read, not what it was judged to mean. Facts whose
 * keys are missing or null are not known.
 */
void check_document_parts(struct document_part parts[CHECK_PART_COUNT],
	const struct check_report *from, struct evidence *to);

/* ---- describe.c: words that several formats have in common ---- */

/* The verdict in a sentence, with what a call takes and would take, where that is known. */
void describe_verdict(
	const struct diagnosis *diagnosis, const struct evidence *evidence, struct strbuf *sb);

/* One line each, without its label; with `all` the reasons, too. */
void describe_vclock(const struct evidence *evidence, bool all, struct strbuf *sb);
void describe_proof(const struct evidence *evidence, bool all, struct strbuf *sb);

/* The label of the causes: "Why"; "Note" if all is well, "Seen" in a captured tree. */
const char *describe_why(const struct check_report *report);

/* The clock mode as a word: "none", "tsc" ..., "other" without a name; "" if it is not known. */
const char *describe_mode(const struct vclock_evidence *vclock);

/* "--require tsc is not met: the clocksource is hpet" */
void describe_requirement(const struct requirement *requirement, struct strbuf *sb);

/* The host with its TSC and boot parameters; describe_host_brief() is the short form. */
void describe_host_full(const struct evidence *evidence, struct strbuf *sb);

/* "2026-11-21T15:02:11Z, 3 days after boot"; empty if the time is not known. */
void describe_moment(const struct moment_evidence *moment, struct strbuf *sb);

/* The vDSO and its functions. */
void describe_vdso(const struct evidence *evidence, struct strbuf *sb);

/* Why nothing was timed; empty if something was, or if the host was not measured live. */
void describe_timing(const struct evidence *evidence, struct strbuf *sb);

/* What the calls lose; empty if it is not known, or nothing is lost and no rate was given. */
void describe_cost(const struct diagnosis *diagnosis, struct strbuf *sb);

/*
 * A table of the calls whose bits are set in `shown`, the deciding ones first: ns of each path and
 * "served by the vDSO", "always falls back" ...
 */
void check_write_calls(
	const struct evidence *evidence, unsigned shown, enum table_form form, FILE *out);

#endif
