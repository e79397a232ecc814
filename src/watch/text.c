/* SPDX-License-Identifier: MIT */
/* An event for people and for logs: a line with a time, and what belongs to it indented. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/text.h"
#include "model.h"

static void write_change(const struct watch_event *event, FILE *out)
{
	char before[WATCH_STATE_SIZE], now[WATCH_STATE_SIZE];

	watch_describe_state(&event->before->evidence, before);
	watch_describe_state(&event->now->evidence, now);
	if (event->kind != WATCH_CHANGE && strcmp(before, now) == 0)
		fputs(now, out);
	else if (watch_checks_agree(event->before, event->now))
		fprintf(out, "%s: changed and reverted", now);
	else
		fprintf(out, "%s -> %s", before, now);
}

/* An indented paragraph. */
static void write_text(const char *text, FILE *out)
{
	fputs("    ", out);
	wrap_text(out, 4, 4, text);
}

static void write_restore(const struct watch_event *event, FILE *out)
{
	const struct base_evidence *base = &event->now->evidence.base;
	struct strbuf text = {.used = 0};

	strbuf_add(&text, "restored, migrated or paused");
	if (fact_is_known(&base->fact))
		strbuf_add(&text, " %s ago", as_age(base->ago_s));
	if (fact_is_known(&event->stood_s.fact) && event->stood_s.value <= 0)
		strbuf_add(&text, "; the clock did not stand still");
	else if (fact_is_known(&event->stood_s.fact))
		strbuf_add(&text, "; the clock stood still for %s", as_age(event->stood_s.value));
	else
		strbuf_add(&text, "; no other clock shows for how long the clock stood still");
	write_text(text.text, out);
	write_text(event->now->diagnosis.wall_clock.summary, out);
}

static void write_details(const struct watch_event *event, FILE *out)
{
	if (event->kind == WATCH_RESTORED)
		write_restore(event, out);
	else if (event->now->diagnosis.wall_clock.state > WALL_CLOCK_RIGHT)
		write_text(event->now->diagnosis.wall_clock.summary, out);
	write_text(event->now->diagnosis.verdict.summary, out);
	if (event->before && fact_is_known(&event->log.fact))
		fprintf(out, "    kernel: %s\n", event->log.text);
	if (event->before && event->kind != WATCH_TEST &&
		event->now->diagnosis.verdict.kind != VERDICT_OK)
		fputs("    run 'vdsocheck' for the cause and the fix\n", out);
	if (fact_is_known(&event->ntp.fact) && !event->ntp.synchronized)
		fputs("    the clock is not synchronized (STA_UNSYNC)\n", out);
}

static void write_watched(const struct watch_event *event, FILE *out)
{
	char why[FACT_REASON_SIZE + 16];
	struct strbuf text = {.used = 0};

	fact_describe(&event->page, why, sizeof(why));
	strbuf_add(&text, "watching %s every %g s%s%s",
		*why ? "current_clocksource" : "the vDSO's data page", event->interval_s,
		*why ? ", not the vDSO's data page: " : "", why);
	write_text(text.text, out);
	if (!event->watches_base)
		fprintf(out, "    no pvclock page shows a restore: checking again every %s\n",
			as_age(event->recheck_s));
}

bool watch_event_text(const void *result, const struct style *style, FILE *out)
{
	const struct watch_event *event = result;
	const struct watch_counts *counts = &event->counts;
	const char *verdict = verdict_names[event->now->diagnosis.verdict.kind];
	char state[WATCH_STATE_SIZE];

	(void)style;
	fprintf(out, "%s %s: ",
		fact_is_known(&event->timestamp.time.fact) ? event->timestamp.time.value
							   : "(time unknown)",
		watch_event_names[event->kind]);
	if (event->before)
		write_change(event, out);
	else
		fputs(watch_describe_state(&event->now->evidence, state), out);
	fprintf(out, ": %s", verdict);
	if (event->before)
		fprintf(out, " (was %s)", verdict_names[event->before->diagnosis.verdict.kind]);
	fputc('\n', out);
	if (event->kind == WATCH_END)
		fprintf(out,
			"    changes: %" PRIu64 ", restores: %" PRIu64 ", wakeups: %" PRIu64
			", CPU time: %.3f s\n",
			counts->changes, counts->restores, counts->wakeups, counts->cpu_s);
	else
		write_details(event, out);
	if (event->kind == WATCH_START)
		write_watched(event, out);
	return true;
}
