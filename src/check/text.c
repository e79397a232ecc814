/* SPDX-License-Identifier: MIT */
/*
 * The screen: the verdict first, then evidence, calls, why, fix and cost. Without --verbose it
 * has to fit a terminal of 24 lines, where a verdict that has scrolled off is not read: what
 * matters least is left out, one thing after the other, until it does.
 */
#include "model.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define PARAGRAPH_INDENT 9

/* The prompt takes the last line of 24. */
#define SCREEN_LINES 23

/* The parts that may be left out, in this order. */
enum part {
	PART_SOURCE,
	PART_OTHERS, /* all but the first cause, and the first piece of advice */
	PART_ASIDE,  /* what is in brackets, all but the first sentence of a cause and a risk */
	/*
	 * The same of advice with steps; how to undo, keep and check it, and the question; what the
	 * verdict says, too: a table of equal rows, and the ns that are lost.
	 */
	PART_LAST,
	PART_END,
};

struct screen {
	const struct check_request *request;
	struct page page;
	enum part shown; /* this part and those after it */
	bool left_out;   /* more than sources and further sentences */
	bool in_report;  /* where the table follows, in Markdown */
};

static bool shows(const struct screen *screen, enum part part)
{
	return screen->page.all || part >= screen->shown;
}

void check_report_write_file(const struct check_request *request, FILE *out)
{
	char name[CHECK_NAME_SIZE];

	if (!request->several)
		return;
	check_name_document(request, name);
	fprintf(out, "%s==> %s <==\n", request->printed ? "\n" : "", name);
}

static void screen_write_verdict(struct screen *screen)
{
	static const struct answer not_met = {.word = "not met", .color = COLOR_RED};
	const struct diagnosis *diagnosis = &screen->request->diagnosis;
	const struct outcome *outcome = &screen->request->outcome;
	struct strbuf sb = {.used = 0};

	for (size_t i = 0; i < outcome->count; i++) {
		const struct requirement *requirement = &outcome->requirements[i];
		struct strbuf unmet = {.used = 0};

		strbuf_add(&unmet, "--%s %s: %s.", requirement->option, requirement->value,
			requirement->reason);
		if (!requirement->met)
			page_answer(&screen->page, &not_met, unmet.text);
	}
	check_add_verdict(diagnosis, &screen->request->evidence, &sb);
	page_answer(&screen->page, &verdict_answers[diagnosis->verdict.kind], sb.text);
	fputc('\n', screen->page.out);
}

/* ---- evidence ---- */

/* Takes off the line what stands in brackets, and what follows. */
static void drop_aside(struct strbuf *text)
{
	char *aside = strstr(text->text, " (");

	if (aside)
		*aside = '\0';
}

/* Takes off the line a reason that the verdict has already given for the lack of a proof. */
static void drop_said(struct screen *screen)
{
	const char *said = screen->request->evidence.proof.fact.reason;
	struct strbuf *text = &screen->page.text;
	size_t start = text->used - strlen(said);

	if (*said && strstr(screen->request->diagnosis.verdict.summary, said) &&
		text->used > strlen(said) + 2 && strcmp(&text->text[start], said) == 0)
		text->text[start - 2] = '\0';
}

static void write_kernel_log(struct page *page, const struct kernel_log_evidence *log)
{
	if (fact_is_known(&log->fact))
		page_line(page, "kernel log", "%s %s", log->source,
			log->count ? "has these lines about clocksources:"
				   : "has no line about clocksources");
	else if (log->fact.state != FACT_UNREAD)
		page_line(page, "kernel log", "not read: %s", log->fact.reason);
	for (size_t i = 0; i < log->count; i++) {
		page_line(page, "", "%s", "");
		if (log->lines[i].seconds >= 0)
			page_add(page, "[%.6f] ", log->lines[i].seconds);
		page_add(page, "%s", log->lines[i].text);
	}
}

static void write_evidence(struct screen *screen)
{
	const struct evidence *evidence = &screen->request->evidence;
	struct page *page = &screen->page;
	bool needs_mode = page->all || !fact_is_known(&evidence->proof.fact);

	page->indent = EVIDENCE_INDENT;
	for (enum line_id line = LINE_CLOCKSOURCE; line <= LINE_DETAILS; line++) {
		if (line == LINE_VCLOCK && !needs_mode)
			continue;
		page_line(page, evidence_lines[line].label, "%s", "");
		evidence_lines[line].add(evidence, page->all, &page->text);
		drop_said(screen);
		if (line < LINE_HOST && !shows(screen, PART_ASIDE))
			drop_aside(&page->text);
	}
	if (page->all) {
		page_line(page, "measured", "%s", "");
		check_add_timestamp(&evidence->timestamp, &page->text);
		if (fact_is_known(&evidence->host.name.fact))
			page_add(page, "%son %s", page->text.used ? ", " : "",
				evidence->host.name.value);
	}
	if (page->all)
		write_kernel_log(page, &evidence->kernel_log);
	page_end(page);
}

