/* SPDX-License-Identifier: MIT */
/*
 * The report for a support ticket, in Markdown: the question to the provider first, then the
 * machine, the evidence, and how to reproduce it without vdsocheck.
 */
#include "model.h"

#include <ctype.h>

#include "base/text.h"
#include "cli/layout.h"

/* The question of the first piece of advice that others have to follow; NULL if there is none. */
static const char *find_question(const struct diagnosis *diagnosis)
{
	for (size_t i = 0; i < diagnosis->advice_count; i++) {
		if (diagnosis->advice[i].ask)
			return diagnosis->advice[i].ask;
	}
	return NULL;
}

static void write_policy(const struct outcome *outcome, FILE *out)
{
	for (size_t i = 0; i < outcome->count; i++) {
		struct strbuf sb = {.used = 0};

		describe_requirement(&outcome->requirements[i], &sb);
		fprintf(out, "- **required**: %s\n", sb.text);
	}
	if (outcome->count)
		fputc('\n', out);
}

static void write_heading(const struct check_report *report, FILE *out)
{
	const struct diagnosis *diagnosis = report->diagnosis;
	const char *question = find_question(diagnosis);
	struct strbuf sb = {.used = 0};

	fputs("# vdsocheck: ", out);
	for (const char *word = verdict_names[diagnosis->verdict.kind]; *word; word++)
		fputc(toupper((unsigned char)*word), out);
	fputs("\n\n", out);
	strbuf_add(&sb, "**");
	describe_verdict(diagnosis, report->evidence, &sb);
	strbuf_add(&sb, "**");
	wrap_text(out, 0, 0, sb.text);
	fputc('\n', out);
	write_policy(report->outcome, out);
	if (question) {
		fputs("Question for support:\n\n> ", out);
		wrap_text(out, 2, 2, question);
		fputc('\n', out);
	}
}

static void write_item(FILE *out, const char *label, const char *text)
{
	if (*text)
		fprintf(out, "- **%s**: %s\n", label, text);
}

/* As code: what a host or a document says of itself is no Markdown or HTML of ours. */
static void write_code(FILE *out, const char *label, const char *text)
{
	fprintf(out, "- **%s**: `", label);
	for (; *text; text++)
		fputc(*text == '`' ? '\'' : *text, out);
	fputs("`\n", out);
}

static void write_text_fact(const struct text_fact *fact, const char *label, FILE *out)
{
	if (fact_is_known(&fact->fact) && *fact->value)
		write_code(out, label, fact->value);
	else if (fact_is_known(&fact->fact))
		write_item(out, label, "none");
	else if (fact->fact.state != FACT_UNREAD)
		fprintf(out, "- **%s**: %s (%s)\n", label,
			fact->fact.state == FACT_ABSENT ? "none" : "unknown", fact->fact.reason);
}

/* For what absence says little about. */
static void write_if_found(
	const struct text_fact *fact, const char *label, const char *absent, FILE *out)
{
	if (fact->fact.state == FACT_ABSENT)
		write_item(out, label, absent);
	else
		write_text_fact(fact, label, out);
}

/* What support asks for first. */
static void write_machine(const struct evidence *evidence, FILE *out)
{
	const struct host_evidence *host = &evidence->host;

	struct strbuf moment = {.used = 0};

	fputs("## Machine\n\n", out);
	describe_moment(&evidence->moment, &moment);
	write_item(out, "measured", moment.text);
	write_text_fact(&host->name, "host name", out);
	write_text_fact(&host->instance_type, "instance type", out);
	write_text_fact(&host->instance_id, "instance ID", out);
	write_text_fact(&host->region, "region", out);
	write_if_found(&host->platform, "platform", "unknown", out);
	write_text_fact(&host->hypervisor, "hypervisor", out);
	write_text_fact(&host->hypervisor_version, "hypervisor by its CPUID leaves", out);
	write_if_found(&host->container, "container", "none found", out);
	write_text_fact(&host->distribution, "distribution", out);
	write_text_fact(&host->kernel, "kernel", out);
	write_text_fact(&host->kernel_build, "kernel build", out);
	write_text_fact(&host->boot, "boot parameters about the clock", out);
	write_text_fact(&host->boot_tool, "kernel command line kept by", out);
	write_text_fact(&host->arch, "architecture", out);
	write_text_fact(&host->cpu, "CPU", out);
	write_text_fact(&host->cpu_model, "CPU model", out);
	if (fact_is_known(&host->cpu_count.fact))
		fprintf(out, "- **CPUs online**: %lld\n", (long long)host->cpu_count.value);
	write_text_fact(&host->tsc_flags, "TSC flags in /proc/cpuinfo", out);
	if (fact_is_known(&host->invariant_tsc.fact))
		write_item(out, "invariant TSC by CPUID", host->invariant_tsc.value ? "yes" : "no");
	write_text_fact(&host->libc, "C library of vdsocheck", out);
	write_item(out, "vdsocheck", VDSOCHECK_VERSION);
}

