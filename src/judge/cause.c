/* SPDX-License-Identifier: MIT */
/*
 * Finds the causes by the tables of the cause_*.c files, in the order in which they are printed.
 */
#include "rules.h"

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
			cause_add(list, v, row);
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
