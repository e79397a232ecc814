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
#include "check.h"
#include "cli/text.h"

#define PARAGRAPH_INDENT 9

/* The prompt takes the last line of 24. */
#define SCREEN_LINES 23

/* Parts that may be left out, in this order. */
enum part {
	PART_ADDRESS,     /* a source's; its title stays */
	PART_OTHER_CAUSE, /* all but the first cause */
	PART_OTHER_FIX,   /* all but the first piece of advice */
	PART_SOURCE,
	PART_ROW,    /* of CLOCK_REALTIME, where it is that of CLOCK_MONOTONIC */
	PART_VCLOCK, /* the clock mode none or unknown, where there is a proof */
	PART_BLANK,  /* the line between evidence and table */
	PART_MORE,   /* the line that points to the rest */
	PART_UNDO,   /* the command; a sentence takes its place */
	PART_KEEP,   /* the command; a sentence takes its place */
	PART_RISK,   /* all but its first sentence */
	PART_ADVICE, /* all but the first sentence of advice with steps */
	PART_CAUSE,  /* all but the first sentence */
	PART_END,
};

struct screen {
	const struct check_request *request;
	FILE *out;
	bool verbose;
	enum part shown; /* this part and those after it */
	unsigned left_out;
};

static bool shows(const struct screen *screen, enum part part)
{
	return screen->verbose || part >= screen->shown;
}

const struct heading verdict_headings[] = {
	[VERDICT_UNKNOWN] = {"UNKNOWN", COLOR_MAGENTA},
	[VERDICT_OK] = {"OK", COLOR_GREEN},
	[VERDICT_FALLBACK] = {"FALLBACK", COLOR_RED},
	[VERDICT_SLOW] = {"SLOW", COLOR_YELLOW},
	[VERDICT_WRONG] = {"WRONG", COLOR_RED},
};

void check_report_write_file(const struct check_request *request, FILE *out)
{
	char name[PATH_MAX];

	if (!request->several)
		return;
	text_clean_span(name, sizeof(name), text_span(request->file));
	fprintf(out, "%s==> %s <==\n", request->printed ? "\n" : "", name);
}

static void write_verdict(const struct screen *screen, bool color)
{
	static const struct heading not_met = {"NOT MET", COLOR_RED};
	const struct diagnosis *diagnosis = &screen->request->diagnosis;
	const struct outcome *outcome = &screen->request->outcome;
	struct strbuf sb = {.used = 0};

	for (size_t i = 0; i < outcome->count; i++) {
		const struct requirement *requirement = &outcome->requirements[i];

		strbuf_add(&sb, "--%s %s: %s.", requirement->option, requirement->value,
			requirement->reason);
		if (!requirement->met)
			wrap_answer(screen->out, &not_met, color, sb.text);
		sb = (struct strbuf){.used = 0};
	}
	describe_verdict(diagnosis, &screen->request->evidence, &sb);
	wrap_answer(screen->out, &verdict_headings[diagnosis->verdict.kind], color, sb.text);
	fputc('\n', screen->out);
}

/* ---- evidence ---- */

/* Writes the line, without a reason that the verdict has already given for the lack of a proof. */
static void write_line(const struct screen *screen, const char *label, struct strbuf *sb)
{
	const char *said = screen->request->evidence.proof.fact.reason;
	size_t start = sb->used - strlen(said);

	if (*said && strstr(screen->request->diagnosis.verdict.summary, said) &&
		sb->used > strlen(said) + 2 && strcmp(&sb->text[start], said) == 0)
		sb->text[start - 2] = '\0';
	if (sb->used)
		wrap_print(screen->out, label, EVIDENCE_INDENT, sb->text);
	*sb = (struct strbuf){.used = 0};
}

