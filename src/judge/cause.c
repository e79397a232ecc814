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
	cause_table *add;
	bool explains; /* why the calls are slow */
} tables[] = {
	{cause_process, true},
	{cause_vdso, true},
	{cause_current, true},
	{cause_selected, false},
	{cause_unstable, false},
	{cause_watchdog, false},
	{cause_xen, true},
	{cause_pvclock, true},
	{cause_hyperv, true},
	{cause_slow, true},
	{cause_tsc, false},
	{cause_unused, false},
	{cause_without_vdso, true},
	{cause_unexplained, false},
	{cause_unread, false},
	{cause_notes, false},
};

size_t cause_list_all(struct cause_case cases[CAUSE_ROW_MAX])
{
	static struct evidence nothing; /* not const: zeros would take their room in the file */
	struct cause_case all[CAUSE_ROW_MAX] = {{0}};
	struct cause_list list = {.all = all};
	struct view view = view_of(&nothing);
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		tables[i].add(&view, &list);
	for (enum cause_group group = 0; group < GROUP_COUNT; group++) {
		for (size_t i = 0; i < list.all_count; i++) {
			if (all[i].row->group == group)
				cases[count++] = all[i];
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
