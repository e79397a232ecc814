/* SPDX-License-Identifier: MIT */
/*
 * Finds the causes by the tables of the cause_*.c files, in the order in which they are printed.
 */
#include "rules.h"

#include "base/memory.h"

static const struct cause_row fallback_unexplained = {"fallback-unexplained", GROUP_ANY,
	"The vDSO is present, but cannot use the current clocksource.",
	.signs = "The calls fall back, and no other cause explains it.",
	.certainty = CERTAINTY_POSSIBLE, .evidence = cite_mode};

static cause_rows rows_unexplained = {&fallback_unexplained, NULL};

/* The row is for hosts where no other row explains why the calls are slow. */
static void cause_unexplained(const struct view *v, struct cause_list *list)
{
	cause_add(list, v,
		&(struct cause_case){
			&fallback_unexplained, .applies = v->falls_back && !list->explained},
		1);
}

/*
 * The thing to mend comes first: the process, the vDSO, the clocksource, or why it was selected. A
 * lack of vDSO support is the whole answer only where nothing says why the clocksource is in use.
 * An unreadable log is not a cause, and the notes are for hosts where nothing is wrong.
 */
static const struct {
	const struct cause_row *const *rows;
	cause_table *add;
	bool explains; /* why the calls are slow */
} tables[] = {
	{rows_process, cause_process, true},
	{rows_vdso, cause_vdso, true},
	{rows_current, cause_current, true},
	{rows_selected, cause_selected, false},
	{rows_unstable, cause_unstable, false},
	{rows_watchdog, cause_watchdog, false},
	{rows_xen, cause_xen, true},
	{rows_pvclock, cause_pvclock, true},
	{rows_hyperv, cause_hyperv, true},
	{rows_slow, cause_slow, true},
	{rows_tsc, cause_tsc, false},
	{rows_unused, cause_unused, false},
	{rows_without_vdso, cause_without_vdso, true},
	{rows_unexplained, cause_unexplained, false},
	{rows_unread, cause_unread, false},
	{rows_notes, cause_notes, false},
};

size_t cause_list_rows(const struct cause_row *rows[CAUSE_ROW_MAX])
{
	size_t count = 0;

	for (enum cause_group group = 0; group < GROUP_COUNT; group++) {
		for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
			for (const struct cause_row *const *row = tables[i].rows; *row; row++) {
				if ((*row)->group == group && count < CAUSE_ROW_MAX)
					rows[count++] = *row;
			}
		}
	}
	return count;
}

void cause_find(const struct view *v, struct cause causes[CAUSE_MAX], struct cause_list *list)
{
	*list = (struct cause_list){.causes = causes};
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		size_t before = list->count;

		tables[i].add(v, list);
		list->explained |= tables[i].explains && list->count > before;
	}
}

const char *const cause_certainty_names[] = {
	[CERTAINTY_POSSIBLE] = "possible",
	[CERTAINTY_LIKELY] = "likely",
	[CERTAINTY_PROVEN] = "proven",
	NULL,
};
