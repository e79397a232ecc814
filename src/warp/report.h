/* SPDX-License-Identifier: MIT */
/* What `vdsocheck warp` prints. */
#ifndef VDSOCHECK_WARP_REPORT_H
#define VDSOCHECK_WARP_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "verdict.h"
#include "warp.h"

#define WARP_JSON_SCHEMA "vdsocheck-warp/1"

struct warp_report {
	const struct warp_evidence *warp;
	const struct warp_ruling *ruling;
	const struct moment_evidence *moment;
	bool color;
};

/* For people: the verdict first, then a table. */
bool warp_report_text(const struct warp_report *report, FILE *out);

/* For programs: keys are added, never renamed. False if memory ran out. */
bool warp_report_json(const struct warp_report *report, FILE *out);

#endif
