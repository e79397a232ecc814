/* SPDX-License-Identifier: MIT */
/*
 * The judge's entries. Each makes one view of the evidence, which all rules share; the verdict
 * comes first, and then what follows from it: the causes, which bring their advice along.
 */
#include "rules.h"

void diagnose(const struct evidence *evidence, struct diagnosis *diagnosis)
{
	struct view view = view_of(evidence);
	struct cause_list causes;

	verdict_find(&view, &diagnosis->verdict);
	view_follow(&view);
	diagnosis->wants_log =
		view.verdict != VERDICT_OK ||
		(host_is_x86(evidence) && counter_standing_find(&view) == COUNTER_NOT_OFFERED);
	diagnosis->contradiction_count = contradiction_find(&view, diagnosis->contradictions);
	cause_find(&view, diagnosis->causes, &causes);
	diagnosis->cause_count = causes.count;
	diagnosis->advice_count = advice_find(&view, &causes, diagnosis->advice);
	cost_find(&view, &diagnosis->cost);
	diagnosis->other_count = other_clocksources_find(&view, diagnosis->others);
	wall_clock_find(evidence, &diagnosis->wall_clock);
}

bool contradiction_may_be_a_change(const struct evidence *evidence)
{
	struct contradiction_row rows[CONTRADICTION_ROWS];
	struct view view = view_of(evidence);
	bool may_be = false;

	contradiction_list(&view, rows);
	for (size_t i = 0; i < CONTRADICTION_ROWS; i++)
		may_be |= rows[i].applies && rows[i].may_be_a_change;
	return may_be;
}

const char *advisable_why_not(const struct evidence *evidence, const char *name)
{
	struct view view = view_of(evidence);

	return reason_against(&view, name);
}

void judge_counter(const struct evidence *evidence, struct counter_judgment *judgment)
{
	struct view view = view_of(evidence);

	counter_find(&view, judgment);
}
