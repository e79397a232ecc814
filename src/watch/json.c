/* SPDX-License-Identifier: MIT */
/* The fields of the documents of `vdsocheck watch`, one a line; written and never read. */
#include "document.h"
#include "report.h"

#define EVENT(object) ((const struct watch_event *)(object))

/* ---- the state of the clocksource ---- */

static bool knows_mode(const void *object)
{
	return ((const struct evidence *)object)->vclock.how != VCLOCK_UNKNOWN;
}

#define OF struct evidence

static const struct field state_fields[] = {
	{TEXT("clocksource", clocksource.latest), .fact = FACT(clocksource.current_fact),
		.options = FIELD_OWN_REASON},
	{INTEGER("mode", vclock.mode, VCLOCK_MODE_TIMENS), .has = knows_mode},
	{TEXT("mode_name", vclock.name)},
	{FLAG_FACT("pvclock_stable", vclock.pvclock_stable)},
	{NUMBER_FACT("hyperv_sequence", vclock.hyperv_sequence, UINT32_MAX)},
	{0},
};

#undef OF

static json_t *state(const struct watch_look *look, const void *whole)
{
	return look ? field_write(state_fields, &look->evidence, whole) : json_null();
}

static json_t *state_before(const void *object, const void *whole)
{
	return state(EVENT(object)->before, whole);
}

static json_t *state_now(const void *object, const void *whole)
{
	return state(EVENT(object)->now, whole);
}

/* ---- the verdict ---- */

static json_t *verdict(const void *object, const void *whole)
{
	(void)whole;
	return json_string(verdict_name(EVENT(object)->now->diagnosis.verdict.kind));
}

static json_t *verdict_before(const void *object, const void *whole)
{
	const struct watch_look *before = EVENT(object)->before;

	(void)whole;
	return before ? json_string(verdict_name(before->diagnosis.verdict.kind)) : json_null();
}

static json_t *exit_status(const void *object, const void *whole)
{
	(void)whole;
	return json_integer(verdict_exit_status(EVENT(object)->now->diagnosis.verdict.kind));
}

static json_t *summary(const void *object, const void *whole)
{
	(void)whole;
	return json_string(EVENT(object)->now->diagnosis.verdict.summary);
}

/* ---- the event ---- */

#define OF struct watch_event

static const struct field event_fields[] = {
	{WORD("event", kind, watch_event_names), .options = FIELD_FILLED},
	{COMPUTED("verdict", FIELD_STRING, verdict), .options = FIELD_FILLED},
	{COMPUTED("exit_status", FIELD_INTEGER, exit_status), .options = FIELD_FILLED, .most = 3},
	{COMPUTED("summary", FIELD_STRING, summary), .options = FIELD_FILLED},
	{COMPUTED("verdict_before", FIELD_STRING, verdict_before)},
	{COMPUTED("from", FIELD_OBJECT, state_before), .fields = state_fields},
	{COMPUTED("to", FIELD_OBJECT, state_now), .options = FIELD_FILLED, .fields = state_fields},
	{TEXT("kernel_log", log.text), .fact = FACT(log.fact), .options = FIELD_OWN_REASON},
	{FLAG_FACT("synchronized", synchronized)},
	{KNOWN("watches_page", page), .options = FIELD_FILLED, .reason = "watches_page_reason"},
	{REASON("watches_page_reason")},
	{REAL("interval_s", interval_s, 3), .options = FIELD_FILLED},
	{INTEGER("changes", counts.changes, INT64_MAX), .options = FIELD_FILLED},
	{INTEGER("wakeups", counts.wakeups, INT64_MAX), .options = FIELD_FILLED},
	{REAL("cpu_s", counts.cpu_s, 6), .options = FIELD_FILLED},
	{0},
};

#define PART_COUNT 3 /* with the empty one at the end */

static void list_parts(struct document_part parts[PART_COUNT], const struct watch_event *event)
{
	parts[0] = moment_part(event ? &event->moment : NULL, NULL);
	parts[1] = (struct document_part){.fields = event_fields, .from = event};
	parts[2] = (struct document_part){0};
}

bool watch_event_json(const void *result, const struct style *style, FILE *out)
{
	struct document_part parts[PART_COUNT];

	(void)style;
	list_parts(parts, result);
	return document_write(WATCH_JSON_SCHEMA, parts, true, out);
}

bool watch_json_schema(FILE *out)
{
	struct document_part parts[PART_COUNT];

	list_parts(parts, NULL);
	return document_schema(WATCH_JSON_SCHEMA, parts, out);
}
