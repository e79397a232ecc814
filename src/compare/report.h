/* SPDX-License-Identifier: MIT */
/* What `vdsocheck compare` prints. */
#ifndef VDSOCHECK_COMPARE_REPORT_H
#define VDSOCHECK_COMPARE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "ranking.h"
#include "run.h"

#define COMPARE_JSON_SCHEMA "vdsocheck-compare/1"
#define COMPARE_SUMMARY_SIZE 320

struct compare_report {
	const struct comparison *comparison;
	const struct choice *choice;
	const struct moment_evidence *moment;
	const char *original;   /* the clocksource in use before and after */
	const char *hypervisor; /* systemd-detect-virt's word; NULL: none, or not known */
	int exit_status;
	bool color;
};

/* One sentence: which one is to be used. */
void compare_report_summary(const struct compare_report *report, char *summary, size_t size);

/* How the clocksource of this name stays after a reboot: two ways. Written to be pasted. */
#define COMPARE_REPORT_PARAMETER "clocksource=%s"
#define COMPARE_REPORT_COMMAND "echo %s > " CLOCK_SWITCH_PATH

/* For people: the sentence first, then the table. */
bool compare_report_text(const struct compare_report *report, FILE *out);

/* For programs: keys are added, never renamed. False if memory ran out. */
bool compare_report_json(const struct compare_report *report, FILE *out);

#endif
