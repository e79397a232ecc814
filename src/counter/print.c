/* SPDX-License-Identifier: MIT */
/*
 * Prints the result of counter: its document, its metrics in Prometheus's text format, and for
 * people the rates and what the verdict rests on.
 */
#include "model.h"

#include <math.h>
#include <string.h>

/* ---- the document, and the columns of the table ---- */

static void print_mhz(const void *object, const void *whole, FILE *out)
{
	(void)whole;
	fputs(as_mhz(((const struct rate *)object)->hz, 6), out);
}

/* Rounds up: no error is 0. */
static void print_error(const void *object, const void *whole, FILE *out)
{
	(void)whole;
	fprintf(out, "%.1f", ceil(((const struct rate *)object)->error_ppm * 10) / 10);
}

/* `whole` is the first rate that is known; what both errors explain is no difference. */
static void print_off(const void *object, const void *whole, FILE *out)
{
	const struct rate *rate = object, *first = whole;

	if (rate != first)
		fprintf(out, rate_difference(rate, first) > 0 ? "%.1f" : "within", rate->off_ppm);
}

#define OF struct rate

static const struct field rate_fields[] = {
	{STRING("source", source), .options = FIELD_FILLED, .title = "rate", .width = 33,
		.left = true, .doc = "where the rate comes from"},
	{WHOLE("reason", fact), .doc = "why the rate is null; null: it is known"},
	{REAL("hz", hz, 0), .title = "MHz", .width = 15, .cell = print_mhz,
		.doc = "rate of the counter in Hz"},
	{REAL("error_ppm", error_ppm, 3), .title = "+/- ppm", .width = 11, .cell = print_error,
		.doc = "parts per million by which it may be wrong, by the resolution of its source"},
	{REAL("off_ppm", off_ppm, 3), .options = FIELD_SIGNED, .title = "off ppm", .width = 12,
		.cell = print_off,
		.doc = "parts per million by which it is more than the first rate that is known"},
	{0},
};

#undef OF
#define OF struct counter_judgment

static const struct field view_fields[] = {
	{WORD("kernel", standing, counter_standing_names),
		.doc = "what the kernel did with the counter: in-use, offered; dropped and cleared "
		       "(the log shows that it was sound), distrusted or faulty; disabled at boot; "
		       "not-offered"},
	{FLAG("guaranteed", guaranteed),
		.doc = "whether the CPU or the hypervisor guarantees an invariant TSC"},
	{FLAG("trapped", trapped), .doc = "whether each read is intercepted or emulated"},
	{0},
};

#undef OF
#define OF struct counter_note

static const struct field note_fields[] = {
	{STRING("id", id), .options = FIELD_FILLED, .doc = "id of the note"},
	{TEXT("text", text), .options = FIELD_FILLED,
		.doc = "what is worth knowing, in a sentence"},
	{0},
};

#undef OF
#define OF struct counter_evidence

static const struct field evidence_fields[] = {
	{INLINE(host, surroundings_fields)},
	{NS("read_ns", host.timing.counter_ns.value), .fact = FACT(host.timing.counter_ns.fact),
		.reason = "read_reason", .doc = "ns per read of the counter"},
	{REASON("read_reason")},
	{TEXT("counter", host.timing.counter), .doc = "name of the counter; null: none known"},
	{REAL("duration_s", warp.duration_s, 3), .fact = FACT(warp.fact),
		.reason = "duration_reason", .doc = "seconds that the CPUs were compared"},
	{REASON("duration_reason")},
	{FLAG("stopped", warp.stopped),
		.doc = "whether the test was stopped before the time asked for"},
	{INTEGER("allowed_cpus", warp.allowed, INT64_MAX),
		.doc = "CPUs that this process may run on"},
	{INTEGER("tested_cpus", warp.cpu_count, INT64_MAX), .doc = "CPUs that were compared"},
	{INTEGER("warps", warp.results[WARP_COUNTER].warps, INT64_MAX),
		.fact = FACT(warp.results[WARP_COUNTER].fact), .reason = "warps_reason",
		.doc = "readings that were earlier than one already taken"},
	{REASON("warps_reason")},
	{INTEGER("max_offset_ns", warp.results[WARP_COUNTER].max_offset.value, INT64_MAX),
		.whole = FACT(warp.results[WARP_COUNTER].fact),
		.fact = FACT(warp.results[WARP_COUNTER].max_offset.fact),
		.reason = "max_offset_reason",
		.doc = "upper bound in ns on the offset between the counters of any two CPUs"},
	{REASON("max_offset_reason")},
	{0},
};

#undef OF
#define OF struct counter

const struct field counter_fields[] = {
	{STRING("rule", report.rule), .options = FIELD_FILLED,
		.doc = "id of the rule that gave the verdict"},
	{STRING("until", until),
		.doc = "what ends a safe verdict on this platform; null: nothing known"},
	{INLINE(view, view_fields)},
	{LIST("notes", notes, note_count, note_fields), .doc = "what is worth knowing besides"},
	{REAL("hz", hz.value, 0), .fact = FACT(hz.fact),
		.doc = "rate of the counter in Hz: the first of the rates that is known; null: none"},
	{LIST("rates", rates, rate_count, rate_fields), .doc = "the rate by each source"},
	{INLINE(evidence, evidence_fields)},
	{0},
};

