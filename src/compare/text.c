/* SPDX-License-Identifier: MIT */
/*
 * What `vdsocheck compare` prints for people: the answer, the table, what the switches left
 * behind, and advice. Commands are printed whole, so that they can be pasted.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/describe.h"
#include "cli/layout.h"
#include "model.h"

#define LABEL_INDENT 11
#define NAME_COLUMN 2
#define NAME_WIDTH 27
#define VALUE_COLUMN (NAME_COLUMN + NAME_WIDTH)

/* Larger numbers are shown in the next unit. */
#define SHORT_ENOUGH 100000

static const struct heading headings[] = {
	[RANKING_UNKNOWN] = {"UNKNOWN", COLOR_MAGENTA},
	[RANKING_OK] = {"OK", COLOR_GREEN},
	[RANKING_CHANGE] = {"CHANGE", COLOR_YELLOW},
};

/* ---- the conclusions ---- */

static void summarize(const struct compare_report *report, struct strbuf *sb)
{
	const struct run_result *result = report->result;
	const struct ranking *ranking = report->ranking;
	const struct candidate *in_use = &result->candidates[0], *other;
	const char *name = report->original;
	size_t measured = 0;
	char cost[32], ns[32];

	for (size_t i = 0; i < result->count; i++)
		measured += result->candidates[i].state >= CANDIDATE_WARPS;
	format_ns(in_use->cost_ns, cost);
	if (ranking->verdict == RANKING_CHANGE) {
		other = &result->candidates[ranking->advised];
		strbuf_add(sb, "change %s, which is in use, to %s: ", name, other->name);
		if (other->gain == GAIN_ORDER)
			strbuf_add(sb, "%s ran backwards, %s did not in %g s.", name, other->name,
				report->warp_s);
		else
			strbuf_add(sb, "%s ns per call instead of %s ns%s.",
				format_ns(other->cost_ns, ns), cost,
				other->gain == GAIN_CLASS ? ", served by the vDSO" : "");
	} else if (ranking->verdict == RANKING_OK) {
		strbuf_add(sb, "keep %s, which is in use: %s ns per call", name, cost);
		other = &result->candidates[ranking->fastest];
		if (other != in_use)
			strbuf_add(sb, ". %s takes %s ns, but is not recommended here.",
				other->name, format_ns(other->cost_ns, ns));
		else
			strbuf_add(sb, "; no other clocksource %s.",
				measured > 1 ? "is clearly faster" : "could be measured");
	} else if (result->end != RUN_WHOLE) {
		strbuf_add(sb,
			"no recommendation; %s was in use. %zu of %zu clocksources were measured: "
			"%s.",
			name, measured, result->count, result->why.reason);
	} else if (result->restored != SWITCH_DONE) {
		strbuf_add(sb, "no recommendation; %s was in use and is not restored.", name);
	} else if (in_use->state == CANDIDATE_WARPS) {
		strbuf_add(sb,
			"%s, which is in use, ran backwards, and no other clocksource can be "
			"recommended.",
			name);
	} else if (in_use->state == CANDIDATE_MEASURED) {
		strbuf_add(sb,
			"no recommendation; %s is in use. Something else switched the clocksource "
			"during the run.",
			name);
	} else {
		strbuf_add(sb, "no recommendation; %s, which is in use, could not be measured: %s.",
			name, in_use->reason);
	}
}

void compare_conclude(struct compare_report *report)
{
	const struct ranking *ranking = report->ranking;
	const struct candidate *candidates = report->result->candidates;
	struct compare_advice *advice = &report->advice;
	struct strbuf sb = {.used = 0};

	summarize(report, &sb);
	text_copy(report->summary, sizeof(report->summary), sb.text);
	sb = (struct strbuf){.used = 0};
	if (ranking->verdict == RANKING_CHANGE) {
		advice->to = candidates[ranking->advised].name;
		snprintf(advice->command, sizeof(advice->command), "echo %s | sudo tee %s%s",
			advice->to, report->tree, CLOCKSOURCE_CURRENT);
		snprintf(advice->undo, sizeof(advice->undo), "echo %s | sudo tee %s%s",
			report->original, report->tree, CLOCKSOURCE_CURRENT);
		snprintf(
			advice->parameter, sizeof(advice->parameter), "clocksource=%s", advice->to);
	} else if (ranking->verdict == RANKING_UNKNOWN) {
		strbuf_add(&sb, "absent: the measurement does not allow a recommendation");
	} else if (ranking->why_not) {
		strbuf_add(&sb, "absent: %s is not recommended, because %s",
			candidates[ranking->fastest].name, ranking->why_not);
	} else {
		strbuf_add(&sb, "absent: no other clocksource is clearly faster");
	}
	text_copy(report->advice_reason, sizeof(report->advice_reason), sb.text);
}

