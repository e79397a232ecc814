/* SPDX-License-Identifier: MIT */
/*
 * The whole of judge/ in one call: the verdict, then one view of the evidence that every rule
 * of causes and advice reads. The causes are found once, in the order of their tables, and
 * bring their advice along.
 */
#include "rules.h"

#include "base/units.h"

/* What makes the calls slow comes before what led the kernel there, and notes come last. */
const struct cause_table cause_tables[CAUSE_TABLES] = {
	{cause_process_rows, true},
	{cause_vdso_rows, true},
	{cause_slow_rows, true},
	{cause_unexplained_rows, false},
	{cause_selected_rows, false},
	{cause_watchdog_rows, false},
	{cause_unused_rows, false},
	{cause_note_rows, false},
};

static bool is_unexplained(const struct view *view)
{
	return view->falls_back;
}

/* Only where no row of the tables that explain applies. */
const struct cause_row cause_unexplained_rows[] = {
	{.id = "fallback-unexplained",
		.text = "The vDSO is there, but the clock it reads sends calls on to the kernel.",
		.applies = is_unexplained,
		.certainty = CERTAINTY_POSSIBLE,
		.support = support_mode},
	{0},
};

static const char *find_paravirtual(const struct evidence *evidence)
{
	static const char *const names[] = {"kvm-clock", "hyperv_clocksource_tsc_page", "xen"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (clocksource_is_another(evidence, names[i]) &&
			advisable_clocksource(evidence, names[i], NULL))
			return names[i];
	}
	return NULL;
}

static void find_switches(const struct evidence *evidence, struct view *view)
{
	view->paravirtual = find_paravirtual(evidence);
	if (!clocksource_is_another(evidence, "tsc"))
		return;
	if (advisable_clocksource(evidence, "tsc", &view->not_tsc))
		view->tsc = "tsc";
}

void view_begin(const struct evidence *evidence, struct view *view)
{
	*view = (struct view){.evidence = evidence,
		.decided = counts_deciding(evidence),
		.vdso = counts_by_path(evidence, PATH_VDSO),
		.libc = counts_by_path(evidence, PATH_LIBC)};
}

void view_make(const struct evidence *evidence, enum verdict_kind verdict, struct view *view)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	view_begin(evidence, view);
	view->verdict = verdict;
	view->falls_back = verdict == VERDICT_FALLBACK && fact_is_known(&evidence->vdso.fact) &&
	                   view->vdso.entered > 0;
	view->is_plain =
		(view->falls_back || !evidence->live) &&
		fact_is_known(&clocksource->current_fact) &&
		(vclock_name_has_no_mode(clocksource->current) ||
			(vclock_is_none(evidence) && !vclock_name_has_mode(clocksource->current)));
	watchdog_explain(evidence, &view->watchdog);
	if (view->falls_back)
		find_switches(evidence, view);
}

/* Names alone, from a captured tree, prove nothing. */
static void set_cause(const struct view *view, const struct cause_row *row, struct cause *cause)
{
	*cause = (struct cause){
		.id = row->id, .text = row->text, .certainty = row->certainty, .more = row->more};
	if (row->proves && row->proves(view))
		cause->certainty = CERTAINTY_PROVEN;
	if (!view->evidence->live && cause->certainty == CERTAINTY_PROVEN)
		cause->certainty = CERTAINTY_LIKELY;
	row->support(view, cause);
}

size_t cause_find(const struct view *view, struct cause causes[CAUSE_MAX],
	const struct cause_row *rows[CAUSE_MAX])
{
	bool explained = false;
	size_t count = 0;

	for (size_t i = 0; i < CAUSE_TABLES; i++) {
		const struct cause_row *row = cause_tables[i].rows;

		if (row == cause_unexplained_rows && explained)
			continue;
		for (; row->id && count < CAUSE_MAX; row++) {
			if (!row->applies(view))
				continue;
			explained |= cause_tables[i].explains;
			rows[count] = row;
			set_cause(view, row, &causes[count++]);
		}
	}
	return count;
}

const char *const cause_certainty_names[] = {
	[CERTAINTY_POSSIBLE] = "possible",
	[CERTAINTY_LIKELY] = "likely",
	[CERTAINTY_PROVEN] = "proven",
	NULL,
};

const char *cause_certainty_name(enum certainty certainty)
{
	return cause_certainty_names[certainty];
}

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
	cost_find(evidence, diagnosis->verdict.kind, &diagnosis->cost);
}
