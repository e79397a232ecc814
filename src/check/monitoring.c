/* SPDX-License-Identifier: MIT */
/*
 * The verdict in one line: as the status line of a Nagios plugin (Monitoring Plugins Development
 * Guidelines, which Icinga, Naemon and Sensu follow too), as a sentence for node-problem-detector,
 * and in columns for a table of hosts.
 */
#include "model.h"

#include <string.h>

#include "base/text.h"
#include "base/time.h"

/* ---- Nagios ---- */

int check_nagios_status(const void *result)
{
	const struct outcome *outcome = &((const struct check_request *)result)->outcome;

	if (outcome->unmet)
		return 2;
	return outcome->exit_status < 2 ? (int)outcome->exit_status : 3;
}

/* A '|' would begin the perfdata. */
static void write_harmless(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(*text == '|' ? '/' : *text, out);
}

static void nagios_write_status(const struct check_request *request, FILE *out)
{
	static const char *const states[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
	enum verdict_kind verdict = request->diagnosis.verdict.kind;
	struct strbuf text = {.used = 0};

	strbuf_add(&text, "VDSOCHECK %s - ", states[check_nagios_status(request)]);
	policy_add_unmet(&request->outcome, "", "; ", &text);
	if (verdict != VERDICT_OK && verdict != VERDICT_UNKNOWN)
		strbuf_add(&text, "%s: ", verdict_answers[verdict].word);
	check_add_verdict(&request->diagnosis, &request->evidence, &text);
	if (text.text[text.used - 1] == '.')
		text.text[text.used - 1] = '\0';
	write_harmless(out, text.text);
}

/* 'label'=value[unit];[warn];[crit];[min];[max], the times in microseconds. */
static void write_perfdata(const struct check_request *request, FILE *out)
{
	const struct evidence *evidence = &request->evidence;
	double most = request->policy.max_ns / NS_PER_US;
	uint64_t entered = 0, attempts = 0;
	const char *separator = " |";

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];
		const struct path_evidence *path = &call->path[call_judged_path(call)];

		if (!call->decides)
			continue;
		entered += path->entered;
		attempts += path->attempts;
		if (!fact_is_known(&path->fact))
			continue;
		fprintf(out, "%s %s=%.4fus;;", separator, policy_call_name(call),
			path->min_ns / NS_PER_US);
		if (most > 0)
			fprintf(out, "%.4f", most);
		fputs(";0", out);
		separator = "";
	}
	if (fact_is_known(&evidence->proof.fact) && attempts)
		fprintf(out, "%s entered_kernel=%.4g%%;;;0;100", separator,
			100.0 * (double)entered / (double)attempts);
	fputc('\n', out);
}

static void write_long(FILE *out, const char *label, const char *text, const char *more)
{
	fprintf(out, "%s: ", label);
	write_harmless(out, text);
	if (more) {
		fputc(' ', out);
		write_harmless(out, more);
	}
	fputc('\n', out);
}

void check_report_nagios(const void *result, const struct style *style, FILE *out)
{
	const struct check_request *request = result;
	const struct diagnosis *diagnosis = &request->diagnosis;

	(void)style;
	nagios_write_status(request, out);
	write_perfdata(request, out);
	for (size_t i = 0; i < diagnosis->contradiction_count; i++)
		write_long(out, "But", diagnosis->contradictions[i].text, NULL);
	for (size_t i = 0; i < diagnosis->cause_count; i++)
		write_long(out, check_why(request), diagnosis->causes[i].text, NULL);
	for (size_t i = 0; i < diagnosis->advice_count; i++)
		write_long(out, "Fix", diagnosis->advice[i].text, diagnosis->advice[i].ask);
}

void check_report_nagios_failure(const char *message, FILE *out)
{
	fputs("VDSOCHECK UNKNOWN - ", out);
	write_harmless(out, message);
	fputc('\n', out);
}

/* ---- a sentence ---- */

void check_report_summary(const void *result, const struct style *style, FILE *out)
{
	const struct check_request *request = result;
	struct strbuf text = {.used = 0};

	(void)style;
	policy_add_unmet(&request->outcome, "", ". ", &text);
	strbuf_add(&text, "%s: ", verdict_answers[request->diagnosis.verdict.kind].word);
	check_add_verdict(&request->diagnosis, &request->evidence, &text);
	fprintf(out, "%s\n", text.text);
}

/* ---- a line: HOST VERDICT CLOCKSOURCE MODE NS CAUSE KERNEL ---- */

/*
 * Writes a word, which may be a file's name, and the blank after it: blanks within would make two
 * columns of it. A longer word moves the columns after it, but is never cut: half of a kernel's
 * release is the release of another kernel.
 */
static void write_word(FILE *out, int width, const char *word)
{
	char harmless[CHECK_NAME_SIZE];
	char *blank = harmless;

	text_clean(harmless, sizeof(harmless), *word ? word : "-");
	while ((blank = strchr(blank, ' ')))
		*blank = '_';
	fprintf(out, "%-*s ", width, harmless);
}

void check_report_line(const void *result, const struct style *style, FILE *out)
{
	const struct check_request *request = result;
	const struct evidence *evidence = &request->evidence;
	const struct diagnosis *diagnosis = &request->diagnosis;
	const struct clocksource_evidence *clocksource = &evidence->clocksource;
	const struct text_fact *name = &evidence->host.name;
	struct strbuf policy = {.used = 0};
	char file[CHECK_NAME_SIZE] = "", ns[32] = "-";

	(void)style;
	if (request->file)
		check_name_document(request, file);
	if (fact_is_known(&diagnosis->cost.call_ns.fact))
		snprintf(ns, sizeof(ns), "%.1f", diagnosis->cost.call_ns.value);
	/* A host that its document does not name goes by the name of the file. */
	write_word(out, 16, fact_is_known(&name->fact) ? name->value : file);
	write_word(out, 8, verdict_answers[diagnosis->verdict.kind].word);
	write_word(out, 9, clocksource_in_use(clocksource));
	write_word(out, 7, check_mode_word(&evidence->vclock));
	fprintf(out, "%7s ", ns);
	write_word(out, 24, diagnosis->cause_count ? diagnosis->causes[0].id : "");
	fputs(fact_is_known(&evidence->host.kernel.fact) ? evidence->host.kernel.value : "-", out);
	policy_add_unmet(&request->outcome, " ", "", &policy);
	fprintf(out, "%s\n", policy.text);
}
