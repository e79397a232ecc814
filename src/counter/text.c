/* SPDX-License-Identifier: MIT */
/* Prints the result of `vdsocheck counter` for people: the verdict, the rates, and why. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "cli/text.h"
#include "model.h"

#define LABEL_INDENT 13

static const struct heading headings[] = {
	[COUNTER_UNKNOWN] = {"UNKNOWN", COLOR_MAGENTA},
	[COUNTER_SAFE] = {"SAFE", COLOR_GREEN},
	[COUNTER_UNSAFE] = {"UNSAFE", COLOR_RED},
};

/* Shows the rates that are known; with -v why the others are not. */
static void write_rates(const struct counter_report *report, bool verbose, FILE *out)
{
	struct rate known[RATE_COUNT];
	struct table table = {.fields = rate_fields, TABLE_ROWS(known, 0), .whole = known};
	size_t count = 0;

	for (int id = 0; id < RATE_COUNT; id++) {
		if (fact_is_known(&report->rates[id].fact))
			known[count++] = report->rates[id];
	}
	fputc('\n', out);
	table.count = count;
	if (count)
		table_write(&table, out);
	else
		wrap_print(out, "rate", LABEL_INDENT, "not known");
	fputc('\n', out);
	for (int id = 0; id < RATE_COUNT && verbose; id++) {
		const struct rate *rate = &report->rates[id];

		if (fact_is_known(&rate->fact))
			continue;
		wrap_format(out, count == RATE_COUNT ? "" : "not known", LABEL_INDENT, "%s: %s",
			rate->source, rate->fact.reason);
		count = RATE_COUNT;
	}
}

static void write_counter(const struct counter_report *report, FILE *out)
{
	const struct counter_evidence *evidence = report->evidence;
	const struct timing_evidence *timing = &evidence->host.timing;
	const struct counter_view *view = &report->verdict.view;
	struct strbuf sb = {.used = 0};
	char ns[32];

	strbuf_add(&sb, "%s", *timing->counter ? timing->counter : "none known");
	if (view->x86 && fact_is_known(&evidence->host.host.invariant_tsc.fact))
		strbuf_add(&sb, ", %s", view->guaranteed ? "invariant" : "not invariant");
	if (view->x86 && fact_is_known(&evidence->claims.fact))
		strbuf_add(&sb, ", %s", evidence->claims.rdtscp ? "rdtscp" : "no rdtscp");
	if (fact_is_known(&timing->counter_fact))
		strbuf_add(&sb, ", %s (%s ns)", view->trapped ? "intercepted" : "not intercepted",
			format_ns(timing->counter_ns, ns));
	else
		strbuf_add(&sb, ", not timed: %s", timing->counter_fact.reason);
	wrap_print(out, "counter", LABEL_INDENT, sb.text);
}

static void write_cpus(const struct warp_evidence *warp, FILE *out)
{
	const struct warp_result *counter = &warp->results[WARP_COUNTER];
	struct strbuf sb = {.used = 0};
	char count[32];

	if (!fact_is_known(&counter->fact)) {
		strbuf_add(&sb, "not compared: %s", counter->fact.reason);
	} else if (warp->cpu_count == 1) {
		strbuf_add(&sb, "CPU %d alone, nothing to compare", warp->cpus[0]);
	} else {
		if (fact_is_known(&counter->apart.fact))
			strbuf_add(&sb, "within %lld ns%s", (long long)counter->apart.value,
				warp_is_one_tick(&warp->drift, (double)counter->apart.value)
					? ", one tick,"
					: "");
		else
			strbuf_add(&sb, "offset not known");
		strbuf_add(&sb, " on %zu of %zu CPUs; ", warp->cpu_count, warp->allowed);
		if (counter->warps)
			strbuf_add(&sb, "%s warps", format_count(counter->warps, count));
		else
			strbuf_add(&sb, "no warp");
		strbuf_add(&sb, " in %.1f s%s", warp->duration_s,
			warp->stopped ? " (interrupted)" : "");
	}
	wrap_print(out, "CPUs", LABEL_INDENT, sb.text);
}

static void write_kernel(const struct counter_report *report, FILE *out)
{
	static const char *const words[] = {
		[COUNTER_NOT_OFFERED] = "does not offer it",
		[COUNTER_IN_USE] = "uses it",
		[COUNTER_OFFERED] = "offers it",
		[COUNTER_CLEARED] = "dropped it on a false alarm",
		[COUNTER_DISABLED] = "has it disabled on its command line",
		[COUNTER_DISTRUSTED] = "dropped it",
		[COUNTER_FAULTY] = "found it wrong",
	};
	const struct evidence *host = &report->evidence->host;
	const struct counter_view *view = &report->verdict.view;
	struct strbuf sb = {.used = 0};

	strbuf_add(&sb, "%s; clocksource ", words[view->standing]);
	describe_clocksource(host, &sb);
	if (view->standing != COUNTER_IN_USE && !fact_is_known(&host->kernel_log.fact))
		strbuf_add(&sb, "; its log was not read: %s", host->kernel_log.fact.reason);
	wrap_print(out, "kernel", LABEL_INDENT, sb.text);
	if (view->line)
		wrap_print(out, "", LABEL_INDENT, view->line->text);
	sb = (struct strbuf){.used = 0};
	describe_host(host, 64, &sb);
	wrap_print(out, "host", LABEL_INDENT, sb.text);
}

bool counter_report_text(const void *result, const struct style *style, FILE *out)
{
	const struct counter_report *report = result;
	const struct counter_verdict *verdict = &report->verdict;

	wrap_answer(out, &headings[verdict->outcome], style->color, verdict->summary);
	if (verdict->until)
		wrap_format(out, "", (int)strlen(headings[verdict->outcome].word) + 2, "Until: %s",
			verdict->until);
	write_rates(report, style->verbose, out);
	write_counter(report, out);
	write_cpus(&report->evidence->warp, out);
	write_kernel(report, out);
	for (size_t i = 0; i < verdict->note_count; i++)
		wrap_print(out, i ? "" : "Note", LABEL_INDENT, verdict->notes[i].text);
	return true;
}
