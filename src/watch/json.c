/* SPDX-License-Identifier: MIT */
/*
 * The fields of the documents of `vdsocheck watch`, one a line, which are written and never read;
 * and metrics in Prometheus's text exposition format, for a file that each event replaces.
 */
#include <inttypes.h>
#include <time.h>

#include "check.h"
#include "document.h"
#include "model.h"

/* ---- a check, and the state of the clocksource ---- */

static json_t *exit_status(const void *object, const void *whole)
{
	(void)whole;
	return json_integer(
		verdict_answers[((const struct watch_check *)object)->diagnosis.verdict.kind]
			.status);
}

#define OF struct watch_check

static const struct field state_fields[] = {
	{TEXT("clocksource", evidence.clocksource.latest),
		.fact = FACT(evidence.clocksource.current_fact), .options = FIELD_OWN_REASON,
		.doc = "clocksource in use"},
	{INTEGER("mode", evidence.vclock.mode, VCLOCK_MODE_TIMENS),
		.given = GIVEN(evidence.vclock.how),
		.doc = "the kernel's number of the clock mode, 0 for none; null: unknown"},
	{TEXT("mode_name", evidence.vclock.name),
		.doc = "name of the clock mode; null: unknown, or the number has no name"},
	{FLAG_FACT("pvclock_stable", evidence.vclock.pvclock_stable),
		.doc = "whether PVCLOCK_TSC_STABLE_BIT is set in the pvclock page of CPU 0"},
	{NUMBER_FACT("hyperv_sequence", evidence.vclock.hyperv_sequence, UINT32_MAX),
		.doc = "sequence number of the Hyper-V TSC page; 0: the page is invalid"},
	{0},
};

static const struct field check_fields[] = {
	{ANSWER("verdict", diagnosis.verdict.kind, verdict_answers), .options = FIELD_FILLED},
	{COMPUTED("exit_status", FIELD_INTEGER, exit_status), .options = FIELD_FILLED, .most = 3,
		.answers = verdict_answers},
	{TEXT("summary", diagnosis.verdict.summary), .options = FIELD_FILLED,
		.doc = "verdict in a sentence"},
	{WORD("clock", diagnosis.wall_clock.state, wall_clock_names), .options = FIELD_FILLED,
		.doc = "the wall clock beside other clocks: unknown, right, behind or ahead"},
	{REAL("clock_offset_s", diagnosis.wall_clock.offset_s, 6), .options = FIELD_SIGNED,
		.fact = FACT(diagnosis.wall_clock.fact), .reason = "clock_reason",
		.doc = "seconds by which the clock is ahead of the other one; negative: behind"},
	{REASON("clock_reason")},
	{0},
};

#undef OF

/* ---- the event ---- */

static json_t *verdict_before(const void *object, const void *whole)
{
	const struct watch_event *event = object;

	(void)whole;
	return json_string(verdict_answers[event->before->diagnosis.verdict.kind].word);
}

#define OF struct watch_event

const struct field watch_event_fields[] = {
	{INLINE(timestamp, timestamp_fields)},
	{WORD("event", kind, watch_event_names), .options = FIELD_FILLED,
		.doc = "start: watching begins; change: clocksource, mode, page or verdict "
		       "changed; restored: the guest was restored, migrated or paused; test: "
		       "that of --simulate, of a made-up verdict; end: watching ends"},
	{REAL("stood_s", stood_s.value, 3), .fact = FACT(stood_s.fact), .options = FIELD_OWN_REASON,
		.doc = "seconds that the guest's clock stood still at a restore"},
	{INLINE_AT(now, check_fields)},
	{COMPUTED("verdict_before", FIELD_WORD, verdict_before), .answers = verdict_answers,
		.given = GIVEN(before),
		.doc = "verdict before the change, restore or test; null: another event"},
	{OBJECT_AT("from", before, state_fields), .given = GIVEN(before),
		.doc = "state before the change, restore or test; null: another event"},
	{OBJECT_AT("to", now, state_fields), .doc = "state now"},
	{TEXT("kernel_log", log.text), .fact = FACT(log.fact), .options = FIELD_OWN_REASON,
		.doc = "line of the kernel log that explains the change, with the seconds since "
		       "boot"},
	{FLAG("synchronized", ntp.synchronized), .fact = FACT(ntp.fact),
		.options = FIELD_OWN_REASON,
		.doc = "whether the kernel regards its clock as synchronized"},
	{KNOWN("watching_page", page), .options = FIELD_FILLED, .reason = "watching_page_reason",
		.doc = "whether the vDSO's data page is watched; false: see watching_page_reason"},
	{REASON("watching_page_reason"), .doc = "why the data page is not watched; null: it is"},
	{REAL("interval_s", interval_s, 3), .options = FIELD_FILLED,
		.doc = "seconds between two readings of the clock mode"},
	{REAL("recheck_s", recheck_s, 3), .options = FIELD_FILLED,
		.doc = "seconds between two checks where no pvclock page shows a restore"},
	{INTEGER("changes", counts.changes, INT64_MAX), .options = FIELD_FILLED,
		.doc = "changes since watching began, also those at a restore"},
	{INTEGER("restores", counts.restores, INT64_MAX), .options = FIELD_FILLED,
		.doc = "restores since watching began"},
	{INTEGER("wakeups", counts.wakeups, INT64_MAX), .options = FIELD_FILLED,
		.doc = "times that vdsocheck woke up since watching began"},
	{REAL("cpu_s", counts.cpu_s, 6), .options = FIELD_FILLED,
		.doc = "seconds of CPU time since watching began, without checks and hooks"},
	{0},
};

void watch_event_json(const void *result, const struct style *style, FILE *out)
{
	(void)style;
	document_write(WATCH_JSON_SCHEMA, watch_event_fields, result, true, out);
}

/* ---- metrics ---- */

/*
 * None has a name of those of `vdsocheck --format prometheus`: node_exporter reads both files, and
 * refuses a sample that it has read before.
 */
static void write_metric(
	const char *name, const char *type, const char *help, int64_t value, FILE *out)
{
	fprintf(out, "# HELP vdsocheck_%s %s\n# TYPE vdsocheck_%s %s\nvdsocheck_%s %" PRId64 "\n",
		name, help, name, type, name, value);
}

void watch_event_prometheus(const void *result, const struct style *style, FILE *out)
{
	const struct watch_counts *counts = &((const struct watch_event *)result)->counts;
	const struct text_fact *last = &counts->last_change;
	struct tm time = {.tm_year = 0};

	(void)style;
	write_metric("changes_total", "counter",
		"Changes of clocksource, mode, page or verdict since vdsocheck watch began.",
		(int64_t)counts->changes, out);
	write_metric("restores_total", "counter",
		"Restores, migrations and resumes that were noticed since vdsocheck watch began.",
		(int64_t)counts->restores, out);
	if (fact_is_known(&last->fact) && strptime(last->value, "%Y-%m-%dT%H:%M:%SZ", &time))
		write_metric("last_change_timestamp_seconds", "gauge",
			"When vdsocheck watch noticed the last change, in seconds since 1970.",
			(int64_t)timegm(&time), out);
}