static void write_kernel_log(const struct screen *screen)
{
	const struct kernel_log_evidence *log = &screen->request->evidence.kernel_log;
	struct strbuf sb = {.used = 0};

	if (fact_is_known(&log->fact))
		strbuf_add(&sb, "%s %s about clocksources%s", log->source,
			log->count ? "has these lines" : "has no line", log->count ? ":" : "");
	else if (log->fact.state != FACT_UNREAD)
		strbuf_add(&sb, "not read: %s", log->fact.reason);
	write_line(screen, "kernel log", &sb);
	for (size_t i = 0; i < log->count; i++) {
		if (log->lines[i].seconds >= 0)
			strbuf_add(&sb, "[%.6f] ", log->lines[i].seconds);
		strbuf_add(&sb, "%s", log->lines[i].text);
		write_line(screen, "", &sb);
	}
}

/* A screen that is pasted into a ticket needs its time, and its host if that is asked for. */
static void write_measured(const struct screen *screen)
{
	const struct evidence *evidence = &screen->request->evidence;
	struct strbuf sb = {.used = 0};

	if (!screen->verbose && !screen->request->file)
		return;
	describe_timestamp(&evidence->timestamp, &sb);
	if (fact_is_known(&evidence->host.name.fact))
		strbuf_add(&sb, "%son %s", sb.used ? ", " : "", evidence->host.name.value);
	write_line(screen, "measured", &sb);
}

static void write_evidence(const struct screen *screen)
{
	const struct evidence *evidence = &screen->request->evidence;
	bool is_mode_set =
		evidence->vclock.how != VCLOCK_UNKNOWN && evidence->vclock.mode != VCLOCK_MODE_NONE;
	bool is_proof_enough = fact_is_known(&evidence->proof.fact) && !is_mode_set;
	struct strbuf sb = {.used = 0};

	for (enum line_id line = LINE_CLOCKSOURCE; line <= LINE_HOST; line++) {
		if (line == LINE_VCLOCK && is_proof_enough && !shows(screen, PART_VCLOCK))
			continue;
		evidence_lines[line].add(evidence, screen->verbose, &sb);
		write_line(screen, evidence_lines[line].label, &sb);
	}
	write_measured(screen);
	if (screen->verbose)
		write_kernel_log(screen);
}

/* ---- the calls ---- */

static void write_calls(const struct screen *screen)
{
	const struct evidence *evidence = &screen->request->evidence;

	if (!fact_is_known(&evidence->timing.fact) && !fact_is_known(&evidence->proof.fact))
		return;
	if (shows(screen, PART_BLANK))
		fputc('\n', screen->out);
	check_write_calls(screen->request,
		screen->verbose           ? CALLS_ALL
		: shows(screen, PART_ROW) ? CALLS_DECIDING
					  : CALLS_DIFFERENT,
		TABLE_TEXT, screen->out);
}

/* ---- why ---- */

/* Returns the length of the text or, where `part` is left out, of its first sentence. */
static int shown_length(const struct screen *screen, enum part part, const char *text)
{
	return shows(screen, part) ? (int)strlen(text) : describe_first_sentence(text);
}

/* Each of several causes has a dash. */
static void write_cause(
	const struct screen *screen, const struct cause *cause, const char *label, bool dash)
{
	int indent = PARAGRAPH_INDENT + (dash ? 2 : 0);
	bool possible = cause->certainty == CERTAINTY_POSSIBLE;
	struct strbuf sb = {.used = 0};
	char start = *cause->text;

	/* After the colon "The" becomes "the"; "TSC" stays. */
	if (possible && !isupper((unsigned char)cause->text[1]))
		start = (char)tolower((unsigned char)start);
	strbuf_add(&sb, "%s%s%c%.*s", dash ? "- " : "", possible ? "Possibly: " : "", start,
		shown_length(screen, PART_CAUSE, cause->text) - 1, cause->text + 1);
	wrap_label(screen->out, label, PARAGRAPH_INDENT);
	wrap_text(screen->out, PARAGRAPH_INDENT, indent, sb.text);
	if (!screen->verbose)
		return;
	sb = (struct strbuf){.used = 0};
	for (size_t i = 0; i < cause->evidence_count; i++)
		strbuf_add(&sb, "%s%s", i ? "; " : "(", cause->evidence[i]);
	if (sb.used)
		wrap_format(screen->out, "", indent, "%s)", sb.text);
	wrap_format(screen->out, "", indent, "See 'vdsocheck help %s'%s%s", cause->id,
		cause->more ? " and " : "", cause->more ? cause->more : "");
}

