/* SPDX-License-Identifier: MIT */
/* What `vdsocheck warp` prints. */
#ifndef VDSOCHECK_WARP_REPORT_H
#define VDSOCHECK_WARP_REPORT_H

#include "cli/command.h"
#include "verdict.h"
#include "warp.h"

#define WARP_JSON_SCHEMA "vdsocheck-warp/1"

struct warp_report {
	const struct warp_evidence *warp;
	const struct warp_ruling *ruling;
	const struct moment_evidence *moment;
	int exit_status;
};

/* Both take a struct warp_report: for people, the verdict first; for programs. */
bool warp_report_text(const void *result, const struct style *style, FILE *out);
bool warp_report_json(const void *result, const struct style *style, FILE *out);

#endif
