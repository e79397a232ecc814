/* SPDX-License-Identifier: MIT */
/*
 * Explains causes and advice for any host, by the rows that hosts are judged by. Their texts are
 * made for a host of which nothing is known, and words in capitals take the place of its names.
 */
#include "rules.h"

#include "base/text.h"

#define ADVICE_ROW_MAX 128

struct rows {
	struct cause_list list; /* first, since add_row() is given this */
	struct evidence evidence;
	struct view view;
	size_t place;                     /* place of the wanted cause */
	struct cause_explanation *wanted; /* receives that cause; NULL: no cause is wanted */
	size_t advice_count;
	const struct advice_row *advice[ADVICE_ROW_MAX]; /* each once */
};

static void add_advice(struct rows *rows, const struct advice_row *row)
{
	size_t i = 0;

	while (i < rows->advice_count && rows->advice[i] != row)
		i++;
	if (row && i == rows->advice_count && i < ADVICE_ROW_MAX)
		rows->advice[rows->advice_count++] = row;
}

static void add_row(struct cause_list *list, const struct view *v, const struct cause_row *row)
{
	struct rows *rows = (struct rows *)list;
	struct cause_explanation *wanted = rows->wanted;

	(void)v;
	if (wanted && list->count == rows->place) {
		*wanted = (struct cause_explanation){.id = row->id,
			.signs = row->signs ? row->signs : row->detail,
			.more = row->more};
		text_copy(wanted->text, sizeof(wanted->text), row->means ? row->means : row->text);
		for (size_t i = 0; i < CAUSE_ADVICE_MAX && row->advice[i].row; i++)
			wanted->advice[i] = row->advice[i].row->id;
	}
	for (size_t i = 0; i < CAUSE_ADVICE_MAX; i++)
		add_advice(rows, row->advice[i].row);
	list->count++;
}

static void list_rows(struct rows *rows)
{
	struct evidence *evidence = &rows->evidence;
	struct advice_choice general[ADVICE_GENERAL];

	fact_set_known(&evidence->clocksource.current_fact);
	text_copy(evidence->clocksource.current, CLOCKSOURCE_NAME_SIZE, ADVICE_WORD_FROM);
	/* This release is older than any, so that advice names the kernels that it needs. */
	fact_set_text(&evidence->host.kernel, "0.0");
	view_make(evidence, VERDICT_UNKNOWN, &rows->view);
	rows->list.add = add_row;
	cause_add_all(&rows->view, &rows->list);
	advice_list_general(&rows->view, general);
	for (size_t i = 0; i < ADVICE_GENERAL; i++)
		add_advice(rows, general[i].row);
	add_advice(rows, &advice_send_report);
}

bool explain_cause(size_t place, struct cause_explanation *cause)
{
	struct rows rows = {.place = place, .wanted = cause};

	list_rows(&rows);
	return place < rows.list.count;
}

bool explain_advice(size_t place, struct advice *advice)
{
	struct rows rows = {.wanted = NULL};

	list_rows(&rows);
	return place < rows.advice_count &&
	       advice_make(&rows.view, rows.advice[place], true, advice);
}
