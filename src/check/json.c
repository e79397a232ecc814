/* SPDX-License-Identifier: MIT */
/*
 * The fields of a check's document that are judged: what stands before the evidence, the
 * verdict, and what follows it, causes, advice and cost. They are written only; reading a
 * document checks their types and judges anew.
 */
#include "model.h"

#include <jansson.h>
#include <limits.h>
#include <string.h>

#include "base/text.h"

/* ---- verdict ---- */

static const struct field rests_on_element[] = {
	{.key = "", .kind = FIELD_WORD, .options = FIELD_FILLED, .words = evidence_kind_names},
	{0},
};

static json_t *rests_on(const void *object, const void *whole)
{
	const struct diagnosis *diagnosis = object;
	unsigned kinds[EVIDENCE_KINDS];
	size_t count = 0;

	for (unsigned i = 0; i < EVIDENCE_KINDS; i++) {
		if (diagnosis->verdict.rests_on & 1u << i)
			kinds[count++] = i;
	}
	return field_list(rests_on_element, kinds, count, sizeof(kinds[0]), whole);
}

#define OF struct diagnosis

static const struct field verdict_fields[] = {
	{ANSWER("verdict", verdict.kind, verdict_answers), .options = FIELD_FILLED},
	{0},
};

static const struct field rule_fields[] = {
	{STRING("rule", verdict.rule), .options = FIELD_FILLED,
		.doc = "id of the rule that gave the verdict"},
	{COMPUTED("rests_on", FIELD_LIST, rests_on), .options = FIELD_FILLED,
		.fields = rests_on_element, .doc = "kinds of evidence that the verdict rests on"},
	{ANSWER("expected", verdict.expected, verdict_answers), .given = GIVEN(verdict.expected),
		.doc = "ok or fallback: the clocksource, the kernel and its command line make it "
		       "likely where nothing was measured, as in a captured tree; null: neither is, "
		       "or the host was measured"},
	{0},
};

/* ---- policy and exit status ---- */

#undef OF
#define OF struct requirement

static const struct field requirement_fields[] = {
	{STRING("requirement", option), .options = FIELD_FILLED,
		.doc = "name of the option, without dashes"},
	{TEXT("value", value), .options = FIELD_FILLED, .doc = "argument of the option"},
	{FLAG("met", met),
		.doc = "whether the requirement is met; false, too, if it cannot be checked"},
	{TEXT("reason", reason), .options = FIELD_FILLED, .doc = "clause that says why"},
	{0},
};

#undef OF
#define OF struct outcome

static const struct field outcome_fields[] = {
	{INTEGER("exit_status", exit_status, 255), .options = FIELD_FILLED,
		.answers = verdict_answers,
		.doc = "1, too: a requirement is not met; 128 and the number of a signal: "
		       "interrupted"},
	{LIST("policy", requirements, count, requirement_fields), .options = FIELD_FILLED,
		.doc = "requirements given by options"},
	{0},
};

/* ---- contradictions, causes, advice ---- */

#undef OF
#define OF struct contradiction

static const struct field contradiction_fields[] = {
	{STRING("id", id), .options = FIELD_FILLED, .doc = "stable id of the contradiction"},
	{STRING("text", text), .options = FIELD_FILLED,
		.doc = "sentence that says what contradicts what"},
	{0},
};

static const struct field support_element[] = {
	{.key = "", .kind = FIELD_TEXT, .options = FIELD_FILLED, .size = CAUSE_EVIDENCE_SIZE},
	{0},
};

#undef OF
#define OF struct cause

static const struct field cause_fields[] = {
	{STRING("id", id), .options = FIELD_FILLED, .doc = "stable id of the cause"},
	{TEXT("text", text), .options = FIELD_FILLED, .doc = "sentence or two that name the cause"},
	{WORD("certainty", certainty, cause_certainty_names), .options = FIELD_FILLED,
		.doc = "proven: measured, or logged by the kernel; likely: little else fits; "
		       "possible: other causes fit, too"},
	{STRING("see_also", more), .doc = "manual page or address to read on; null: none"},
	{LIST("evidence", evidence, evidence_count, support_element), .options = FIELD_FILLED,
		.doc = "evidence that the cause rests on, in words"},
	{0},
};

#undef OF
#define OF struct advice_step

static const struct field step_fields[] = {
	{TEXT("text", text),
		.doc = "introduction to the command, or what to do without one; null: the command "
		       "is enough"},
	{TEXT("command", command), .doc = "command to run, one line for the shell; null: none"},
	{TEXT("undo", undo),
		.doc = "command that takes it back, one line for the shell; null: none is needed"},
	{0},
};

#undef OF
#define OF struct advice

static const struct field advice_fields[] = {
	{STRING("id", id), .options = FIELD_FILLED, .doc = "stable id of the advice"},
	{TEXT("text", text), .options = FIELD_FILLED, .doc = "sentence or two that say what to do"},
	{LIST("steps", steps, step_count, step_fields), .options = FIELD_FILLED,
		.doc = "steps to take, all of them in this order"},
	{LIST("keep", keep, keep_count, step_fields), .options = FIELD_FILLED,
		.doc = "ways to make it last, of which one is enough"},
	{STRING("ask", ask), .doc = "sentence to paste into a ticket; null: none"},
	{STRING("risk", risk), .doc = "what may go wrong; null: nothing to warn of"},
	{WORD("actor", actor, actor_names), .options = FIELD_FILLED,
		.doc = "who can follow it: guest, this system's administrator; host, that of the "
		       "machine or cloud around it, or of a container's host; firmware; provider; "
		       "kernel, its packager"},
	{FLAG("reversible", reversible),
		.doc = "whether what it changes can be taken back, and erases no disk"},
	{STRING("source", source),
		.doc = "title, date and address of what the advice is based on; null: none"},
	{0},
};