/* ---- the table ---- */

/* Over the deciding calls, in at most 12 characters. */
static void describe_entering(const struct candidate *candidate, char *text, size_t size)
{
	const struct entry_counts *counts = &candidate->entries;

	if (!counts->attempts)
		snprintf(text, size, "not proven");
	else if (counts->entered == 0)
		snprintf(text, size, "never");
	else if (counts->entered == counts->attempts)
		snprintf(text, size, "always");
	else
		snprintf(text, size, "%u of %u", counts->entered, counts->attempts);
}

static int64_t largest_warp_ns(const struct candidate *candidate)
{
	int64_t largest = 0;

	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		const struct warp_result *result = &candidate->warp.results[id];

		if (fact_is_known(&result->fact) && result->largest_ns > largest)
			largest = result->largest_ns;
	}
	return largest;
}

/* In at most 9 characters. */
static void describe_size(int64_t ns, char *text, size_t size)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	size_t unit = 0;
	char count[32];

	while (ns >= SHORT_ENOUGH && unit < ARRAY_SIZE(units) - 1) {
		ns /= 1000;
		unit++;
	}
	snprintf(text, size, "%s %s", format_count((uint64_t)ns, count), units[unit]);
}

static void describe_warps(const struct candidate *candidate, char *text, size_t size)
{
	if (!fact_is_known(&candidate->warp.fact))
		snprintf(text, size, "not tested");
	else if (candidate->warps > 0)
		describe_size(largest_warp_ns(candidate), text, size);
	else if (candidate->warp.cpu_count < 2)
		snprintf(text, size, "one CPU");
	else
		snprintf(text, size, "none");
}

static void write_ns(bool known, double ns, int width, FILE *out)
{
	char text[32];

	fprintf(out, "%*s", width, known ? format_ns(ns, text) : "-");
}

/* A name that is too long for its column has a line of its own. */
static void write_name(const struct compare_report *report, size_t place, FILE *out)
{
	char name[CLOCKSOURCE_NAME_SIZE + 16];
	int length = snprintf(name, sizeof(name), "%s%s", report->result->candidates[place].name,
		place == 0 ? " (in use)" : "");

	fprintf(out, "%c %-*s", place == report->ranking->fastest ? '*' : ' ', NAME_WIDTH, name);
	if (length > NAME_WIDTH)
		fprintf(out, "\n%*s", VALUE_COLUMN, "");
}

static void write_row(const struct compare_report *report, size_t place, FILE *out)
{
	const struct candidate *candidate = &report->result->candidates[place];
	const struct call_evidence *call =
		clock_gettime_of(&candidate->evidence, "CLOCK_MONOTONIC");
	char entering[32], warps[48];
	struct strbuf reason = {.used = 0};

	write_name(report, place, out);
	if (!fact_is_known(&candidate->tried)) {
		strbuf_add(&reason, "%s: %s", candidate_state_names[candidate->state],
			candidate->reason);
		wrap_text(out, VALUE_COLUMN, VALUE_COLUMN, reason.text);
		return;
	}
	describe_entering(candidate, entering, sizeof(entering));
	describe_warps(candidate, warps, sizeof(warps));
	write_ns(fact_is_known(&candidate->cost_fact), candidate->cost_ns, 8, out);
	write_ns(fact_is_known(&candidate->spread_fact), candidate->spread_ns, 8, out);
	write_ns(call && call->path[PATH_SYSCALL].timed, call ? call->path[PATH_SYSCALL].min_ns : 0,
		9, out);
	fprintf(out, "  %-13s%s\n", entering, warps);
	if (candidate->state == CANDIDATE_UNSURE) {
		fprintf(out, "%*s", VALUE_COLUMN, "");
		wrap_text(out, VALUE_COLUMN, VALUE_COLUMN, candidate->reason);
	}
}

