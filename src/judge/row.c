/* SPDX-License-Identifier: MIT */
/* Evaluates a row for a host: whether its condition holds, and its text with the words filled in.
 */
#include "rules.h"

#include <string.h>

#include "base/child.h"
#include "base/text.h"

static bool any_holds(const struct view *v, const struct term *terms);

const void *view_member(const struct view *v, const struct term *member)
{
	return member->kind ? *(const void *const *)((const char *)v + member->place) : NULL;
}

const struct call_evidence *view_find_call(
	const struct view *v, bool (*is)(const struct view *v, const struct call_evidence *call))
{
	for (size_t i = 0; i < v->evidence->call_count; i++) {
		if (is(v, &v->evidence->calls[i]))
			return &v->evidence->calls[i];
	}
	return NULL;
}

/* Whether it does before a negation. */
static bool is_true(const struct view *v, const struct term *term)
{
	const char *member = (const char *)v + term->place;
	const char *fact = (const char *)v->evidence + term->place;

	switch (term->kind) {
	case TERM_BOOL:
		return *(const bool *)member;
	case TERM_POINTER:
		return view_member(v, term);
	case TERM_VALUE:
		return *(const int *)member == term->value;
	case TERM_FLAG:
		return fact_is_flag((const struct flag_fact *)fact, term->value);
	case TERM_NUMBER:
		return fact_is_known((const struct fact *)fact) &&
		       ((const struct number_fact *)fact)->value == term->value;
	case TERM_STATE:
		return ((const struct fact *)fact)->state == (enum fact_state)term->value;
	case TERM_ASK:
		return term->ask(v);
	case TERM_CALL:
		return view_find_call(v, term->call);
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

/* Half a command is worse than none, so a text that does not fit is refused. */
bool words_fill(const char *text, const struct word *words, char *filled, size_t size)
{
	size_t used = 0;

	for (; text && *text; text++) {
		struct span part = {text, 1};

		if (*text == '{') {
			const struct word *word = words;

			while (word->name && strncmp(text + 1, word->name, strlen(word->name)) != 0)
				word++;
			if (!word->value)
				return false;
			part = text_span(word->value);
			text = strchr(text, '}');
		}
		if (used + part.length >= size)
			return false;
		memcpy(filled + used, part.at, part.length);
		used += part.length;
	}
	filled[used] = '\0';
	return true;
}

bool row_fill(const struct view *v, const char *text, const char *when, const char *figures,
	char *filled, size_t size)
{
	const struct evidence *evidence = v->evidence;
	const struct host_evidence *host = &evidence->host;
	const struct fact *vdso = &evidence->vdso.fact;
	const struct text_fact *wrapper = &evidence->vdso.wrapper;
	const char *slash = strrchr(wrapper->value, '/');
	const char *proof = evidence->proof.fact.reason;
	const struct word words[] = {{"when", when}, {"figures", figures},
		{"from", evidence->clocksource.current},
		{"unseen", evidence->clocksource.current_fact.reason}, {"arch", host->arch.value},
		{"kernel", host->kernel.value}, {"flags", host->tsc_flags.value},
		{"emulator", host->emulator.value},
		{"vdso", fact_is_known(vdso) ? "present" : vdso->reason},
		{"log", evidence->kernel_log.fact.reason},
		{"proof", *proof ? proof : "nothing was measured"},
		{"signal", v->decided.signal ? fault_signal_name(v->decided.signal) : NULL},
		{"cpu", fact_is_known(&host->cpu.fact) ? host->cpu.value : "not known"},
		{"library", fact_is_known(&wrapper->fact) ? wrapper->value : NULL},
		{"wrapper", !fact_is_known(&wrapper->fact) ? CAUSE_WORD_WRAPPER
			    : slash                        ? slash + 1
							   : wrapper->value},
		{0}};

	return words_fill(text, words, filled, size);
}