/* ---- the calls ---- */

/* True if the table says nothing that the verdict and the line on the proof do not. */
static bool is_uniform(const struct evidence *evidence)
{
	struct entry_counts vdso = counts_by_path(evidence, PATH_VDSO);
	struct entry_counts libc = counts_by_path(evidence, PATH_LIBC);

	return libc.attempts && vdso.entered == vdso.attempts && libc.entered == libc.attempts;
}

static void screen_write_calls(const struct screen *screen)
{
	const struct evidence *evidence = &screen->request->evidence;

	if (screen->in_report ||
		(!fact_is_known(&evidence->timing.fact) && !fact_is_known(&evidence->proof.fact)))
		return;
	if (!shows(screen, PART_LAST) && is_uniform(evidence))
		return;
	if (shows(screen, PART_LAST))
		fputc('\n', screen->page.out);
	check_write_calls(screen->request, screen->page.all, TABLE_TEXT, screen->page.out);
}

/* ---- why ---- */

/* Returns the length of the text or, where `part` is left out, of its first sentence. */
static int shown_length(const struct screen *screen, enum part part, const char *text)
{
	return shows(screen, part) ? (int)strlen(text) : check_first_sentence(text);
}

/* Each of several causes has a dash. */
static void screen_write_cause(
	struct screen *screen, const struct cause *cause, const char *label, bool dash)
{
	struct page *page = &screen->page;
	bool possible = cause->certainty == CERTAINTY_POSSIBLE;
	char start = *cause->text;

	/* After the colon "The" becomes "the"; "TSC" stays. */
	if (possible && !isupper((unsigned char)cause->text[1]))
		start = (char)tolower((unsigned char)start);
	page_line(page, label, "%s%s%c%.*s", dash ? "- " : "", possible ? "Possibly: " : "", start,
		shown_length(screen, PART_ASIDE, cause->text) - 1, cause->text + 1);
	page->hang = dash ? 2 : 0;
	page_end(page);
	page->hang = 0;
	page->indent += dash ? 2 : 0;
	for (size_t i = 0; i < cause->evidence_count && page->all; i++) {
		if (i)
			page_add(page, "; %s", cause->evidence[i]);
		else
			page_line(page, "", "(%s", cause->evidence[i]);
	}
	if (page->all) {
		page_add(page, "%s", page->label ? ")" : "");
		page_line(page, "", "See 'vdsocheck help %s'%s%s", cause->id,
			cause->more ? " and " : "", cause->more ? cause->more : "");
	}
	page_end(page);
	page->indent = PARAGRAPH_INDENT;
}

static void write_why(struct screen *screen)
{
	const struct diagnosis *diagnosis = &screen->request->diagnosis;
	size_t count = diagnosis->cause_count, shown;

	for (size_t i = 0; i < diagnosis->contradiction_count; i++)
		page_line(&screen->page, i ? "" : "But", "%s", diagnosis->contradictions[i].text);
	/* The last one may add nothing to why the clocksource is in use. */
	if (count > 1 && diagnosis->causes[count - 1].follows && !screen->page.all)
		count--;
	shown = shows(screen, PART_OTHERS) || !count ? count : 1;
	for (size_t i = 0; i < shown; i++)
		screen_write_cause(screen, &diagnosis->causes[i],
			i ? "" : check_why(screen->request), shown > 1);
	screen->left_out |= shown < count;
}

/* ---- fix ---- */

/*
 * Adds a command to look further, and returns the text. Without --from or --sysroot it would
 * examine the reader's host instead; a name that a shell would not take as it is gives way to
 * another word.
 */
static const char *add_own_command(
	const struct screen *screen, const char *options, struct strbuf *sb)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.,:=@+/-";
	const char *file = screen->request->file;
	const char *name = file ? file : screen->request->sysroot;

	strbuf_add(sb, "vdsocheck %s", options);
	if (name)
		strbuf_add(sb, " %s %s", file ? "--from" : "--sysroot",
			*name && *name != '-' && !name[strspn(name, plain)] &&
					!screen->request->line
				? name
			: file ? "FILE"
			       : "DIR");
	return sb->text;
}

/* Writes "LABEL before" and the command, which can be pasted from the line. */
static void write_command(
	struct page *page, const char *label, const char *before, const char *command)
{
	int indent = page->indent;

