/* SPDX-License-Identifier: MIT */
/* What `vdsocheck fleet` prints. */
#ifndef VDSOCHECK_FLEET_REPORT_H
#define VDSOCHECK_FLEET_REPORT_H

#include "cli/command.h"
#include "document.h"
#include "model.h"

#define FLEET_JSON_SCHEMA "vdsocheck-fleet/1"

#define FLEET_SUMMARY_SIZE 240

struct fleet_report {
	const struct fleet *fleet;
	const struct moment_evidence *moment;
	char summary[FLEET_SUMMARY_SIZE]; /* one sentence */
	double rate;                      /* calls per second of each host; 0: not given */
	size_t top;                       /* rows of hosts and of each group; 0: not given */
	bool all;                         /* hosts that are ok, too */
	int exit_status;
};

/* Writes the sentence. */
void fleet_summarize(const struct fleet *fleet, char summary[FLEET_SUMMARY_SIZE]);

/* All take a struct fleet_report: tables for people, a document, a line for each host. */
bool fleet_report_text(const void *result, const struct style *style, FILE *out);
extern const struct field fleet_report_fields[];
bool fleet_report_json(const void *result, const struct style *style, FILE *out);
bool fleet_report_csv(const void *result, const struct style *style, FILE *out);

#endif
