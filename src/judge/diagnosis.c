/* SPDX-License-Identifier: MIT */
/* The whole of judge/ in one call: the verdict, then the causes, which bring their advice along. */
#include "rules.h"

void diagnose(const struct evidence *evidence, struct diagnosis *diagnosis)
{
	struct cause_list causes;
	struct view view;

	verdict_find(evidence, &diagnosis->verdict);
	view_make(evidence, diagnosis->verdict.kind, &view);
	diagnosis->contradiction_count = contradiction_find(&view, diagnosis->contradictions);
	cause_find(&view, diagnosis->causes, &causes);
	diagnosis->cause_count = causes.count;
	diagnosis->advice_count = advice_find(&view, &causes, diagnosis->advice);
	cost_find(&view, &diagnosis->cost);
	diagnosis->other_count = clocksources_find_others(&view, diagnosis->others);
	wall_clock_find(evidence, &diagnosis->wall_clock);
}
