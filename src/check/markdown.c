/* SPDX-License-Identifier: MIT */
/*
 * The report for a support ticket, in Markdown: the question to the provider first, then the
 * machine, the evidence, and how to reproduce it without vdsocheck. It does not name the host
 * unless asked to.
 */
#include "model.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "base/version.h"
#include "cli/text.h"

/*
 * Returns what a host or a document says, in a buffer that the next call reuses, so that it is not
 * taken for Markdown or HTML: these characters begin emphasis, code, a link or a tag.
 */
static const char *quoted(const char *text)
{
	static struct strbuf sb;

	sb = (struct strbuf){.used = 0};
	for (size_t plain; *text; text += plain) {
		plain = strcspn(text, "\\*`[<");
		strbuf_add(&sb, "%.*s", (int)plain, text);
		if (text[plain])
			strbuf_add(&sb, "\\%c", text[plain++]);
	}
	return sb.text;
}

static void write_heading(const struct check_request *request, FILE *out)
{
	const struct diagnosis *diagnosis = &request->diagnosis;
	const char *question = NULL;
	char word[ANSWER_WORD_SIZE];
	struct strbuf verdict = {.used = 0}, sb = {.used = 0};
	struct span rest, line;

	answer_heading(&verdict_answers[diagnosis->verdict.kind], word);
	fprintf(out, "# vdsocheck: %s\n\n", word);
	check_add_verdict(diagnosis, &request->evidence, &verdict);
	strbuf_add(&sb, "**%s**", quoted(verdict.text));
	wrap_text(out, 0, 0, sb.text);
	fputc('\n', out);
	sb = (struct strbuf){.used = 0};
	policy_add_unmet(&request->outcome, "", "\n", &sb);
	rest = text_span(quoted(sb.text));
	while (text_next_line(&rest, &line))
		fprintf(out, "- **required**: %.*s\n", (int)line.length, line.at);
	if (sb.used)
		fputc('\n', out);
	/* The question is that of the first piece of advice that others have to follow. */
	for (size_t i = 0; i < diagnosis->advice_count && !question; i++)
		question = diagnosis->advice[i].ask;
	if (question) {
		fputs("Question for support:\n\n> ", out);
		wrap_text(out, 2, 2, question);
		fputc('\n', out);
	}
}

static void write_item(FILE *out, const char *label, const char *text)
{
	if (*text)
		fprintf(out, "- **%s**: %s\n", label, quoted(text));
}

/* Writes the facts of the host, as code. */
static void write_machine(const struct evidence *evidence, FILE *out)
{
	struct strbuf timestamp = {.used = 0};

	fputs("## Machine\n\n", out);
	check_add_timestamp(&evidence->timestamp, &timestamp);
	write_item(out, "measured", timestamp.text);
	for (const struct field *field = host_fields; field->key; field++) {
		char text[sizeof(struct text_fact)];
		const struct fact *unknown = field_text(field, &evidence->host, text, sizeof(text));

		if (!field->title || (unknown && unknown->state == FACT_UNREAD))
			continue;
		fprintf(out, "- **%s**: ", field->title);
		for (char *quote = text; (quote = strchr(quote, '`'));)
			*quote = '\'';
		if (unknown)
			fprintf(out, "%s (%s)\n",
				unknown->state == FACT_ABSENT ? "none" : "unknown",
				quoted(unknown->reason));
		else if (*text && strcmp(text, "none") != 0)
			fprintf(out, "`%s`\n", text);
		else
			fputs("none\n", out);
	}
	write_item(out, "vdsocheck", vdsocheck_version);
}

/* Explains what "(seccomp)" in the proof means. */
static void write_method(const struct evidence *evidence, FILE *out)
{
	struct entry_counts counts = counts_by_path(evidence, PATH_LIBC);
	struct strbuf how = {.used = 0};

	if (!fact_is_known(&evidence->proof.fact) || !counts.proven)
		return;
	strbuf_add(&how, "How the proof was taken: child processes made each call %s times",
		as_count(counts.attempts / counts.proven));
	if (evidence->proof.cpus)
		strbuf_add(&how, " on %u CPU%s", evidence->proof.cpus,
			evidence->proof.cpus == 1 ? "" : "s");
	strbuf_add(&how, " by the vDSO, where it has the call, and by the C library, %s",
		evidence->proof.method == PROOF_SECCOMP
			? "under a seccomp filter that makes every clock system call fail with an "
			  "error code of its own. A call that came back with that error tried to "
			  "enter the kernel; one that came back with the time did not."
			: "traced by ptrace, which stops at every clock system call. A call in "
			  "which it stopped entered the kernel.");
	fputc('\n', out);
	wrap_text(out, 0, 0, how.text);
}

static void write_evidence(const struct check_request *request, FILE *out)
{
	const struct evidence *evidence = &request->evidence;
	struct strbuf rests = {.used = 0};

	fputs("\n## Evidence\n\n", out);
	for (enum line_id line = LINE_CLOCKSOURCE; line < LINE_HOST; line++) {
		struct strbuf sb = {.used = 0};

		evidence_lines[line].add(evidence, true, &sb);
		write_item(out, evidence_lines[line].label, sb.text);
		if (line == LINE_VCLOCK)
			write_item(out, "layout of the data page", evidence->vclock.layout);
	}
	for (unsigned i = 0; i < EVIDENCE_KINDS; i++) {
		if (request->diagnosis.verdict.rests_on & 1u << i)
			strbuf_add(&rests, "%s%s", rests.used ? ", " : "", evidence_kind_names[i]);
	}
	write_item(out, "the verdict rests on", rests.used ? rests.text : "nothing");
	write_method(evidence, out);
}