	page_end(page);
	wrap_label(page->out, label, indent);
	fputs(before, page->out);
	wrap_command(page->out, indent + (int)strlen(before), indent + page->hang + 2, command);
}

/* Writes "1. TEXT:" and the command below it. */
static void write_step(struct screen *screen, const struct advice_step *step, size_t number)
{
	struct page *page = &screen->page;
	bool is_report = strcmp(step->command, REPORT_COMMAND) == 0;
	struct strbuf own = {.used = 0};
	char before[24] = "";

	if (number)
		snprintf(before, sizeof(before), "%zu. ", number);
	page_end(page);
	page->hang = (int)strlen(before);
	if (*step->text) {
		page_line(page, "", "%s%s%s", before, step->text, *step->command ? ":" : "");
		page_end(page);
		page->indent += number ? page->hang : 2;
		page->hang = 0;
		*before = '\0';
	}
	if (*step->command)
		write_command(page, "", before,
			is_report ? add_own_command(screen, "--format report", &own)
				  : step->command);
	page->indent = PARAGRAPH_INDENT;
	page->hang = 0;
}

/* Names the rest and ends the line with the command that prints it. */
static void write_hint(
	struct screen *screen, const char *label, const char *what, const char *options)
{
	struct strbuf command = {.used = 0};

	write_command(&screen->page, label, what, add_own_command(screen, options, &command));
}

/* Recipes of other systems are for --verbose; one that is a step already is not repeated. */
static void write_keep(struct screen *screen, const struct advice *advice)
{
	struct page *page = &screen->page;
	const char *label = *advice->clocksource ? "Keep" : "How";
	const char *here = advice->keep_is_known ? advice->keep[0].command : "";
	bool is_step = *here && strcmp(here, advice->steps[0].command) == 0;

	if (!advice->keep_count || (is_step && !page->all))
		return;
	if (!shows(screen, PART_LAST)) {
		screen->left_out = true;
		return;
	}
	if (page->all) {
		page_line(page, label, "%s",
			*advice->clocksource ? "To make it permanent, one of:"
			: is_step            ? "With another boot loader:"
					     : "Depending on the boot loader, one of:");
		for (size_t i = is_step; i < advice->keep_count; i++)
			write_step(screen, &advice->keep[i], 0);
	} else if (advice->keep_removes) {
		page_line(page, label, "Remove %s from the kernel command line (-v shows how).",
			advice->boot);
	} else if (*here && (int)strlen(here) <= wrap_columns() - PARAGRAPH_INDENT) {
		write_command(page, label, "", here);
	} else if (*advice->clocksource) {
		page_line(page, label, "Boot with clocksource=%s (-v shows how).",
			advice->clocksource);
	} else {
		write_hint(screen, label, "For each boot loader: ", "-v");
	}
}

static void write_undo(struct screen *screen, const struct advice *advice)
{
	for (size_t i = 0; i < advice->step_count; i++) {
		if (!*advice->steps[i].undo)
			continue;
		if (!shows(screen, PART_LAST))
			screen->left_out = true;
		else if (*advice->clocksource && !screen->page.all)
			page_line(&screen->page, "Undo", "Write %s to the file of step %zu.",
				screen->request->evidence.clocksource.current, i + 1);
		else
			write_command(&screen->page, "Undo", "", advice->steps[i].undo);
	}
}

/* A last step that tries what the others have done. */
static bool is_check(const struct advice_step *step)
{
	return strcmp(step->command, "vdsocheck") == 0;
}

static void write_one_advice(struct screen *screen, const struct advice *advice, const char *label)
{
	const char *address = advice->source ? strstr(advice->source, ", http") : NULL;
	/* Advice without steps is printed whole, since its sentences are all there is. */
	enum part rest = advice->step_count ? PART_LAST : PART_END;
	struct page *page = &screen->page;

	page_line(page, label, "%.*s", shown_length(screen, rest, advice->text), advice->text);
	for (size_t i = 0; i < advice->step_count; i++) {
		if (shows(screen, PART_LAST) || !is_check(&advice->steps[i]))
			write_step(screen, &advice->steps[i], advice->step_count > 1 ? i + 1 : 0);
	}
	if (advice->ask && page->all)
		page_line(page, "Ask", "%s", advice->ask);
	else if (advice->ask && !shows(screen, PART_LAST))
		screen->left_out = true;
	else if (advice->ask && !advice_sends_report(advice))
		write_hint(screen, "", "The question to send: ", "--format report");
	write_undo(screen, advice);
	write_keep(screen, advice);
	if (advice->risk)
		page_line(page, "Risk", "%.*s", shown_length(screen, PART_ASIDE, advice->risk),
			advice->risk);
	/* Its address is for --verbose. */
	if (advice->source && shows(screen, PART_SOURCE))
		page_line(page, "Source", "%.*s",
			address && !page->all ? (int)(address - advice->source) : INT_MAX,
			advice->source);
}

