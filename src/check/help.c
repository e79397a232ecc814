/* SPDX-License-Identifier: MIT */
/*
 * Explains causes, advice and terms: `vdsocheck help causes` lists groups of causes, `vdsocheck
 * help causes GROUP` the causes of one, `vdsocheck help advice` all advice, and `vdsocheck help ID`
 * prints all that is known about a cause or an advice; `vdsocheck help terms` defines words, the
 * verdicts among them, and `vdsocheck help TERM` one of these.
 */
#include <string.h>

#include "model.h"

#define LABEL_INDENT 9
#define LIST_INDENT 34
#define TERMS_INDENT 15

/* No group, list or term has the name of another, of a cause or of advice, in the same case. */
static const char *const groups[GROUP_COUNT] = {
	[GROUP_ANY] = "any",
	[GROUP_TSC] = "tsc",
	[GROUP_KVM] = "kvm",
	[GROUP_XEN] = "xen",
	[GROUP_HYPERV] = "hyperv",
	[GROUP_OTHER] = "arm64",
	[GROUP_VDSO] = "vdso",
	[GROUP_PROCESS] = "process",
};

static const char *const lists[] = {"causes", "advice", "terms"};

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
	{"vclock", "The vclock mode is the number in the vDSO's data page that says how the vDSO "
		   "reads the clocksource. With mode none it falls back to a system call."},
	{"warp", "A step back of the clock when a thread moves from one CPU to another, because "
		 "the CPUs' counters disagree."},
	{"proof", "The calls are made in a child process whose system calls are counted: by a "
		  "seccomp filter or by ptrace(2). A call that is served makes none."},
	{"libc", "The C library, whose functions call the vDSO. One that bypasses the vDSO makes a "
		 "system call on any host."},
	{"syscall", "A system call: the same call made to the kernel itself, which takes some 100 "
		    "ns. The column has its cost."},
	{"verdict", "The first word of the output: ok, slow, fallback, wrong or unknown. Each is "
		    "explained here."},
	{"formats",
		"The values of --format: text, json, report (Markdown, for a ticket), prometheus, "
		"nagios, summary or line."},
	{"examples", "Three of them begin 'vdsocheck --help'; vdsocheck(1) has more."},
	{"deciding", "The verdict rests on the deciding calls: gettimeofday(), and "
		     "clock_gettime() of CLOCK_REALTIME and of CLOCK_MONOTONIC."},
};

/* The verdicts are terms, too: these follow the meanings of their answers. */
static const char *const remarks[] = {
	[VERDICT_UNKNOWN] = " No proof could be taken, and nothing else settles it.",
	[VERDICT_OK] = "",
	[VERDICT_FALLBACK] = " The vDSO falls back to it where it cannot read the clocksource.",
	[VERDICT_SLOW] = " A hypervisor or the firmware may intercept reads of the counter.",
	[VERDICT_WRONG] = "",
};

#define TERM_COUNT (ARRAY_SIZE(terms) + ARRAY_SIZE(remarks))

static const char *term_at(size_t place)
{
	return place < ARRAY_SIZE(terms) ? terms[place].term
	                                 : verdict_answers[place - ARRAY_SIZE(terms)].word;
}

static void write_term(size_t place, struct page *page)
{
	const size_t kind = place - ARRAY_SIZE(terms);

	if (place < ARRAY_SIZE(terms))
		page_line(page, terms[place].term, "%s", terms[place].meaning);
	else
		page_line(page, verdict_answers[kind].word, "Verdict: %s.%s Exit status %d.",
			verdict_answers[kind].meaning, remarks[kind], verdict_answers[kind].status);
}

const char *help_topic(const char *within, size_t place)
{
	static size_t causes; /* counted once: the number does not change */
	struct cause_explanation cause;
	struct advice advice;

	if (within)
		return strcmp(within, "causes") == 0 && place < GROUP_COUNT ? groups[place] : NULL;
	if (place < ARRAY_SIZE(lists))
		return lists[place];
	place -= ARRAY_SIZE(lists);
	if (place < TERM_COUNT)
		return term_at(place);
	place -= TERM_COUNT;
	if (explain_cause(place, &cause))
		return cause.id;
	while (explain_cause(causes, &cause))
		causes++;
	return explain_advice(place - causes, &advice) ? advice.id : NULL;
}

static void write_item(const char *id, const char *text, struct page *page)
{
	page_line(page, id, "%.*s", check_first_sentence(text), text);
}