static void write_calls(const struct check_request *request, FILE *out)
{
	const struct timing_evidence *timing = &request->evidence.timing;
	struct strbuf sb = {.used = 0};

	if (!request->evidence.call_count)
		return;
	fputs("\n## Calls\n\nns per call, the minimum of many short measurements; (*) determines\n"
	      "the verdict.\n\n",
		out);
	check_write_calls(request, true, TABLE_MARKDOWN, out);
	if (!fact_is_known(&timing->counter_ns.fact) ||
		!fact_is_known(&timing->syscall_floor_ns.fact))
		return;
	strbuf_add(&sb,
		"One read of the CPU's counter (%s) takes %s ns, the cheapest system call (getppid) "
		"%s ns.",
		timing->counter, as_ns(timing->counter_ns.value),
		as_ns(timing->syscall_floor_ns.value));
	fputc('\n', out);
	wrap_text(out, 0, 0, sb.text);
}

static void write_kernel_log(const struct kernel_log_evidence *log, FILE *out)
{
	fputs("\n## Kernel log\n\n", out);
	if (!fact_is_known(&log->fact)) {
		fprintf(out, "Not read: %s.\n", quoted(log->fact.reason));
		return;
	}
	if (!log->count) {
		fprintf(out, "%s holds no line about clocksources.\n", quoted(log->source));
		return;
	}
	fprintf(out, "From %s:\n\n", quoted(log->source));
	for (size_t i = 0; i < log->count; i++) {
		fputs("    ", out);
		if (log->lines[i].seconds >= 0)
			fprintf(out, "[%12.6f] ", log->lines[i].seconds);
		fprintf(out, "%s\n", log->lines[i].text);
	}
}

static void write_causes(const struct check_request *request, FILE *out)
{
	const struct diagnosis *diagnosis = &request->diagnosis;

	if (diagnosis->cause_count || diagnosis->contradiction_count)
		fprintf(out, "\n## %s\n\n", check_why(request));
	for (size_t i = 0; i < diagnosis->contradiction_count; i++)
		fprintf(out, "- But: %s\n", quoted(diagnosis->contradictions[i].text));
	for (size_t i = 0; i < diagnosis->cause_count; i++) {
		const struct cause *cause = &diagnosis->causes[i];

		fprintf(out, "- %s (%s; %s)\n", quoted(cause->text), cause->id,
			cause_certainty_names[cause->certainty]);
		for (size_t k = 0; k < cause->evidence_count; k++)
			fprintf(out, "  - %s\n", quoted(cause->evidence[k]));
		if (cause->more)
			fprintf(out, "  - see %s\n", cause->more);
	}
}

static void write_step(const struct advice_step *step, FILE *out)
{
	fprintf(out, " %s", step->text);
	if (*step->command)
		fprintf(out, "%s`%s`", *step->text ? ": " : "", step->command);
	if (*step->undo)
		fprintf(out, " (to undo it: `%s`)", step->undo);
	fputc('\n', out);
}

static void write_advice(const struct advice *advice, FILE *out)
{
	fprintf(out, "- %s%s\n", advice->is_alternative ? "Or: " : "", advice->text);
	for (size_t i = 0; i < advice->step_count && !advice_sends_report(advice); i++) {
		fprintf(out, "  %zu.", i + 1);
		write_step(&advice->steps[i], out);
	}
	if (advice->ask)
		fprintf(out, "  - Ask: %s\n", advice->ask);
	if (advice->keep_count)
		fprintf(out, "  - %s:\n",
			*advice->clocksource ? "To make it permanent, one of"
					     : "Depending on the boot loader");
	for (size_t i = 0; i < advice->keep_count; i++) {
		fputs("    -", out);
		write_step(&advice->keep[i], out);
	}
	if (advice->risk)
		fprintf(out, "  - Risk: %s\n", advice->risk);
	fprintf(out, "  - For: %s; %s\n", actor_names[advice->actor],
		advice->reversible ? "can be undone" : "cannot be undone");
	if (advice->source)
		fprintf(out, "  - Source: %s\n", advice->source);
}

/* Without getppid(), which is always a system call, strace would print nothing here. */
static const char reproduce[] =
	"\n## How to reproduce this without vdsocheck\n\n"
	"    cat " CLOCKSOURCE_CURRENT "\n\n"
	"    strace -c -e trace='?clock_gettime,?clock_gettime64,?gettimeofday,getppid' \\\n"
	"        python3 -c \\\n"
	"        'import os, time; [(time.time(), os.getppid()) for i in range(1000)]'\n\n"
	"strace counts about 1,000 calls of getppid. If it counts about as many of\n"
	"clock_gettime, clock_gettime64 or gettimeofday, each read of the clock was a\n"
	"system call; if it counts none or only a few, the vDSO served them.\n";

void check_report_markdown(const void *result, const struct style *style, FILE *out)
{
	const struct check_request *request = result;
	const struct evidence *evidence = &request->evidence;
	const struct diagnosis *diagnosis = &request->diagnosis;
	struct strbuf cost = {.used = 0};

	(void)style;
	check_report_write_file(request, out);
	write_heading(request, out);
	write_machine(evidence, out);
	write_kernel_log(&evidence->kernel_log, out);
	write_evidence(request, out);
	write_calls(request, out);
	write_causes(request, out);
	if (diagnosis->advice_count)
		fputs("\n## What to do\n\n", out);
	for (size_t i = 0; i < diagnosis->advice_count; i++)
		write_advice(&diagnosis->advice[i], out);
	check_add_cost(diagnosis, &cost);
	if (cost.used) {
		fputs("\n## Cost\n\n", out);
		wrap_text(out, 0, 0, cost.text);
	}
	fputs(reproduce, out);
}