static void write_why(struct screen *screen)
{
	const struct diagnosis *diagnosis = &screen->request->diagnosis;
	const char *label = describe_why(screen->request);
	size_t count = diagnosis->cause_count, shown;

	for (size_t i = 0; i < diagnosis->contradiction_count; i++)
		wrap_print(screen->out, i ? "" : "But", PARAGRAPH_INDENT,
			diagnosis->contradictions[i].text);
	/* The last one may add nothing to why the clocksource is in use. */
	if (count > 1 && diagnosis->causes[count - 1].follows && !screen->verbose)
		count--;
	shown = shows(screen, PART_OTHER_CAUSE) || !count ? count : 1;
	for (size_t i = 0; i < shown; i++)
		write_cause(screen, &diagnosis->causes[i], i ? "" : label, shown > 1);
	screen->left_out += (unsigned)(count - shown);
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
			*name && *name != '-' && !name[strspn(name, plain)] ? name
			: file                                              ? "FILE"
									    : "DIR");
	return sb->text;
}

/* Writes "1. TEXT:" and the command on lines of its own, to be pasted. */
static void write_step(const struct screen *screen, const struct advice_step *step, size_t number)
{
	int indent = PARAGRAPH_INDENT + (number ? 3 : 0);
	struct strbuf sb = {.used = 0};

	fprintf(screen->out, "%*s", PARAGRAPH_INDENT, "");
	if (number)
		fprintf(screen->out, "%zu. ", number);
	if (*step->text) {
		strbuf_add(&sb, "%s%s", step->text, *step->command ? ":" : "");
		wrap_text(screen->out, indent, indent, sb.text);
		indent += number ? 0 : 2;
	}
	if (*step->text && *step->command)
		fprintf(screen->out, "%*s", indent, "");
	sb = (struct strbuf){.used = 0};
	if (*step->command)
		wrap_command(screen->out, indent, indent + 2,
			strcmp(step->command, REPORT_COMMAND) == 0
				? add_own_command(screen, "--format report", &sb)
				: step->command);
}

static void write_labelled(const struct screen *screen, const char *label, const char *command)
{
	wrap_label(screen->out, label, PARAGRAPH_INDENT);
	wrap_command(screen->out, PARAGRAPH_INDENT, PARAGRAPH_INDENT + 2, command);
}

/* Names the rest and ends the line with the command that prints it. */
static void write_hint(
	const struct screen *screen, const char *label, const char *what, const char *options)
{
	struct strbuf sb = {.used = 0};
	int column = PARAGRAPH_INDENT;

	wrap_label(screen->out, label, PARAGRAPH_INDENT);
	column += fprintf(screen->out, "%s: ", what);
	wrap_command(
		screen->out, column, PARAGRAPH_INDENT + 2, add_own_command(screen, options, &sb));
}

