/* SPDX-License-Identifier: MIT */
/*
 * Explains causes and advice for any host, by the rows that hosts are judged by: words in capitals
 * take the place of names that differ by host.
 */
#include "rules.h"

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
	static const struct word words[] = {
		{"from", ADVICE_WORD_FROM}, {"when", ""}, {"wrapper", CAUSE_WORD_WRAPPER}, {0}};
	struct cause_case cases[CAUSE_ROW_MAX];
	const struct advice_case *advice;
	const struct cause_row *row;

	if (place >= cause_list_all(cases))
		return false;
	row = cases[place].row;
	advice = cases[place].advice;
	*cause = (struct cause_explanation){
		.id = row->id, .group = row->group, .signs = row->signs, .more = row->more};
	words_fill(row->text, words, cause->text, sizeof(cause->text));
	for (size_t i = 0, count = 0; i < CAUSE_ADVICE_MAX && advice[i].row; i++) {
		size_t first = 0;

		while (advice[first].row != advice[i].row)
			first++;
		if (first == i)
			cause->advice[count++] = advice[i].row->id;
	}
	return true;
}

#define ADVICE_ROW_MAX 128

struct rows {
	size_t count;
	const struct advice_row *rows[ADVICE_ROW_MAX]; /* each once */
};

static void add_advice(struct rows *list, const struct advice_row *row)
{
	size_t i = 0;

	while (i < list->count && list->rows[i] != row)
		i++;
	if (i == list->count && i < ADVICE_ROW_MAX)
		list->rows[list->count++] = row;
}

bool explain_advice(size_t place, struct advice *advice)
{
	static struct evidence nothing; /* not const: zeros would take their room in the file */
	struct view view = view_of(&nothing);
	struct advice_case general[ADVICE_GENERAL];
	struct cause_case causes[CAUSE_ROW_MAX];
	size_t count = cause_list_all(causes);
	struct rows list = {.count = 0};

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < CAUSE_ADVICE_MAX && causes[i].advice[k].row; k++)
			add_advice(&list, causes[i].advice[k].row);
	}
	advice_list_general(&view, general);
	for (size_t i = 0; i < ADVICE_GENERAL; i++)
		add_advice(&list, general[i].row);
	add_advice(&list, &advice_replace_machine);
	add_advice(&list, &advice_send_report);
	return place < list.count && advice_make(NULL, list.rows[place], advice);
}
