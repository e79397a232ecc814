/* SPDX-License-Identifier: MIT */
/* An event for people and for logs: a line with a time, and what belongs to it indented. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "model.h"
#include "report.h"

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

static void write_restore(const struct watch_event *event, struct page *page)
{
	const struct base_evidence *base = &event->now->evidence.base;

	page_line(page, "", "restored, migrated or paused");
	if (fact_is_known(&base->fact))
		page_add(page, " %s ago", as_age(base->ago_s));
	if (fact_is_known(&event->stood_s.fact) && event->stood_s.value <= 0)
		page_add(page, "; the clock did not stand still");
	else if (fact_is_known(&event->stood_s.fact))
		page_add(page, "; the clock stood still for %s", as_age(event->stood_s.value));
	else
		page_add(page, "; no other clock shows for how long the clock stood still");
}

static void write_details(const struct watch_event *event, struct page *page)
{
	const struct diagnosis *diagnosis = &event->now->diagnosis;

	if (event->kind == WATCH_RESTORED)
		write_restore(event, page);
	if (event->kind == WATCH_RESTORED || diagnosis->wall_clock.state > WALL_CLOCK_RIGHT)
		page_line(page, "", "%s", diagnosis->wall_clock.summary);
	page_line(page, "", "%s", diagnosis->verdict.summary);
	if (event->before && fact_is_known(&event->log.fact))
		page_line(page, "", "kernel: %s", event->log.text);
	if (event->before && event->kind != WATCH_TEST && diagnosis->verdict.kind != VERDICT_OK)
		page_line(page, "", "run 'vdsocheck' for the cause and the fix");
	if (fact_is_known(&event->ntp.fact) && !event->ntp.synchronized)
		page_line(page, "", "the clock is not synchronized (STA_UNSYNC)");
}

static void write_watched(const struct watch_event *event, struct page *page)
{
	char why[FACT_REASON_SIZE + 16];

	fact_describe(&event->page, why, sizeof(why));
	page_line(page, "", "watching %s every %g s%s%s",
		*why ? "current_clocksource" : "the vDSO's data page", event->interval_s,
		*why ? ", not the vDSO's data page: " : "", why);
	if (!event->watches_base)
		page_line(page, "", "no pvclock page shows a restore: checking again every %s",
			as_age(event->recheck_s));
}

void watch_event_text(const void *result, const struct style *style, FILE *out)
{
	const struct watch_event *event = result;
	const struct watch_counts *counts = &event->counts;
	struct page page = {.out = out, .indent = 4};
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
	fprintf(out, ": %s", verdict_answers[event->now->diagnosis.verdict.kind].word);
	if (event->before)
		fprintf(out, " (was %s)",
			verdict_answers[event->before->diagnosis.verdict.kind].word);
	fputc('\n', out);
	if (event->kind == WATCH_END)
		page_line(&page, "",
			"changes: %" PRIu64 ", restores: %" PRIu64 ", wakeups: %" PRIu64
			", CPU time: %.3f s",
			counts->changes, counts->restores, counts->wakeups, counts->cpu_s);
	else
		write_details(event, &page);
	if (event->kind == WATCH_START)
		write_watched(event, &page);
	page_end(&page);
}
