/* SPDX-License-Identifier: MIT */
/* Why the kernel came to use this clocksource: what its log and its boot parameters say. Pure. */
#ifndef VDSOCHECK_JUDGE_CAUSE_CHOICE_H
#define VDSOCHECK_JUDGE_CAUSE_CHOICE_H

#include "judge/cause_rule.h"

extern const struct cause_rule cause_choice_rules[];
extern const size_t cause_choice_rule_count;

#endif
