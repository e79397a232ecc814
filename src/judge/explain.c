/* SPDX-License-Identifier: MIT */
/*
 * Explains causes and advice for any host, by the rows that hosts are judged by: words in capitals
 * take the place of names that differ by host.
 */
#include "rules.h"

#include <stdlib.h>

#include "base/memory.h"

const char *const cause_group_names[] = {
	[GROUP_ANY] = "Any clocksource",
	[GROUP_TSC] = "tsc",
	[GROUP_KVM] = "kvm-clock",
	[GROUP_XEN] = "xen",
	[GROUP_HYPERV] = "Clocksources of Hyper-V",
	[GROUP_OTHER] = "Clocksources of arm64 and RISC-V",
	[GROUP_VDSO] = "vDSO",
	[GROUP_PROCESS] = "Process and sandbox",
	NULL,
};

bool explain_cause(size_t place, struct cause_explanation *cause)
{
	static const struct word words[] = {{"from", ADVICE_WORD_FROM}, {"when", ""},
		{"figures", ""}, {"wrapper", CAUSE_WORD_WRAPPER}, {0}};
	const struct cause_row *row = cause_row_at(place);
	size_t count = 0;

	if (!row)
		return false;
	*cause = (struct cause_explanation){
		.id = row->id, .group = row->group, .signs = row->signs, .more = row->more};
	words_fill(row->text, words, cause->text, sizeof(cause->text));
	for (size_t i = 0; i < CAUSE_ADVICE_MAX && row->advice[i].row; i++) {
		size_t first = 0;

		while (row->advice[first].row != row->advice[i].row)
			first++;
		if (first == i)
			cause->advice[count++] = row->advice[i].row->id;
	}
	return true;
}

struct rows {
	size_t count, room;
	const struct advice_row **rows; /* each once */
};

static void explain_add_advice(struct rows *list, const struct advice_row *row)
{
	size_t i = 0;

	while (i < list->count && list->rows[i] != row)
		i++;
	if (i < list->count)
		return;
	list->rows = array_grow(list->rows, i, &list->room, sizeof(*list->rows));
	list->rows[list->count++] = row;
}

bool explain_advice(size_t place, struct advice *advice)
{
	const struct cause_row *cause;
	struct rows list = {.count = 0};
	bool found;

	for (size_t i = 0; (cause = cause_row_at(i)); i++) {
		for (size_t k = 0; k < CAUSE_ADVICE_MAX && cause->advice[k].row; k++)
			explain_add_advice(&list, cause->advice[k].row);
	}
	for (size_t i = 0; advice_general[i].row; i++)
		explain_add_advice(&list, advice_general[i].row);
	explain_add_advice(&list, &advice_replace_machine);
	explain_add_advice(&list, &advice_send_report);
	found = place < list.count && advice_make(NULL, list.rows[place], advice);
	free(list.rows);
	return found;
}
