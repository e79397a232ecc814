/* SPDX-License-Identifier: MIT */
/*
 * Finds the causes by the tables of the cause_*.c files, in the order in which they are printed.
 */
#include "rules.h"

#include <stdio.h>

#include "base/memory.h"

/* For hosts where no other row says why the calls are slow. */
static const struct cause_row causes_unexplained[] = {
	{"fallback-unexplained", GROUP_ANY, CERTAINTY_POSSIBLE, IF(IS(falls_back)),
		"The vDSO is present, but cannot use the current clocksource.",
		.signs = "The calls fall back, and no other cause explains it.",
		.evidence = cite_mode},
	{0},
};

/*
 * The thing to mend comes first: the process, the vDSO, the clocksource, or why it was selected. A
 * lack of vDSO support is the whole answer only where nothing says why the clocksource is in use.
 * An unreadable log is not a cause, and the notes are for hosts where nothing is wrong.
 */
static const struct {
	const struct cause_row *rows;
	bool explains; /* why the calls are slow */
} tables[] = {
	{causes_process, true},
	{causes_vdso, true},
	{causes_current, true},
	{causes_selected, false},
	{causes_unstable, false},
	{causes_watchdog, false},
	{causes_hypervisor, true},
	{causes_slow, true},
	{causes_tsc, false},
	{causes_without_vdso, true},
	{causes_unexplained, false},
	{causes_unread, false},
	{causes_notes, false},
};

const struct cause_row *cause_row_at(size_t place)
{
	for (enum cause_group group = 0; group < GROUP_COUNT; group++) {
		for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
			for (const struct cause_row *row = tables[i].rows; row->id; row++) {
				if (row->group == group && place-- == 0)
					return row;
			}
		}
	}
	return NULL;
}

static void write_cause(const struct view *v, const struct cause_row *row, struct cause *cause)
{
	const struct kernel_log_line *line =
		row->log ? log_find(v->evidence, row->log) : view_member(v, &row->line);
	char time[LOG_TIME_SIZE], when[1 + LOG_TIME_SIZE] = "", figures[CAUSE_FIGURES_SIZE] = "";
	char detail[CAUSE_EVIDENCE_SIZE + FACT_TEXT_SIZE];

	if (line && line->seconds >= 0)
		snprintf(when, sizeof(when), " %s", log_time(v, line, time));
	if (row->figures)
		row->figures(v, figures);
	row_fill(v, text_for(v, row->text, row->texts), when, figures, cause->text,
		sizeof(cause->text));
	if (row->evidence)
		row->evidence(v, cause);
	for (size_t i = 0; i < ARRAY_SIZE(row->details) && row->details[i]; i++) {
		if (row_fill(v, row->details[i], when, figures, detail, sizeof(detail)))
			cite(cause, "%s", detail);
	}
	cite_line(v, cause, line);
	if (row->with_switch)
		cite_switch_after(v, cause, line);
}

/* Adds the cause of this row, which applies. */
static void add_cause(struct cause_list *list, const struct view *v, const struct cause_row *row)
{
	bool is_proven = row->proven && holds(v, row->proven);
	struct cause *cause = &list->causes[list->count];

	*cause = (struct cause){.id = row->id,
		.certainty = is_proven ? CERTAINTY_PROVEN : row->certainty,
		.follows = row->follows && list->count,
		.more = row->more};
	/* The names in a captured tree prove nothing by themselves. */
	if (v->captured && cause->certainty == CERTAINTY_PROVEN)
		cause->certainty = CERTAINTY_LIKELY;
	write_cause(v, row, cause);
	for (size_t i = 0; i < CAUSE_ADVICE_MAX && row->advice[i].row; i++) {
		const struct advice_row *advice = row->advice[i].row;

		if (v->is_rented && advice->actor == ACTOR_FIRMWARE && !advice->boot)
			advice = &advice_replace_machine;
		if (holds(v, row->advice[i].when))
			list->advice[list->advice_count++] = advice;
	}
	list->count++;
}

void cause_find(const struct view *v, struct cause causes[CAUSE_MAX], struct cause_list *list)
{
	bool is_explained = false;

	*list = (struct cause_list){.causes = causes};
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		const struct cause_row *row = tables[i].rows;

		if (row == causes_unexplained && is_explained)
			continue;
		for (; row->id && list->count < CAUSE_MAX; row++) {
			if (!holds(v, row->when))
				continue;
			add_cause(list, v, row);
			is_explained |= tables[i].explains;
		}
	}
}

const char *const cause_certainty_names[] = {
	[CERTAINTY_POSSIBLE] = "possible",
	[CERTAINTY_LIKELY] = "likely",
	[CERTAINTY_PROVEN] = "proven",
	NULL,
};
