/* SPDX-License-Identifier: MIT */
/*
 * Explains causes, advice and terms: `vdsocheck help causes` lists causes and advice, `vdsocheck
 * help ID` prints all that is known about one, and `vdsocheck help terms` defines words.
 */
#include <string.h>

#include "cli/text.h"
#include "model.h"

#define LABEL_INDENT 9
#define LIST_INDENT 32
#define TERMS_INDENT 15

/* Neither name is the ID of a cause or of advice. */
static const char *const lists[] = {"causes", "terms"};

static const struct {
	const char *term, *meaning;
} terms[] = {
	{"vDSO", "A small library that the kernel maps into every process, so that a program can "
		 "read the clock without a system call."},
	{"clocksource", "The counter by which the kernel keeps time. Linux chooses one of those "
			"that it finds at boot."},
	{"TSC", "The cycle counter of an x86 CPU, which the vDSO reads in about 20 ns. Its "
		"clocksource is tsc."},
	{"kvm-clock", "The clocksource that KVM offers its guests: the TSC, corrected by numbers "
		      "that the host keeps in a page of the guest's memory."},
	{"vclock mode", "The number in the vDSO's data page that says how the vDSO reads the "
			"clocksource. With mode none it makes a system call instead."},
	{"fallback", "The system call that a function of the vDSO makes where it cannot read the "
		     "clocksource."},
	{"warp", "A step back of the clock when a thread moves from one CPU to another, because "
		 "the CPUs' counters disagree."},
};

const char *help_topic(size_t place)
{
	static size_t causes; /* counted once: the number does not change */
	struct cause_explanation cause;
	struct advice advice;

	if (place < ARRAY_SIZE(lists))
		return lists[place];
	place -= ARRAY_SIZE(lists);
	if (explain_cause(place, &cause))
		return cause.id;
	while (explain_cause(causes, &cause))
		causes++;
	return explain_advice(place - causes, &advice) ? advice.id : NULL;
}

static void write_item(const char *id, const char *text, FILE *out)
{
	wrap_format(out, id, LIST_INDENT, "%.*s", check_first_sentence(text), text);
}

static void write_list(FILE *out)
{
	enum cause_group group = GROUP_COUNT;
	struct cause_explanation cause;
	struct advice advice;

	wrap_text(out, 0, 0,
		"'vdsocheck help ID' explains one of these. " ADVICE_WORD_FROM
		" is the clocksource in use, " ADVICE_WORD_TO
		" the one to switch to, " ADVICE_WORD_BOOT " are boot parameters.");
	for (size_t i = 0; explain_cause(i, &cause); i++) {
		if (cause.group != group)
			fprintf(out, "\n%s:\n", cause_group_names[cause.group]);
		group = cause.group;
		write_item(cause.id, cause.text, out);
	}
	fputs("\nAdvice:\n", out);
	for (size_t i = 0; explain_advice(i, &advice); i++) {
		bool is_question = advice.ask && strncmp(advice.id, "ask-", strlen("ask-")) == 0;
		struct strbuf sb = {.used = 0};

		/* The question says more than the text of advice that consists in asking. */
		strbuf_add(&sb, "%s%s", is_question ? "Ask: " : "",
			is_question ? advice.ask : advice.text);
		write_item(advice.id, sb.text, out);
	}
}

static bool find_advice(const char *id, struct advice *advice)
{
	for (size_t i = 0; explain_advice(i, advice); i++) {
		if (strcmp(advice->id, id) == 0)
			return true;
	}
	return false;
}

static void write_cause(const struct cause_explanation *cause, FILE *out)
{
	struct advice advice;

	fprintf(out, "Cause %s\n\n", cause->id);
	wrap_print(out, "Means", LABEL_INDENT, cause->text);
	wrap_print(out, "Signs", LABEL_INDENT, cause->signs);
	for (size_t i = 0; i < CAUSE_ADVICE_MAX && cause->advice[i]; i++) {
		find_advice(cause->advice[i], &advice);
		wrap_format(out, i ? "" : "Fix", LABEL_INDENT, "%s: %s", advice.id, advice.text);
	}
	if (cause->more)
		wrap_print(out, "See", LABEL_INDENT, cause->more);
	wrap_print(out, "More", LABEL_INDENT,
		cause->advice[0] ? "'vdsocheck' on the host selects the advice that fits it, and "
				   "'vdsocheck help ADVICE' prints its steps."
				 : "This cause has no advice of its own: 'vdsocheck' on the host "
				   "prints what helps there.");
}

static void write_advice(const struct advice *advice, FILE *out)
{
	struct cause_explanation cause;
	struct strbuf sb = {.used = 0};

	fprintf(out, "Advice %s\n\n", advice->id);
	check_write_advice(advice, out);
	for (size_t i = 0; explain_cause(i, &cause); i++) {
		for (size_t k = 0; k < CAUSE_ADVICE_MAX && cause.advice[k]; k++) {
			if (strcmp(cause.advice[k], advice->id) == 0)
				strbuf_add(&sb, "%s%s", sb.used ? ", " : "", cause.id);
		}
	}
	if (sb.used)
		wrap_print(out, "For", LABEL_INDENT, sb.text);
	wrap_print(out, "More", LABEL_INDENT,
		"'vdsocheck' on the host prints the steps with the host's names, boot loader and "
		"cloud.");
}

void help_explain(const char *topic, FILE *out)
{
	struct cause_explanation cause;
	struct advice advice;

	for (size_t i = 0; explain_cause(i, &cause); i++) {
		if (strcmp(cause.id, topic) == 0) {
			write_cause(&cause, out);
			return;
		}
	}
	if (find_advice(topic, &advice)) {
		write_advice(&advice, out);
	} else if (strcmp(topic, "terms") == 0) {
		for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
			wrap_print(out, terms[i].term, TERMS_INDENT, terms[i].meaning);
	} else {
		write_list(out);
	}
}