/* ---- metrics ---- */

/* An unknown rate has no sample, as in the metrics of check. */
void counter_prometheus(const void *data, const struct style *style, FILE *out)
{
	const struct counter *counter = data;

	(void)style;
	fputs("# HELP vdsocheck_tsc_verdict Whether programs may read the TSC themselves: 1 for "
	      "the verdict, 0 for the others.\n# TYPE vdsocheck_tsc_verdict gauge\n",
		out);
	for (const struct answer *answer = counter_answers; answer->word; answer++)
		fprintf(out, "vdsocheck_tsc_verdict{verdict=\"%s\"} %d\n", answer->word,
			answer == counter->report.answer);
	if (fact_is_known(&counter->hz.fact))
		fprintf(out,
			"# HELP vdsocheck_tsc_hertz Rate of the CPU's counter.\n# TYPE "
			"vdsocheck_tsc_hertz gauge\nvdsocheck_tsc_hertz %.0f\n",
			counter->hz.value);
}

/* ---- the text ---- */

/* Shows the rates that are known; with -v why the others are not. */
static void write_rates(const struct counter *counter, struct page *page)
{
	struct rate known[RATE_COUNT];
	struct table table = {.fields = rate_fields, TABLE_ROWS(known, 0), .whole = known};
	const char *label = "not known";

	for (int id = 0; id < RATE_COUNT; id++) {
		if (fact_is_known(&counter->rates[id].fact))
			known[table.count++] = counter->rates[id];
	}
	if (table.count)
		page_table(page, &table);
	else
		fprintf(page->out, "\n  rate       not known\n");
	fputc('\n', page->out);
	for (int id = 0; id < RATE_COUNT && page->all; id++) {
		const struct rate *rate = &counter->rates[id];

		if (fact_is_known(&rate->fact))
			continue;
		page_line(page, label, "%s: %s", rate->source, rate->fact.reason);
		label = "";
	}
}

static void write_counter(const struct counter *counter, struct page *page)
{
	const struct counter_evidence *evidence = &counter->evidence;
	const struct timing_evidence *timing = &evidence->host.timing;
	const struct counter_judgment *view = &counter->view;

	page_line(page, "counter", "%s", *timing->counter ? timing->counter : "none known");
	if (view->x86 && fact_is_known(&evidence->host.host.invariant_tsc.fact))
		page_add(page, ", %s", view->guaranteed ? "invariant" : "not invariant");
	if (view->x86 && fact_is_known(&evidence->claims.fact))
		page_add(page, ", %s", evidence->claims.rdtscp ? "rdtscp" : "no rdtscp");
	if (fact_is_known(&timing->counter_ns.fact))
		page_add(page, ", %s (%s ns)", view->trapped ? "intercepted" : "not intercepted",
			as_ns(timing->counter_ns.value));
	else
		page_add(page, ", not timed: %s", timing->counter_ns.fact.reason);
}

static void write_cpus(const struct warp_evidence *warp, struct page *page)
{
	const struct warp_result *counter = &warp->results[WARP_COUNTER];

	page_line(page, "CPUs", "%s", "");
	if (!fact_is_known(&counter->fact)) {
		page_add(page, "not compared: %s", counter->fact.reason);
	} else if (warp->cpu_count == 1) {
		page_add(page, "CPU %d alone, nothing to compare", warp->cpus[0]);
	} else {
		if (fact_is_known(&counter->max_offset.fact))
			page_add(page, "within %lld ns%s", (long long)counter->max_offset.value,
				warp_is_one_tick(&warp->drift, (double)counter->max_offset.value)
					? ", one tick,"
					: "");
		else
			page_add(page, "offset not known");
		page_add(page, " on %zu of %zu CPUs; ", warp->cpu_count, warp->allowed);
		if (counter->warps)
			page_add(page, "%s warps", as_count(counter->warps));
		else
			page_add(page, "no warp");
		page_add(page, " in %.1f s%s", warp->duration_s,
			warp->stopped ? " (interrupted)" : "");
	}
}

static void write_kernel(const struct counter *counter, struct page *page)
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
	const struct evidence *host = &counter->evidence.host;
	const struct counter_judgment *view = &counter->view;

	page_line(page, "kernel", "%s; clocksource ", words[view->standing]);
	strbuf_add_clocksource(host, &page->text);
	if (view->standing != COUNTER_IN_USE && !fact_is_known(&host->kernel_log.fact))
		page_add(page, "; its log was not read: %s", host->kernel_log.fact.reason);
	if (view->line)
		page_line(page, "", "%s", view->line->text);
	page_host(page, host);
}

void counter_text(const void *data, struct page *page)
{
	const struct counter *counter = data;

	if (counter->until) {
		page->indent = (int)strlen(counter->report.answer->word) + 2;
		page_line(page, "", "Until: %s", counter->until);
		page_end(page);
		page->indent = counter->report.type->indent;
	}
	write_rates(counter, page);
	write_counter(counter, page);
	write_cpus(&counter->evidence.warp, page);
	write_kernel(counter, page);
	for (size_t i = 0; i < counter->note_count; i++)
		page_line(page, i ? "" : "Note", "%s", counter->notes[i].text);
}
