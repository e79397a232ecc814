/* SPDX-License-Identifier: MIT */
/* What makes the calls slow, or is worth a note though they are not. Pure. */
#ifndef VDSOCHECK_JUDGE_CAUSE_CLOCK_H
#define VDSOCHECK_JUDGE_CAUSE_CLOCK_H

#include "judge/cause_rule.h"

extern const struct cause_rule cause_clock_rules[];
extern const size_t cause_clock_rule_count;

#endif
