/* SPDX-License-Identifier: MIT */
/*
 * A command that measures and then answers is a row here: its answers, the fields of its document,
 * a function that measures and one that writes the text. The rest is the same for all of them: the
 * time, the exit status, the heading, the keys that each document has.
 */
#ifndef VDSOCHECK_REPORT_H
#define VDSOCHECK_REPORT_H

#include "base/text.h"
#include "cli/command.h"
#include "cli/text.h"
#include "document.h"

#define REPORT_SENTENCE_SIZE 640

/* The first member of cli->data of such a command. */
struct report {
	const struct report_type *type;
	struct timestamp_evidence timestamp;
	const struct answer *answer; /* one of the command's; at first the first one */
	const char *rule;            /* id of the rule that gave it; static; NULL: it has none */
	struct fact advice_fact;     /* known: there is something to do */
	const char *advice;          /* what to do, the last line of the text; static */
	char summary[REPORT_SENTENCE_SIZE]; /* the answer in a sentence */
	int exit_status;
};

/*
 * Text with labels: a line begins with its label, grows, and is wrapped when the next one begins. A
 * line that stays empty is not printed.
 */
struct page {
	FILE *out;
	int indent; /* column behind the labels */
	int hang;   /* columns by which further lines of a text begin later, as below "1. " */
	bool all;   /* --verbose */
	bool color;
	const char *label; /* of the line that grows; NULL: none does */
	struct strbuf text;
};

struct report_type {
	const char *schema;
	const struct field *fields; /* of cli->data, after report_fields */
	int indent;                 /* column behind the labels */
	/* Fills cli->data; false after an error message, with the exit status if it is its own. */
	bool (*measure)(struct cli *cli);
	void (*text)(const void *data, struct page *page); /* what follows the answer */
	void (*release)(void *data); /* frees what measure() allocated; may be NULL */
};

/* For struct command: .run = report_run, .formats = report_formats, .report = &its type. */
int report_run(struct cli *cli);
extern const struct format report_formats[];

/* The formats of these, for a command that has others, too. */
void report_text(const void *report, const struct style *style, FILE *out);
void report_json(const void *report, const struct style *style, FILE *out);

/* The keys that each document has; the words and texts of the answer are the command's. */
extern const struct field report_fields[];

/* Rule and advice may be NULL. */
void report_answer(struct report *report, const struct answer *answer, const char *rule,
	const char *advice, const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * Reads the clocksource again when all was measured. If it changed meanwhile the answer is the
 * command's first one, unknown: the numbers are of more than one clock.
 */
void report_check_clocksource(struct cli *cli, struct clocksource_evidence *clocksource);

/* Prints "WORD: sentence", the answer that an output begins with. */
void page_answer(struct page *page, const struct answer *answer, const char *sentence);

/* The word of an answer in capitals. */
#define ANSWER_WORD_SIZE 16
void answer_heading(const struct answer *answer, char heading[ANSWER_WORD_SIZE]);

/* Begins a line; an empty label continues the block above. */
void page_line(struct page *page, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds to the line. */
void page_add(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begin the lines on the clocksource and on the host, which has its details with --verbose. */
void page_clocksource(struct page *page, const struct evidence *evidence);
void page_host(struct page *page, const struct evidence *evidence);

/* Prints the line that grows; then page->out is free for text without a label. */
void page_end(struct page *page);

/* Prints a blank line, and the table below it; nothing if it has no rows. */
void page_table(struct page *page, const struct table *table);

/* ---- describe.c ---- */

/* These add a line without its label. This one lists the clocksources. */
void strbuf_add_clocksource(const struct evidence *evidence, struct strbuf *sb);

/* Adds machine, kernel and, unless the line gets longer than `most`, CPU; SIZE_MAX: all details. */
void strbuf_add_host(const struct evidence *evidence, size_t most, struct strbuf *sb);

/* Adds "synchronized, offset 12.3 us, maximum error 3.1 ms", or why it is not known. */
void strbuf_add_ntp(const struct ntp_evidence *ntp, struct strbuf *sb);

#endif
