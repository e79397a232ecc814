/* SPDX-License-Identifier: MIT */
/*
 * Prints the result of `vdsocheck warp` for people: the verdict, a row per clock, and the counters
 * of those pairs of CPUs that are furthest apart.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/text.h"
#include "model.h"

#define LABEL_INDENT 13

/* Pairs in the text; all are in the JSON document. */
#define PAIRS_SHOWN 4

static const struct heading headings[] = {
	[WARP_UNKNOWN] = {"UNKNOWN", COLOR_MAGENTA},
	[WARP_OK] = {"OK", COLOR_GREEN},
	[WARP_WARPS] = {"WARPS", COLOR_RED},
};

/* The larger, the more a pair deserves to be shown. */
static double weight(const struct warp_pair *pair)
{
	switch (pair->state) {
	case WARP_PAIR_MOVED:
		return INFINITY;
	case WARP_PAIR_KNOWN:
		return fabs(pair->offset_ns);
	default:
		return -1;
	}
}

/* Sorts by qsort(3) the largest weight first; equal ones stay as they are listed. */
static int compare_pairs(const void *one, const void *two)
{
	const struct warp_pair *a = *(const struct warp_pair *const *)one;
	const struct warp_pair *b = *(const struct warp_pair *const *)two;

	if (weight(a) == weight(b))
		return a < b ? -1 : 1;
	return weight(a) > weight(b) ? -1 : 1;
}

static void describe_pair(
	const struct warp_pair *pair, const struct warp_drift *drift, struct strbuf *sb)
{
	double offset = fabs(pair->offset_ns), bound = offset + pair->error_ns;
	char ns[32], error[32];

	switch (pair->state) {
	case WARP_PAIR_MOVED:
		strbuf_add(sb, "CPU %d and CPU %d drift apart: the offset is not constant",
			pair->cpu, pair->other_cpu);
		break;
	case WARP_PAIR_UNSEEN:
		strbuf_add(sb, "CPU %d and CPU %d never ran at the same time", pair->cpu,
			pair->other_cpu);
		break;
	default:
		if (offset <= pair->error_ns)
			strbuf_add(sb, "CPU %d and CPU %d agree within %s ns%s", pair->cpu,
				pair->other_cpu, format_ns(bound, ns),
				warp_is_one_tick(drift, bound) ? ", one tick" : "");
		else
			strbuf_add(sb, "CPU %d is %s ns %s CPU %d, +/- %s ns", pair->other_cpu,
				format_ns(offset, ns), pair->offset_ns < 0 ? "behind" : "ahead of",
				pair->cpu, format_ns(pair->error_ns, error));
	}
}

static void write_pairs(const struct warp_evidence *warp, bool all, FILE *out)
{
	const struct warp_pair **sorted = xcalloc(warp->pair_count, sizeof(struct warp_pair *));
	size_t count = all || warp->pair_count < PAIRS_SHOWN ? warp->pair_count : PAIRS_SHOWN;

	for (size_t i = 0; i < warp->pair_count; i++)
		sorted[i] = &warp->pairs[i];
	qsort(sorted, warp->pair_count, sizeof(struct warp_pair *), compare_pairs);
	for (size_t i = 0; i < count; i++) {
		struct strbuf sb = {.used = 0};

		describe_pair(sorted[i], &warp->drift, &sb);
		wrap_print(out, i ? "" : "counters", LABEL_INDENT, sb.text);
	}
	if (count < warp->pair_count)
		fprintf(out, "%*s%zu more pairs: -v shows them all\n", LABEL_INDENT, "",
			warp->pair_count - count);
	free(sorted);
}

static void write_drift(const struct warp_evidence *warp, FILE *out)
{
	const struct warp_drift *drift = &warp->drift;
	double drift_ppm = fabs(drift->drift_ppm);
	struct strbuf sb = {.used = 0};
	char mhz[48];

	if (fact_is_known(&drift->fact)) {
		if (drift_ppm <= drift->error_ppm)
			strbuf_add(&sb, "below %.2f ppm", drift_ppm + drift->error_ppm);
		else
			strbuf_add(&sb, "%.2f +/- %.2f ppm", drift_ppm, drift->error_ppm);
		strbuf_add(&sb, " against CLOCK_MONOTONIC_RAW; %s runs at %s MHz",
			warp->results[WARP_COUNTER].name, format_mhz(drift->counter_hz, 3, mhz));
	} else {
		strbuf_add(&sb, "not known: %s", drift->fact.reason);
	}
	wrap_print(out, "drift", LABEL_INDENT, sb.text);
}

/* Lists what was not tested, not counted, or cut short. */
static void write_notes(const struct warp_evidence *warp, FILE *out)
{
	unsigned discarded =
		warp->results[WARP_REALTIME].discarded + warp->results[WARP_TIMEOFDAY].discarded;

	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		const struct warp_result *result = &warp->results[id];

		if (!fact_is_known(&result->fact))
			wrap_format(out, "untested", LABEL_INDENT, "%s: %s", result->name,
				result->fact.reason);
	}
	if (warp->cpu_count != warp->allowed)
		wrap_format(out, "CPUs", LABEL_INDENT,
			"tested %zu of the %zu CPUs available to this process", warp->cpu_count,
			warp->allowed);
	if (discarded)
		wrap_format(out, "set", LABEL_INDENT,
			"the clock was set during the test; %u %s discarded", discarded,
			discarded == 1 ? "slice was" : "slices were");
	if (warp->stopped)
		wrap_format(
			out, "stopped", LABEL_INDENT, "interrupted after %.2f s", warp->duration_s);
}

bool warp_report_text(const void *result, const struct style *style, FILE *out)
{
	const struct warp_report *report = result;
	const struct warp_evidence *warp = report->warp;
	const struct table table = {
		.fields = warp_result_fields, TABLE_ROWS(warp->results, WARP_CLOCK_COUNT)};

	wrap_answer(
		out, &headings[report->verdict->verdict], style->color, report->verdict->summary);
	if (fact_is_known(&warp->fact)) {
		fputc('\n', out);
		table_write(&table, out);
		fprintf(out, "\n  apart: upper bound on the offset between any two CPUs.\n");
		write_pairs(warp, style->verbose, out);
		write_drift(warp, out);
		write_notes(warp, out);
	}
	if (fact_is_known(&report->verdict->advice_fact)) {
		fputc('\n', out);
		wrap_print(out, "Do", LABEL_INDENT, report->verdict->advice);
	}
	return true;
}