/* ---- cost ---- */

static json_t *lost_cpu_percent(const void *object, const void *whole)
{
	const struct cost *cost = object;

	(void)whole;
	return fact_is_known(&cost->vdso_ns.fact)
	               ? field_real(100 * cost_seconds(cost->rate.value, cost->lost_ns, 0), 1)
	               : json_null();
}

#undef OF
#define OF struct cost
#define CALL_NS(name, member) NS(name, member), .fact = FACT(call_ns.fact), .reason = "reason"

static const struct field cost_fields[] = {
	{CALL_NS("call_ns", call_ns.value),
		.doc = "ns per deciding call, the costliest one, as programs make it"},
	{CALL_NS("syscall_ns", syscall_ns),
		.doc = "ns per call if made by raw system call, least of all batches"},
	{NS("vdso_ns", vdso_ns.value), .fact = FACT(vdso_ns.fact), .reason = "reason",
		.doc = "ns per call when served by the vDSO, measured or estimated"},
	{NS("lost_ns", lost_ns), .fact = FACT(vdso_ns.fact), .reason = "reason",
		.doc = "ns lost per call against the vDSO"},
	{REASON("reason"), .doc = "why a time is null; null: none is"},
	{REAL("rate_per_s", rate.value, -1), .fact = FACT(rate.fact), .reason = "rate_reason",
		.doc = "calls per second that the cost is worked out for"},
	{COMPUTED("lost_cpu_percent", FIELD_REAL, lost_cpu_percent), .most = DOCUMENT_NS_MAX,
		.fact = FACT(rate.fact), .reason = "rate_reason",
		.doc = "percent of one CPU that is lost at this rate; null: cost or rate is "
		       "unknown"},
	{REASON("rate_reason"), .doc = "why there is no rate; null: there is one"},
	{0},
};

#undef OF
#define OF struct other_clocksource

static const struct field other_clocksource_fields[] = {
	{STRING("name", name), .options = FIELD_FILLED, .doc = "name of the clocksource"},
	{FLAG("advisable", advisable), .doc = "whether switching to it can be recommended"},
	{STRING("reason", why_not), .doc = "clause that says why it is not advisable; null: it is"},
	{REAL_FACT("call_ns", call_ns, 1),
		.doc = "ns per clock_gettime(CLOCK_MONOTONIC) on it, measured on a copy of the "
		       "vDSO"},
	{0},
};

#undef OF
#define OF struct diagnosis

static const struct field diagnosis_fields[] = {
	{LIST("contradictions", contradictions, contradiction_count, contradiction_fields),
		.options = FIELD_FILLED, .doc = "pieces of evidence that contradict each other"},
	{LIST("causes", causes, cause_count, cause_fields), .options = FIELD_FILLED,
		.doc = "causes of the verdict; notes, if it is ok"},
	{LIST("advice", advice, advice_count, advice_fields), .options = FIELD_FILLED,
		.doc = "what to do about it"},
	{OBJECT("cost", cost, cost_fields), .doc = "what the calls cost here"},
	{LIST("other_clocksources", others, other_count, other_clocksource_fields),
		.options = FIELD_FILLED,
		.doc = "clocksources that the kernel offers beside the one in use"},
	{0},
};

/* ---- the document ---- */

#undef OF
#define OF struct check_request

/* A file's name may have any bytes, JSON only UTF-8. */
static json_t *file_name(const void *object, const void *whole)
{
	const struct check_request *request = object;
	char name[CHECK_NAME_SIZE];

	(void)whole;
	if (strcmp(request->file, "-") == 0 && !request->line)
		return json_null();
	check_name_document(request, name);
	return json_string(name);
}

/* Puts the requirements that are not met first. */
static json_t *summary(const void *object, const void *whole)
{
	const struct check_request *request = object;
	struct strbuf text = {.used = 0};

	(void)whole;
	policy_add_unmet(&request->outcome, "", ". ", &text);
	strbuf_add(&text, "%s", request->diagnosis.verdict.summary);
	return json_string(text.text);
}

const struct field check_fields[] = {
	{COMPUTED("file", FIELD_STRING, file_name), .given = GIVEN(file),
		.doc = "path of the document that was judged, with :LINE if the file has others; "
		       "null: standard input, a host or a captured tree was"},
	{EVIDENCE_TIME(evidence)},
	{INLINE(diagnosis, verdict_fields), .options = FIELD_UNREAD},
	{COMPUTED("summary", FIELD_STRING, summary), .options = FIELD_FILLED,
		.doc = "verdict in a sentence, after the requirements that are not met"},
	{INLINE(diagnosis, rule_fields), .options = FIELD_UNREAD},
	{INLINE(outcome, outcome_fields), .options = FIELD_UNREAD},
	{EVIDENCE(evidence)},
	{INLINE(diagnosis, diagnosis_fields), .options = FIELD_UNREAD},
	{0},
};

void check_report_json(const void *result, const struct style *style, FILE *out)
{
	document_write(DOCUMENT_SCHEMA, check_fields, result, style->compact, out);
}