void check_write_advice(const struct advice *advice, FILE *out)
{
	static struct check_request none; /* not const: zeros would take room in the file */
	struct screen screen = {
		.request = &none, .page = {.out = out, .indent = PARAGRAPH_INDENT, .all = true}};

	write_one_advice(&screen, advice, "Fix");
	page_end(&screen.page);
}

static void write_fix(struct screen *screen)
{
	const struct diagnosis *diagnosis = &screen->request->diagnosis;

	for (size_t i = 0; i < diagnosis->advice_count; i++) {
		const struct advice *advice = &diagnosis->advice[i];
		const char *other = advice->is_alternative ? "Or" : "Also";

		if (i == 0 || shows(screen, PART_OTHERS))
			write_one_advice(screen, advice, i == 0 ? "Fix" : other);
		else
			screen->left_out = true;
	}
}

/* Lists the clocksources that could be used instead, a line for each reason. */
static void write_others(struct page *page, const struct diagnosis *diagnosis)
{
	for (size_t i = 0, next; i < diagnosis->other_count; i = next) {
		const struct other_clocksource *other = &diagnosis->others[i];
		bool timed = fact_is_known(&other->call_ns.fact);

		page_line(page, i ? "" : "Other", "%s", other->name);
		for (next = i + 1; next < diagnosis->other_count && !timed && other->why_not &&
				   other->why_not == diagnosis->others[next].why_not;
			next++)
			page_add(page, ", %s", diagnosis->others[next].name);
		page_add(page, ": ");
		if (timed)
			page_add(page, "%s ns per call on a copy of the vDSO",
				as_ns(other->call_ns.value));
		if (!other->advisable)
			page_add(page, "%snot recommended, because %s", timed ? "; " : "",
				other->why_not);
		else if (!timed)
			page_add(
				page, "no objection is known; measure it with 'vdsocheck compare'");
		page_add(page, ".");
	}
}

static void write_cost(struct screen *screen)
{
	struct strbuf cost = {.used = 0};
	const char *rate;

	check_add_cost(&screen->request->diagnosis, &cost);
	rate = strstr(cost.text, ": at ");
	page_line(&screen->page, "Cost", "%s",
		rate && !shows(screen, PART_LAST) ? rate + strlen(": ") : cost.text);
}

/* ---- all of it ---- */

static void write_screen(struct screen *screen)
{
	const struct diagnosis *diagnosis = &screen->request->diagnosis;
	struct page *page = &screen->page;
	const char *bold = page->color ? COLOR_BOLD : "";

	screen->left_out = false;
	screen_write_verdict(screen);
	/* Where something is wrong, the cause and the fix matter more than the evidence. */
	wrap_set_styles(
		bold, page->color && diagnosis->verdict.kind != VERDICT_OK ? COLOR_DIM : "");
	write_evidence(screen);
	wrap_set_styles(bold, "");
	screen_write_calls(screen);
	if (diagnosis->cause_count || diagnosis->contradiction_count || diagnosis->advice_count ||
		(diagnosis->other_count && page->all))
		fputc('\n', page->out);
	page->indent = PARAGRAPH_INDENT;
	write_why(screen);
	write_fix(screen);
	write_cost(screen);
	if (page->all)
		write_others(page, diagnosis);
	page_end(page);
	if (screen->left_out)
		write_hint(screen, "More", "The rest: ", "-v");
}

/* Returns the screen, for free(). */
static char *render(struct screen *screen, unsigned *lines)
{
	struct memory_stream stream;

	screen->page.out = memory_stream_open(&stream);
	write_screen(screen);
	memory_stream_close(&stream);
	*lines = 0;
	for (const char *at = stream.text; (at = strchr(at, '\n')); at++)
		++*lines;
	return stream.text;
}

void check_write_whole(const struct check_request *request, FILE *out)
{
	struct screen screen = {
		.request = request, .page = {.out = out, .all = true}, .in_report = true};

	write_screen(&screen);
}

void check_report_text(const void *result, const struct style *style, FILE *out)
{
	const struct check_request *request = result;
	struct screen screen = {
		.request = request, .page = {.all = style->verbose, .color = style->color}};
	unsigned lines;
	char *text;

	check_report_write_file(request, out);
	text = render(&screen, &lines);
	while (!style->verbose && lines > SCREEN_LINES && screen.shown < PART_END) {
		screen.shown++;
		free(text);
		text = render(&screen, &lines);
	}
	fputs(text, out);
	free(text);
}