/* Recipes of other systems are for --verbose; one that is a step already is not repeated. */
static void write_keep(const struct screen *screen, const struct advice *advice)
{
	const char *label = *advice->clocksource ? "Keep" : "How";
	const char *here = advice->keep_is_known ? advice->keep[0].command : "";
	bool is_step = *here && strcmp(here, advice->steps[0].command) == 0;

	if (!advice->keep_count || (is_step && !screen->verbose))
		return;
	if (advice->keep_removes && !screen->verbose) {
		wrap_format(screen->out, label, PARAGRAPH_INDENT,
			"Remove %s from the kernel command line (-v shows how).", advice->boot);
		return;
	}
	if (screen->verbose) {
		wrap_print(screen->out, label, PARAGRAPH_INDENT,
			*advice->clocksource ? "To make it permanent, one of:"
			: is_step            ? "With another boot loader:"
					     : "Depending on the boot loader, one of:");
		for (size_t i = is_step; i < advice->keep_count; i++)
			write_step(screen, &advice->keep[i], 0);
	} else if (*here && (shows(screen, PART_KEEP) ||
				    (int)strlen(here) <= wrap_columns() - PARAGRAPH_INDENT)) {
		write_labelled(screen, label, here);
	} else if (*advice->clocksource) {
		wrap_format(screen->out, label, PARAGRAPH_INDENT,
			"Boot with clocksource=%s (-v shows how).", advice->clocksource);
	} else {
		write_hint(screen, label, "For each boot loader", "-v");
	}
}

/* The undo of a switch has a shorter form: a sentence. */
static void write_undo(const struct screen *screen, const struct advice *advice)
{
	for (size_t i = 0; i < advice->step_count; i++) {
		if (!*advice->steps[i].undo)
			continue;
		if (!*advice->clocksource || shows(screen, PART_UNDO))
			write_labelled(screen, "Undo", advice->steps[i].undo);
		else
			wrap_format(screen->out, "Undo", PARAGRAPH_INDENT,
				"Write %s to the file of step %zu.",
				screen->request->evidence.clocksource.current, i + 1);
	}
}

static void write_one_advice(
	const struct screen *screen, const struct advice *advice, const char *label)
{
	const char *source = advice->source, *address = source ? strstr(source, ", http") : NULL;
	/* Advice without steps is printed whole, since its sentences are all there is. */
	enum part rest = advice->step_count ? PART_ADVICE : PART_END;

	wrap_format(screen->out, label, PARAGRAPH_INDENT, "%.*s",
		shown_length(screen, rest, advice->text), advice->text);
	for (size_t i = 0; i < advice->step_count; i++)
		write_step(screen, &advice->steps[i], advice->step_count > 1 ? i + 1 : 0);
	if (advice->ask && screen->verbose)
		wrap_print(screen->out, "Ask", PARAGRAPH_INDENT, advice->ask);
	else if (advice->ask && !advice_sends_report(advice))
		write_hint(screen, "", "The question to send", "--format report");
	write_undo(screen, advice);
	write_keep(screen, advice);
	if (advice->risk)
		wrap_format(screen->out, "Risk", PARAGRAPH_INDENT, "%.*s",
			shown_length(screen, PART_RISK, advice->risk), advice->risk);
	if (source && shows(screen, PART_SOURCE))
		wrap_format(screen->out, "Source", PARAGRAPH_INDENT, "%.*s",
			address && !shows(screen, PART_ADDRESS) ? (int)(address - source) : INT_MAX,
			source);
}

void check_write_advice(const struct advice *advice, FILE *out)
{
	static const struct check_request none;
	const struct screen screen = {.request = &none, .out = out, .verbose = true};

	write_one_advice(&screen, advice, "Fix");
}

static void write_fix(struct screen *screen)
{
	const struct diagnosis *diagnosis = &screen->request->diagnosis;

	for (size_t i = 0; i < diagnosis->advice_count; i++) {
		const struct advice *advice = &diagnosis->advice[i];
		const char *other = advice->is_alternative ? "Or" : "Also";

		if (i == 0 || shows(screen, PART_OTHER_FIX))
			write_one_advice(screen, advice, i == 0 ? "Fix" : other);
		else
			screen->left_out++;
	}
}

