/* SPDX-License-Identifier: MIT */
/*
 * Prints the result of `vdsocheck warp` for people: the verdict, a row per clock, and the counters
 * of those pairs of CPUs that are furthest apart.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "cli/describe.h"
#include "cli/layout.h"
#include "model.h"

#define LABEL_INDENT 13
#define REASON_INDENT 22

#define ROW "  %-19s%13s%12s%12s%11s%11s\n"

/* Pairs in the text; all are in the JSON document. */
#define PAIRS_SHOWN 4

#define HZ_PER_MHZ 1e6

static const struct heading headings[] = {
	[WARP_UNKNOWN] = {"UNKNOWN", COLOR_MAGENTA},
	[WARP_OK] = {"OK", COLOR_GREEN},
	[WARP_WARPS] = {"WARPS", COLOR_RED},
};

static void describe_ns(bool known, int64_t ns, char text[32])
{
	if (known)
		format_count((uint64_t)ns, text);
	else
		snprintf(text, 32, "-");
}

static void write_result(enum warp_clock_id id, const struct warp_result *result, FILE *out)
{
	char reads[32], warps[32], largest[32], cpus[32], apart[32];

	if (!fact_is_known(&result->fact)) {
		fprintf(out, "  %-20s", warp_clock_name(id));
		wrap_text(out, REASON_INDENT, REASON_INDENT, result->fact.reason);
		return;
	}
	if (!result->warps)
		snprintf(cpus, sizeof(cpus), "-");
	else if (result->cpu_behind == result->cpu_ahead)
		snprintf(cpus, sizeof(cpus), "%d", result->cpu_behind);
	else
		snprintf(cpus, sizeof(cpus), "%d,%d", result->cpu_behind, result->cpu_ahead);
	describe_ns(result->warps > 0, result->largest_ns, largest);
	describe_ns(fact_is_known(&result->apart_fact), result->apart_ns, apart);
	fprintf(out, ROW, warp_clock_name(id), format_count(result->reads, reads),
		format_count(result->warps, warps), largest, cpus, apart);
}

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

/* The indexes of the pairs of largest weight, largest first; returns how many. */
static size_t pick_pairs(const struct warp_evidence *warp, size_t picked[PAIRS_SHOWN])
{
	size_t count = 0;

	for (size_t i = 0; i < warp->pair_count; i++) {
		size_t place = count < PAIRS_SHOWN ? count++ : PAIRS_SHOWN;

		while (place > 0 &&
			weight(&warp->pairs[i]) > weight(&warp->pairs[picked[place - 1]])) {
			if (place < PAIRS_SHOWN)
				picked[place] = picked[place - 1];
			place--;
		}
		if (place < PAIRS_SHOWN)
			picked[place] = i;
	}
	return count;
}

static void describe_pair(const struct warp_pair *pair, struct strbuf *sb)
{
	double offset = fabs(pair->offset_ns);
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
			strbuf_add(sb, "CPU %d and CPU %d agree within %s ns", pair->cpu,
				pair->other_cpu, format_ns(offset + pair->error_ns, ns));
		else
			strbuf_add(sb, "CPU %d is %s ns %s CPU %d, +/- %s ns", pair->other_cpu,
				format_ns(offset, ns), pair->offset_ns < 0 ? "behind" : "ahead of",
				pair->cpu, format_ns(pair->error_ns, error));
	}
}

static void write_pairs(const struct warp_evidence *warp, bool all, FILE *out)
{
	size_t picked[PAIRS_SHOWN];
	size_t count = all ? warp->pair_count : pick_pairs(warp, picked);

	for (size_t i = 0; i < count; i++) {
		struct strbuf sb = {.used = 0};

		describe_pair(&warp->pairs[all ? i : picked[i]], &sb);
		wrap_print(out, i ? "" : "counters", LABEL_INDENT, sb.text);
	}
	if (count < warp->pair_count)
		fprintf(out, "%*s%zu more pairs: -v shows them all\n", LABEL_INDENT, "",
			warp->pair_count - count);
}

static void write_drift(const struct warp_evidence *warp, FILE *out)
{
	const struct warp_drift *drift = &warp->drift;
	double drift_ppm = fabs(drift->drift_ppm);
	struct strbuf sb = {.used = 0};

	if (fact_is_known(&drift->fact)) {
		if (drift_ppm <= drift->error_ppm)
			strbuf_add(&sb, "below %.2f ppm", drift_ppm + drift->error_ppm);
		else
			strbuf_add(&sb, "%.2f +/- %.2f ppm", drift_ppm, drift->error_ppm);
		strbuf_add(&sb, " by CLOCK_MONOTONIC_RAW; %s runs at %.3f MHz",
			warp_clock_name(WARP_COUNTER), drift->counter_hz / HZ_PER_MHZ);
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
	struct strbuf cpus = {.used = 0}, set = {.used = 0}, stopped = {.used = 0};

	strbuf_add(&cpus, "tested %zu of the %zu CPUs available to this process", warp->cpu_count,
		warp->allowed);
	if (warp->cpu_count != warp->allowed)
		wrap_print(out, "CPUs", LABEL_INDENT, cpus.text);
	strbuf_add(&set, "the clock was set during the test; %u %s discarded", discarded,
		discarded == 1 ? "slice was" : "slices were");
	if (discarded)
		wrap_print(out, "set", LABEL_INDENT, set.text);
	strbuf_add(&stopped, "interrupted after %.2f s", (double)warp->duration_ns / 1e9);
	if (warp->stopped)
		wrap_print(out, "stopped", LABEL_INDENT, stopped.text);
}

bool warp_report_text(const void *result, const struct style *style, FILE *out)
{
	const struct warp_report *report = result;
	const struct warp_evidence *warp = report->warp;

	wrap_answer(
		out, &headings[report->verdict->verdict], style->color, report->verdict->summary);
	if (fact_is_known(&warp->fact)) {
		fprintf(out, "\n" ROW, "", "reads", "warps", "largest ns", "CPUs", "apart ns");
		for (int id = 0; id < WARP_CLOCK_COUNT; id++)
			write_result((enum warp_clock_id)id, &warp->results[id], out);
		fprintf(out, "\n  apart: upper bound on the offset between any two CPUs.\n");
		write_pairs(warp, style->verbose, out);
		write_drift(warp, out);
		write_notes(warp, out);
	}
	if (report->verdict->advice) {
		fputc('\n', out);
		wrap_print(out, "Do", LABEL_INDENT, report->verdict->advice);
	}
	return true;
}