static void write_strbuf(const char *label, struct strbuf *sb, FILE *out)
{
	write_item(out, label, sb->text);
	*sb = (struct strbuf){.used = 0};
}

/* Without this "(seccomp)" is a word to be believed. */
static void write_method(const struct evidence *evidence, FILE *out)
{
	struct entry_counts counts = counts_by_path(evidence, PATH_LIBC);
	struct strbuf how = {.used = 0};
	char calls[32];

	if (!fact_is_known(&evidence->proof.fact) || !counts.proven)
		return;
	strbuf_add(&how, "How the proof was taken: child processes made each call %s times",
		format_count(counts.attempts / counts.proven, calls));
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

static void write_evidence(const struct check_report *report, FILE *out)
{
	const struct evidence *evidence = report->evidence;
	struct strbuf sb = {.used = 0}, rests = {.used = 0};

	fputs("\n## Evidence\n\n", out);
	for (unsigned i = 0; i < EVIDENCE_KINDS; i++) {
		if (report->diagnosis->verdict.rests_on & 1u << i)
			strbuf_add(&rests, "%s%s", rests.used ? ", " : "", evidence_kind_names[i]);
	}
	describe_clocksource(evidence, &sb);
	write_strbuf("clocksource", &sb, out);
	describe_vdso(evidence, &sb);
	write_strbuf("vDSO", &sb, out);
	describe_vclock(evidence, true, &sb);
	write_strbuf("vclock mode", &sb, out);
	write_item(out, "layout of the data page", evidence->vclock.layout);
	describe_proof(evidence, true, &sb);
	write_strbuf("proof", &sb, out);
	describe_timing(evidence, &sb);
	write_strbuf("timing", &sb, out);
	write_item(out, "the verdict rests on", rests.used ? rests.text : "nothing");
	write_method(evidence, out);
}

static void write_calls(const struct evidence *evidence, FILE *out)
{
	const struct timing_evidence *timing = &evidence->timing;
	struct strbuf sb = {.used = 0};
	char counter[32], floor[32];

	if (!evidence->call_count)
		return;
	fputs("\n## Calls\n\nns per call, the minimum of many short measurements; (*) determines\n"
	      "the verdict.\n\n",
		out);
	check_write_calls(evidence, ~0u, TABLE_MARKDOWN, out);
	if (!fact_is_known(&timing->counter_fact) || !fact_is_known(&timing->syscall_floor_fact))
		return;
	strbuf_add(&sb,
		"One read of the CPU's counter (%s) takes %s ns, the cheapest system call (getppid) "
		"%s ns.",
		timing->counter, format_ns(timing->counter_ns, counter),
		format_ns(timing->syscall_floor_ns, floor));
	fputc('\n', out);
	wrap_text(out, 0, 0, sb.text);
}

static void write_kernel_log(const struct kernel_log_evidence *log, FILE *out)
{
	fputs("\n## Kernel log\n\n", out);
	if (!fact_is_known(&log->fact)) {
		fprintf(out, "Not read: %s.\n", log->fact.reason);
		return;
	}
	if (!log->count) {
		fprintf(out, "%s holds no line about clocksources.\n", log->source);
		return;
	}
	fprintf(out, "From %s:\n\n", log->source);
	for (size_t i = 0; i < log->count; i++) {
		fputs("    ", out);
		if (log->lines[i].seconds >= 0)
			fprintf(out, "[%12.6f] ", log->lines[i].seconds);
		fprintf(out, "%s\n", log->lines[i].text);
	}
}

static void write_causes(const struct check_report *report, FILE *out)
{
	const struct diagnosis *diagnosis = report->diagnosis;

	if (diagnosis->cause_count || diagnosis->contradiction_count)
		fprintf(out, "\n## %s\n\n", describe_why(report));
	for (size_t i = 0; i < diagnosis->contradiction_count; i++)
		fprintf(out, "- But: %s\n", diagnosis->contradictions[i].text);
	for (size_t i = 0; i < diagnosis->cause_count; i++) {
		const struct cause *cause = &diagnosis->causes[i];

		fprintf(out, "- %s (%s; %s)\n", cause->text, cause->id,
			cause_certainty_names[cause->certainty]);
		for (size_t k = 0; k < cause->evidence_count; k++)
			fprintf(out, "  - %s\n", cause->evidence[k]);
		if (cause->more)
			fprintf(out, "  - see %s\n", cause->more);
	}
}

static void write_step(const struct advice_step *step, const char *bullet, FILE *out)
{
	fprintf(out, "  %s %s", bullet, step->text);
	if (*step->command)
		fprintf(out, "%s`%s`", *step->text ? ": " : "", step->command);
	if (*step->undo)
		fprintf(out, " (to undo it: `%s`)", step->undo);
	fputc('\n', out);
}

static void write_one_advice(const struct advice *advice, FILE *out)
{
	fprintf(out, "- %s%s\n", advice->is_alternative ? "Or: " : "", advice->text);
	for (size_t i = 0; i < advice->step_count && !advice_sends_report(advice); i++) {
		char number[24];

		snprintf(number, sizeof(number), "%zu.", i + 1);
		write_step(&advice->steps[i], number, out);
	}
	if (advice->ask)
		fprintf(out, "  - Ask: %s\n", advice->ask);
	if (advice->keep_count)
		fprintf(out, "  - %s:\n",
			*advice->clocksource ? "To make it permanent, one of"
					     : "Depending on the boot loader");
	for (size_t i = 0; i < advice->keep_count; i++)
		write_step(&advice->keep[i], "  -", out);
	if (advice->risk)
		fprintf(out, "  - Risk: %s\n", advice->risk);
	if (advice->source)
		fprintf(out, "  - Source: %s\n", advice->source);
}

static void write_advice(const struct diagnosis *diagnosis, FILE *out)
{
	if (diagnosis->advice_count)
		fputs("\n## What to do\n\n", out);
	for (size_t i = 0; i < diagnosis->advice_count; i++)
		write_one_advice(&diagnosis->advice[i], out);
}

/* getppid() is no clock and always a system call: without it strace would print nothing here. */
static void write_reproduce(FILE *out)
{
	fputs("\n## How to reproduce this without vdsocheck\n\n"
	      "    cat " CLOCKSOURCE_CURRENT "\n\n"
	      "    strace -c -e trace='?clock_gettime,?clock_gettime64,?gettimeofday,getppid' \\\n"
	      "        python3 -c \\\n"
	      "        'import os, time; [(time.time(), os.getppid()) for i in range(1000)]'\n\n"
	      "strace counts about 1,000 calls of getppid. If it counts about as many of\n"
	      "clock_gettime, clock_gettime64 or gettimeofday, each read of the clock was a\n"
	      "system call; if it counts none or only a few, the vDSO served them.\n",
		out);
}

bool check_report_markdown(const void *result, const struct style *style, FILE *out)
{
	const struct check_report *report = result;
	const struct evidence *evidence = report->evidence;
	struct strbuf cost = {.used = 0};

	(void)style;
	check_report_write_file(report, out);
	write_heading(report, out);
	write_machine(evidence, out);
	write_kernel_log(&evidence->kernel_log, out);
	write_evidence(report, out);
	write_calls(evidence, out);
	write_causes(report, out);
	write_advice(report->diagnosis, out);
	describe_cost(report->diagnosis, &cost);
	if (cost.used) {
		fputs("\n## Cost\n\n", out);
		wrap_text(out, 0, 0, cost.text);
	}
	write_reproduce(out);
	return true;
}