/* Lists the clocksources that could be used instead, a line for each reason. */
static void write_others(const struct screen *screen)
{
	const struct diagnosis *diagnosis = &screen->request->diagnosis;

	for (size_t i = 0, next; i < diagnosis->other_count && screen->verbose; i = next) {
		const struct other_clocksource *other = &diagnosis->others[i];
		bool timed = fact_is_known(&other->call_ns.fact);
		struct strbuf sb = {.used = 0};

		strbuf_add(&sb, "%s", other->name);
		for (next = i + 1; next < diagnosis->other_count && !timed && other->why_not &&
				   other->why_not == diagnosis->others[next].why_not;
			next++)
			strbuf_add(&sb, ", %s", diagnosis->others[next].name);
		strbuf_add(&sb, ": ");
		if (timed)
			strbuf_add(&sb, "%s ns per call on a copy of the vDSO",
				as_ns(other->call_ns.value));
		if (!other->advisable)
			strbuf_add(&sb, "%snot recommended, because %s", timed ? "; " : "",
				other->why_not);
		else if (!timed)
			strbuf_add(
				&sb, "no objection is known; measure it with 'vdsocheck compare'");
		wrap_format(screen->out, i ? "" : "Other", PARAGRAPH_INDENT, "%s.", sb.text);
	}
}

/* A clock that is off, or that nothing shows to be right after a restore; the rest on request. */
static bool shows_wall_clock(const struct screen *screen)
{
	const struct wall_clock *wall = &screen->request->diagnosis.wall_clock;

	return wall->state > WALL_CLOCK_RIGHT ||
	       (wall->state == WALL_CLOCK_UNKNOWN && wall->restored) ||
	       (screen->verbose && screen->request->evidence.witness_count);
}

static void write_wall_clock(const struct screen *screen)
{
	const struct wall_clock *wall = &screen->request->diagnosis.wall_clock;

	if (shows_wall_clock(screen))
		wrap_format(screen->out, "Time", PARAGRAPH_INDENT, "%c%s",
			toupper((unsigned char)*wall->summary), wall->summary + 1);
	if (*wall->on_restore && screen->verbose)
		wrap_print(screen->out, "", PARAGRAPH_INDENT, wall->on_restore);
}

/* ---- all of it ---- */

static void write_screen(struct screen *screen, bool color)
{
	const struct diagnosis *diagnosis = &screen->request->diagnosis;
	const char *bold = color ? COLOR_BOLD : "";
	struct strbuf cost = {.used = 0};

	screen->left_out = 0;
	write_verdict(screen, color);
	/* Where something is wrong, the cause and the fix matter more than the evidence. */
	wrap_set_styles(bold, color && diagnosis->verdict.kind != VERDICT_OK ? COLOR_DIM : "");
	write_evidence(screen);
	wrap_set_styles(bold, "");
	write_calls(screen);
	if (diagnosis->cause_count || diagnosis->contradiction_count || diagnosis->advice_count ||
		(diagnosis->other_count && screen->verbose) || shows_wall_clock(screen))
		fputc('\n', screen->out);
	write_why(screen);
	write_fix(screen);
	describe_cost(diagnosis, &cost);
	if (cost.used)
		wrap_print(screen->out, "Cost", PARAGRAPH_INDENT, cost.text);
	write_wall_clock(screen);
	write_others(screen);
	if (screen->left_out && shows(screen, PART_MORE))
		write_hint(screen, "More", "Other causes and fixes", "-v");
}

/* Returns the screen, for free(). */
static char *render(struct screen *screen, bool color, unsigned *lines)
{
	struct memory_stream stream;

	screen->out = memory_stream_open(&stream);
	write_screen(screen, color);
	memory_stream_close(&stream);
	*lines = 0;
	for (const char *at = stream.text; (at = strchr(at, '\n')); at++)
		++*lines;
	return stream.text;
}

bool check_report_text(const void *result, const struct style *style, FILE *out)
{
	const struct check_request *request = result;
	struct screen screen = {.request = request, .verbose = style->verbose};
	unsigned lines;
	char *text;

	check_report_write_file(request, out);
	text = render(&screen, style->color, &lines);
	while (!style->verbose && lines > SCREEN_LINES && screen.shown < PART_END) {
		screen.shown++;
		free(text);
		text = render(&screen, style->color, &lines);
	}
	fputs(text, out);
	free(text);
	return true;
}
