/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "cli/phrase.h"
#include "cli/wrap.h"

#define EVIDENCE_INDENT 16
#define PARAGRAPH_INDENT 9

#define COLOR_RESET "\033[0m"

static const struct {
	const char *word;
	const char *color;
} headings[] = {
	[VERDICT_UNKNOWN] = {"UNKNOWN", "\033[1;35m"},
	[VERDICT_OK] = {"OK", "\033[1;32m"},
	[VERDICT_FALLBACK] = {"FALLBACK", "\033[1;31m"},
	[VERDICT_SLOW] = {"SLOW", "\033[1;33m"},
};

void text_write_file(const struct document *document, FILE *out)
{
	char name[PATH_MAX];

	if (!document->file)
		return;
	text_copy_span(name, sizeof(name), text_span(document->file));
	fprintf(out, "%s==> %s <==\n", ftell(out) > 0 ? "\n" : "", name);
}

static void write_verdict(const struct document *document, const struct style *style, FILE *out)
{
	const struct ruling *ruling = &document->judgement->ruling;
	const char *word = headings[ruling->verdict].word;
	int column = (int)strlen(word) + 2;

	if (style->color)
		fprintf(out, "%s%s%s: ", headings[ruling->verdict].color, word, COLOR_RESET);
	else
		fprintf(out, "%s: ", word);
	wrap_text(out, column, column, ruling->summary);
	fputc('\n', out);
}

static void write_evidence(const struct evidence *evidence, const char *label,
	void (*say)(const struct evidence *evidence, struct phrase *phrase), FILE *out)
{
	struct phrase phrase = {.used = 0};

	say(evidence, &phrase);
	if (phrase.used)
		wrap_print(out, label, EVIDENCE_INDENT, phrase.text);
}

static void write_time(const struct path_evidence *path, FILE *out)
{
	char ns[32];

	fprintf(out, "%9s", path->timed ? wrap_ns(path->min_ns, ns) : "-");
}

static void write_call(const struct call_evidence *call, FILE *out)
{
	struct phrase name = {.used = 0};
	struct phrase entering = {.used = 0};

	phrase_call(call, &name);
	phrase_entering(call, &entering);
	fprintf(out, "%s%-33s", call->decides ? "* " : "  ", name.text);
	for (int path = 0; path < PATH_COUNT; path++)
		write_time(&call->path[path], out);
	fprintf(out, "   %s\n", entering.text);
}

static bool is_anything_measured(const struct evidence *evidence)
{
	return fact_is_known(&evidence->timing.fact) || fact_is_known(&evidence->proof.fact);
}

static void write_calls(const struct evidence *evidence, FILE *out)
{
	if (!is_anything_measured(evidence))
		return;
	fprintf(out, "\n  %-33s%9s%9s%9s   %s\n", "ns per call (* decides)", "vDSO", "libc",
		"syscall", "enters kernel");
	for (size_t i = 0; i < evidence->call_count; i++)
		write_call(&evidence->calls[i], out);
}

static void write_cause(const struct cause *cause, const char *label, FILE *out)
{
	struct phrase phrase = {.used = 0};

	phrase_add(&phrase, "%s%s", cause->certainty == CERTAINTY_POSSIBLE ? "Possibly: " : "",
		cause->text);
	wrap_print(out, label, PARAGRAPH_INDENT, phrase.text);
	phrase.used = 0;
	for (size_t i = 0; i < cause->evidence_count; i++)
		phrase_add(&phrase, "%s%s", i ? "; " : "(", cause->evidence[i]);
	if (!phrase.used)
		return;
	phrase_add(&phrase, ")");
	wrap_print(out, "", PARAGRAPH_INDENT, phrase.text);
}

static void write_why(const struct judgement *judgement, FILE *out)
{
	const char *label = judgement->ruling.verdict == VERDICT_OK ? "Note" : "Why";

	for (size_t i = 0; i < judgement->cause_count; i++)
		write_cause(&judgement->causes[i], i ? "" : label, out);
	for (size_t i = 0; i < judgement->contradiction_count; i++)
		wrap_print(
			out, i ? "" : "But", PARAGRAPH_INDENT, judgement->contradictions[i].text);
}

