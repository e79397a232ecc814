/* SPDX-License-Identifier: MIT */
/* The whole of judge/ in one call: the verdict, then the causes, which bring their advice along. */
#include "rules.h"

void diagnose(const struct evidence *evidence, struct diagnosis *diagnosis)
{
	const struct cause_row *rows[CAUSE_MAX];
	struct view view;

	verdict_find(evidence, &diagnosis->verdict);
	view_make(evidence, diagnosis->verdict.kind, &view);
	diagnosis->contradiction_count = contradiction_find(&view, diagnosis->contradictions);
	diagnosis->cause_count = cause_find(&view, diagnosis->causes, rows);
	diagnosis->advice_count =
		advice_find(&view, rows, diagnosis->cause_count, diagnosis->advice);
	cost_find(&view, &diagnosis->cost);
	diagnosis->other_count = clocksources_find_others(&view, diagnosis->others);
}
