/* SPDX-License-Identifier: MIT */
/* What `vdsocheck trace` prints. */
#ifndef VDSOCHECK_TRACE_REPORT_H
#define VDSOCHECK_TRACE_REPORT_H

#include "cli/command.h"
#include "document.h"
#include "model.h"

#define TRACE_JSON_SCHEMA "vdsocheck-trace/1"

struct trace_report {
	const struct trace_evidence *trace;
	const struct trace_diagnosis *diagnosis;
	const struct moment_evidence *moment;
	int exit_status;
};

/* "tracepoints", "seccomp and ptrace", "ptrace"; ended by NULL. */
extern const char *const trace_method_names[];

/* Both take a struct trace_report: for people, the verdict first; for programs. */
bool trace_report_text(const void *result, const struct style *style, FILE *out);
extern const struct field trace_report_fields[];
bool trace_report_json(const void *result, const struct style *style, FILE *out);

#endif