static void write_groups(struct page *page)
{
	page->indent = TERMS_INDENT;
	wrap_text(
		page->out, 0, 0, "'vdsocheck help causes GROUP' lists the causes of one of these:");
	for (size_t group = 0; group < GROUP_COUNT; group++)
		page_line(page, groups[group], "%s", cause_group_names[group]);
	page_line(page, "More", "'vdsocheck help advice' lists what fixes them.");
}

static void write_list_head(struct page *page)
{
	page->indent = LIST_INDENT;
	wrap_text(page->out, 0, 0,
		"'vdsocheck help ID' explains one of these. " ADVICE_WORD_FROM
		" is the clocksource in use, " ADVICE_WORD_TO
		" the one to switch to, " ADVICE_WORD_BOOT " are boot parameters.");
}

static void write_group(enum cause_group group, struct page *page)
{
	struct cause_explanation cause;

	write_list_head(page);
	for (size_t i = 0; explain_cause(i, &cause); i++) {
		if (cause.group == group)
			write_item(cause.id, cause.text, page);
	}
}

static void write_all_advice(struct page *page)
{
	struct advice advice;

	write_list_head(page);
	for (size_t i = 0; explain_advice(i, &advice); i++) {
		bool is_question = advice.ask && strncmp(advice.id, "ask-", strlen("ask-")) == 0;
		struct strbuf sb = {.used = 0};

		/* The question says more than the text of advice that consists in asking. */
		strbuf_add(&sb, "%s%s", is_question ? "Ask: " : "",
			is_question ? advice.ask : advice.text);
		write_item(advice.id, sb.text, page);
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

static void help_write_cause(const struct cause_explanation *cause, struct page *page)
{
	struct advice advice;

	fprintf(page->out, "Cause %s\n\n", cause->id);
	page_line(page, "Means", "%s", cause->text);
	page_line(page, "Signs", "%s", cause->signs);
	for (size_t i = 0; i < CAUSE_ADVICE_MAX && cause->advice[i]; i++) {
		find_advice(cause->advice[i], &advice);
		page_line(page, i ? "" : "Fix", "%s: %s", advice.id, advice.text);
	}
	if (cause->more)
		page_line(page, "See", "%s", cause->more);
	page_line(page, "More", "%s",
		cause->advice[0] ? "'vdsocheck' on the host selects the advice that fits it, and "
				   "'vdsocheck help ADVICE' prints its steps."
				 : "This cause has no advice of its own: 'vdsocheck' on the host "
				   "prints what helps there.");
}

static void write_advice(const struct advice *advice, struct page *page)
{
	struct cause_explanation cause;

	fprintf(page->out, "Advice %s\n\n", advice->id);
	check_write_advice(advice, page->out);
	page_line(page, "For", "%s", "");
	for (size_t i = 0; explain_cause(i, &cause); i++) {
		for (size_t k = 0; k < CAUSE_ADVICE_MAX && cause.advice[k]; k++) {
			if (strcmp(cause.advice[k], advice->id) == 0)
				page_add(page, "%s%s", page->text.used ? ", " : "", cause.id);
		}
	}
	page_line(page, "More",
		"'vdsocheck' on the host prints the steps with the host's names, boot loader and "
		"cloud.");
}

void help_explain(const char *topic, FILE *out)
{
	struct page page = {.out = out, .indent = LABEL_INDENT};
	struct cause_explanation cause;
	struct advice advice;
	size_t place = 0, group = 0;

	while (group < GROUP_COUNT && strcmp(topic, groups[group]) != 0)
		group++;
	while (explain_cause(place, &cause) && strcmp(cause.id, topic) != 0)
		place++;
	if (explain_cause(place, &cause)) {
		help_write_cause(&cause, &page);
	} else if (find_advice(topic, &advice)) {
		write_advice(&advice, &page);
	} else if (group < GROUP_COUNT) {
		write_group((enum cause_group)group, &page);
	} else if (strcmp(topic, "causes") == 0) {
		write_groups(&page);
	} else if (strcmp(topic, "advice") == 0) {
		write_all_advice(&page);
	} else {
		page.indent = TERMS_INDENT;
		for (size_t i = 0; i < TERM_COUNT; i++) {
			if (strcmp(topic, "terms") == 0 || strcmp(topic, term_at(i)) == 0)
				write_term(i, &page);
		}
		page_line(&page, "More",
			"'vdsocheck help causes' lists what leads to a verdict, "
			"and 'vdsocheck' prints what does on this host.");
	}
	page_end(&page);
}
