/* SPDX-License-Identifier: MIT */
/*
 * The report for a support ticket, in Markdown: the question to the provider first, then the text
 * of --verbose, in which nothing that a host or a document says is Markdown, the table, how it was
 * measured, and how to reproduce it without vdsocheck. It does not name the host unless asked to.
 */
#include "model.h"

#include <unistd.h>

#include "base/text.h"
#include "base/version.h"
#include "cli/text.h"

static void markdown_write_heading(const struct diagnosis *diagnosis, FILE *out)
{
	const char *question = NULL;
	char word[ANSWER_WORD_SIZE];

	answer_heading(&verdict_answers[diagnosis->verdict.kind], word);
	fprintf(out, "# vdsocheck: %s\n\n", word);
	/* The question is that of the first piece of advice that others have to follow. */
	for (size_t i = 0; i < diagnosis->advice_count && !question; i++)
		question = diagnosis->advice[i].ask;
	if (question) {
		fputs("Question for support:\n\n> ", out);
		wrap_text(out, 2, 2, question);
		fputc('\n', out);
	}
}

static void markdown_write_calls(const struct check_request *request, FILE *out)
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
		"One read of the CPU's counter takes %s ns, the cheapest system call (getppid) "
		"%s ns.",
		as_ns(timing->counter_ns.value), as_ns(timing->syscall_floor_ns.value));
	fputc('\n', out);
	wrap_text(out, 0, 0, sb.text);
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

/* Adds the options that bear on the answer, or " none". */
static void add_options(const struct check_request *request, struct strbuf *sb)
{
	const struct policy *policy = &request->policy;
	size_t start = sb->used;

	if (request->rate > 0)
		strbuf_add(sb, " --rate %.9g", request->rate);
	for (size_t i = 0; i < policy->clocksource_count; i++)
		strbuf_add(sb, "%s%.*s", i ? "," : " --require ",
			(int)policy->clocksources[i].length, policy->clocksources[i].at);
	if (policy->max_ns > 0)
		strbuf_add(sb, " --max-ns %.9g", policy->max_ns);
	if (request->identity)
		strbuf_add(sb, " --include-identity");
	if (request->file)
		strbuf_add(sb, " --from");
	if (request->sysroot)
		strbuf_add(sb, " --sysroot");
	if (sb->used == start)
		strbuf_add(sb, " none");
}

/* A document and a tree do not say by which user they were written. */
static void write_measurement(const struct check_request *request, FILE *out)
{
	struct strbuf options = {.used = 0};

	add_options(request, &options);
	fprintf(out, "\n## How it was measured\n\n- **vdsocheck**: %s\n", vdsocheck_version);
	if (!request->file && !request->sysroot)
		fprintf(out, "- **as user ID**: %lu\n", (unsigned long)geteuid());
	fprintf(out, "- **options**: `%s`\n", options.text + 1);
	write_method(&request->evidence, out);
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

	(void)style;
	check_report_write_file(request, out);
	markdown_write_heading(&request->diagnosis, out);
	fputs("```text\n", out);
	check_write_whole(request, out);
	fputs("```\n", out);
	markdown_write_calls(request, out);
	write_measurement(request, out);
	fputs(reproduce, out);
}
