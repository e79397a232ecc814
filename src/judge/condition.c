/* SPDX-License-Identifier: MIT */
/* Finds out whether the condition of a row holds on a host. */
#include "rules.h"

static bool term_is_true(const struct view *v, const struct term *term)
{
	const char *member = (const char *)v + term->place;

	switch (term->kind) {
	case TERM_BOOL:
		return *(const bool *)member;
	case TERM_POINTER:
		return *(const void *const *)member;
	case TERM_VALUE:
		return *(const int *)member == term->value;
	case TERM_ASK:
		return term->ask(v);
	case TERM_HAS:
		return term->has(v->evidence, term->word);
	case TERM_NONE:
		break;
	}
	return true;
}

bool holds(const struct view *v, const struct term *terms)
{
	while (terms && terms->kind && term_is_true(v, terms) != terms->negated)
		terms++;
	return !terms || !terms->kind;
}
