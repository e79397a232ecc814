/* SPDX-License-Identifier: MIT */
/*
 * Makes the diagnosis by one view of the evidence, which all rules share: the verdict comes first,
 * and then what follows from it: the causes, which bring their advice along.
 */
#include "rules.h"

void diagnose(const struct evidence *evidence, struct diagnosis *diagnosis)
{
	struct view view = view_of(evidence);
	struct cause_list causes;

	verdict_find(&view, &diagnosis->verdict);
	view_follow(&view);
	diagnosis->wants_log = view.verdict != VERDICT_OK || (view.on_x86 && view.tsc_unexplained);
	diagnosis->contradiction_count = contradiction_find(&view, diagnosis->contradictions);
	cause_find(&view, diagnosis->causes, &causes);
	diagnosis->cause_count = causes.count;
	diagnosis->advice_count = advice_find(&view, &causes, diagnosis->advice);
	cost_find(&view, &diagnosis->cost);
	diagnosis->other_count = other_clocksources_find(&view, diagnosis->others);
}