static void write_table(const struct compare_report *report, FILE *out)
{
	const struct run_result *result = report->result;
	struct strbuf legend = {.used = 0};

	fprintf(out, "\n  %-*s%8s%8s%9s  %-13s%s\n", NAME_WIDTH, "clock_gettime MONOTONIC, ns",
		"vDSO", "spread", "syscall", "in kernel", "warps");
	for (size_t i = 0; i < result->count; i++)
		write_row(report, i, out);
	if (report->ranking->fastest != RANKING_NONE) {
		const struct candidate *fastest = &result->candidates[report->ranking->fastest];

		strbuf_add(&legend, "fastest");
		if (fastest->state == CANDIDATE_MEASURED && fastest->warp.cpu_count > 1)
			strbuf_add(&legend, ", no warp in %g s on %zu CPUs", report->warp_s,
				fastest->warp.cpu_count);
		fputs("* ", out);
		wrap_text(out, 2, 2, legend.text);
	}
	for (size_t i = 0; i < result->count; i++) {
		const struct candidate *candidate = &result->candidates[i];
		struct strbuf few = {.used = 0};

		if (!fact_is_known(&candidate->warp.fact) ||
			candidate->warp.cpu_count >= candidate->warp_allowed)
			continue;
		strbuf_add(&few, "%s: tested for warps on %zu of %zu CPUs", candidate->name,
			candidate->warp.cpu_count, candidate->warp_allowed);
		fputs("  ", out);
		wrap_text(out, 2, 2, few.text);
	}
}

/* ---- what was left behind ---- */

void compare_describe_ntp(const struct ntp_state *state, char *text, size_t size)
{
	if (!fact_is_known(&state->fact))
		snprintf(text, size, "not known (%s)", state->fact.reason);
	else
		snprintf(text, size, "%s, offset %.1f us, maximum error %.1f ms%s",
			state->synchronized ? "synchronized" : "not synchronized",
			(double)state->offset_ns / 1e3, (double)state->max_error_us / 1e3,
			state->leap_pending ? ", leap second pending" : "");
}

static void write_state_left(const struct compare_report *report, FILE *out)
{
	const struct run_result *result = report->result;
	char ntp[FACT_REASON_SIZE + 64];
	struct strbuf sb = {.used = 0};

	compare_describe_ntp(&result->before, ntp, sizeof(ntp));
	strbuf_add(&sb, "before: %s; ", ntp);
	compare_describe_ntp(&result->after, ntp, sizeof(ntp));
	strbuf_add(&sb, "after: %s", ntp);
	wrap_print(out, "NTP", LABEL_INDENT, sb.text);
	if (result->restored != SWITCH_DONE)
		return;
	sb = (struct strbuf){.used = 0};
	strbuf_add(&sb, "the clocksource was restored to %s", report->original);
	wrap_print(out, "Now", LABEL_INDENT, sb.text);
}

/* ---- advice ---- */

/* Each line can be pasted; a backslash keeps it within 80 columns. */
static void write_command(const struct compare_report *report, const char *name, FILE *out)
{
	fprintf(out, "    echo %s | sudo tee \\\n      %s%s\n", name, report->tree,
		CLOCKSOURCE_CURRENT);
}

static void write_risk(const struct compare_report *report, const char *name, FILE *out)
{
	struct strbuf sb = {.used = 0};

	strbuf_add(&sb,
		"no warp in %g s does not prove that there are none: run vdsocheck warp -d 600 first.",
		report->warp_s);
	if (strncmp(name, "tsc", strlen("tsc")) == 0 && report->hypervisor)
		strbuf_add(&sb,
			" With tsc, time can jump or change speed after a live migration or a "
			"snapshot restore; do not use tsc on guests that are migrated or restored.");
	wrap_print(out, "Risk", LABEL_INDENT, sb.text);
}

static void write_advice(const struct compare_report *report, FILE *out)
{
	const struct ranking *ranking = report->ranking;
	const char *name = report->advice.to;
	struct strbuf sb = {.used = 0};

	if (ranking->why_not) {
		strbuf_add(&sb, "%s is not recommended, because %s",
			report->result->candidates[ranking->fastest].name, ranking->why_not);
		wrap_print(out, "Why not", LABEL_INDENT, sb.text);
	}
	if (!name)
		return;
	wrap_print(out, "Do", LABEL_INDENT, "use it until the next reboot:");
	write_command(report, name, out);
	wrap_print(out, "Keep", LABEL_INDENT, "add to the kernel command line:");
	fprintf(out, "    %s\n", report->advice.parameter);
	wrap_print(out, "Undo", LABEL_INDENT, "go back to the clocksource in use now:");
	write_command(report, report->original, out);
	write_risk(report, name, out);
}

bool compare_text(const void *result, const struct style *style, FILE *out)
{
	const struct compare_report *report = result;

	wrap_answer(out, &headings[report->ranking->verdict], style->color, report->summary);
	write_table(report, out);
	fputc('\n', out);
	write_state_left(report, out);
	write_advice(report, out);
	return true;
}
