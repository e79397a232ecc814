/* SPDX-License-Identifier: MIT */
/*
 * The kernel's clocksource watchdog compares the TSC with a reference clock twice a second
 * and drops the TSC where the two disagree. It measures a disagreement, not a fault of the
 * TSC: the lines it logs hold the figures to work out which of the two was wrong.
 */
#ifndef VDSOCHECK_JUDGE_WATCHDOG_H
#define VDSOCHECK_JUDGE_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evidence.h"

enum watchdog_culprit {
	WATCHDOG_UNDETERMINED, /* the figures do not decide */
	WATCHDOG_WRAPPED,      /* the watchdog ran late and the reference wrapped around */
	WATCHDOG_STOPPED,      /* the reference did not count, or not all the time */
	WATCHDOG_MISREAD,      /* the reference was read as all ones */
	WATCHDOG_LOST_TICKS,   /* the reference is counted by timer interrupts; some were lost */
	WATCHDOG_LATE,         /* a check so late that its limit, meant for 0.5 s, is too tight */
	WATCHDOG_PAUSED,       /* the guest was paused, and one clock did not count it */
	WATCHDOG_MOVED,        /* the guest runs on a TSC of another rate now, or was paused */
	WATCHDOG_DELAYED_READ, /* a difference that a delayed read explains */
	WATCHDOG_TSC_JUMPED,   /* the TSC was reset or written */
	WATCHDOG_TSC_SKEWED,   /* the two run at different rates */
};

/* One side of a check: a counter's two readings, and the time they make. */
struct watchdog_counter {
	char name[CLOCKSOURCE_NAME_SIZE];
	bool read; /* now, last and mask are known */
	uint64_t now, last, mask;
	bool logged;    /* the kernel logged the interval itself */
	double seconds; /* the interval, as the kernel or the rate has it; negative: unknown */
};

struct watchdog_report {
	struct watchdog_counter reference, tsc;
	enum watchdog_culprit culprit;
	unsigned wraps; /* WRAPPED: how often; 0: past half of its range, which counts as none */
	double true_seconds;                /* WRAPPED: the interval that both agree on */
	const struct kernel_log_line *line; /* the one that has the TSC's readings */
};

/*
 * Takes the first report on the TSC in the log apart and names the likely culprit. False if
 * the log has none with figures. The report refers to the evidence's log.
 */
bool watchdog_explain(const struct evidence *evidence, struct watchdog_report *report);

#endif