/* "1. COMMAND   (REMARK)": commands stand apart, to be pasted. */
static void write_step(const struct advice_step *step, size_t number, FILE *out)
{
	struct phrase remark = {.used = 0};
	int indent = PARAGRAPH_INDENT + (number ? 3 : 2);
	int column;

	if (number)
		fprintf(out, "%*s%zu. ", PARAGRAPH_INDENT, "", number);
	else
		fprintf(out, "%*s", indent, "");
	if (!*step->command) {
		wrap_text(out, indent, indent, step->text);
		return;
	}
	column = wrap_command(out, indent, indent + 2, step->command);
	if (!*step->text) {
		fputc('\n', out);
		return;
	}
	if (column + (int)strlen(step->text) + 4 > WRAP_COLUMNS)
		column = fprintf(out, "\n%*s", indent, "") - 1;
	else
		column += fprintf(out, "  ");
	phrase_add(&remark, "(%s)", step->text);
	wrap_text(out, column, indent + 1, remark.text);
}

static void write_keep(const struct advice *advice, FILE *out)
{
	struct phrase phrase = {.used = 0};

	if (!advice->keep_count || !*advice->clocksource)
		return;
	phrase_add(&phrase,
		"To keep it, add clocksource=%s to the kernel command line (--format report shows "
		"how).",
		advice->clocksource);
	wrap_print(out, "Keep", PARAGRAPH_INDENT, phrase.text);
}

static void write_one_advice(const struct advice *advice, const char *label, FILE *out)
{
	wrap_print(out, label, PARAGRAPH_INDENT, advice->text);
	for (size_t i = 0; i < advice->step_count; i++)
		write_step(&advice->steps[i], advice->step_count > 1 ? i + 1 : 0, out);
	if (advice->ask)
		wrap_print(out, "", PARAGRAPH_INDENT + 2, advice->ask);
	if (*advice->undo) {
		fprintf(out, "  %-*s", PARAGRAPH_INDENT - 2, "Undo");
		wrap_command(out, PARAGRAPH_INDENT, PARAGRAPH_INDENT + 2, advice->undo);
		fputc('\n', out);
	}
	write_keep(advice, out);
	if (advice->risk)
		wrap_print(out, "Risk", PARAGRAPH_INDENT, advice->risk);
	if (advice->source)
		wrap_print(out, "Source", PARAGRAPH_INDENT, advice->source);
}

static void write_advice(const struct judgement *judgement, FILE *out)
{
	for (size_t i = 0; i < judgement->advice_count; i++) {
		const struct advice *advice = &judgement->advice[i];

		write_one_advice(advice,
			i == 0                   ? "Do"
			: advice->is_alternative ? "Or"
						 : "Also",
			out);
	}
}

static void write_cost(const struct judgement *judgement, FILE *out)
{
	struct phrase phrase = {.used = 0};

	phrase_cost(judgement, &phrase);
	if (phrase.used)
		wrap_print(out, "Cost", PARAGRAPH_INDENT, phrase.text);
}

static bool has_conclusions(const struct judgement *judgement)
{
	return judgement->cause_count || judgement->contradiction_count ||
	       judgement->advice_count || judgement->cost.known;
}

bool text_write(const void *result, const struct style *style, FILE *out)
{
	const struct document *document = result;
	const struct evidence *evidence = document->evidence;

	text_write_file(document, out);
	write_verdict(document, style, out);
	write_evidence(evidence, "clocksource", phrase_clocksource, out);
	write_evidence(evidence, "vDSO", phrase_vdso, out);
	write_evidence(evidence, "vclock mode", phrase_vclock, out);
	write_evidence(evidence, "proof", phrase_proof, out);
	write_evidence(evidence, "timing", phrase_timing, out);
	write_evidence(evidence, "host", phrase_host, out);
	write_calls(evidence, out);
	if (has_conclusions(document->judgement))
		fputc('\n', out);
	write_why(document->judgement, out);
	write_advice(document->judgement, out);
	write_cost(document->judgement, out);
	return true;
}
