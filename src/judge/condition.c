/* SPDX-License-Identifier: MIT */
/* Finds out whether the condition of a row holds on a host. */
#include "rules.h"

static bool any_holds(const struct view *v, const struct term *terms);

/* Whether it does before a negation. */
static bool is_true(const struct view *v, const struct term *term)
{
	const char *member = (const char *)v + term->place;
	const char *fact = (const char *)v->evidence + term->place;

	switch (term->kind) {
	case TERM_BOOL:
		return *(const bool *)member;
	case TERM_POINTER:
		return *(const void *const *)member;
	case TERM_VALUE:
		return *(const int *)member == term->value;
	case TERM_FLAG:
		return fact_is_flag((const struct flag_fact *)fact, term->value);
	case TERM_STATE:
		return ((const struct fact *)fact)->state == (enum fact_state)term->value;
	case TERM_ASK:
		return term->ask(v);
	case TERM_HAS:
		return term->has(v->evidence, term->word);
	case TERM_ALL:
		return holds(v, term->terms);
	case TERM_ANY:
		return any_holds(v, term->terms);
	case TERM_NONE:
		break;
	}
	return true;
}

static bool term_holds(const struct view *v, const struct term *term)
{
	return is_true(v, term) != term->negated;
}

static bool any_holds(const struct view *v, const struct term *terms)
{
	while (terms->kind && !term_holds(v, terms))
		terms++;
	return terms->kind;
}

bool holds(const struct view *v, const struct term *terms)
{
	while (terms && terms->kind && term_holds(v, terms))
		terms++;
	return !terms || !terms->kind;
}

const char *text_for(
	const struct view *v, const char *text, const struct text_case cases[TEXT_CASES])
{
	for (size_t i = 0; v && i < TEXT_CASES && cases[i].text; i++) {
		if (holds(v, cases[i].when))
			return cases[i].text;
	}
	return text;
}
