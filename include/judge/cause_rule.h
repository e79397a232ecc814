/* SPDX-License-Identifier: MIT */
/* What the tables of causes are made of. Pure. */
#ifndef VDSOCHECK_JUDGE_CAUSE_RULE_H
#define VDSOCHECK_JUDGE_CAUSE_RULE_H

#include "judge/cause.h"

struct cause_rule {
	const char *id;
	enum certainty certainty;
	bool (*applies)(const struct evidence *evidence, enum verdict verdict);
	void (*support)(const struct evidence *evidence, struct cause *cause);
	const char *more;
	const char *text;
};

/* Adds a piece of evidence, printf-like; beyond CAUSE_EVIDENCE_MAX it is dropped. */
void cause_add_evidence(struct cause *cause, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Quotes a line of the kernel log with its time; NULL adds nothing. */
void cause_add_log_line(struct cause *cause, const struct kernel_log_line *line);

/* Supports in common: clocksource, clock mode and hypervisor's page; the boot parameters. */
void cause_support_by_mode(const struct evidence *evidence, struct cause *cause);
void cause_support_by_boot(const struct evidence *evidence, struct cause *cause);

/*
 * The calls fall back on a clocksource that no kernel gives a clock mode; or would, by its
 * name, where a captured tree is all there is.
 */
bool cause_is_plain_clocksource(const struct evidence *evidence, enum verdict verdict);

#endif
