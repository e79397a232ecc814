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
#include "judge.h"
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

static const struct candidate *in_use(const struct compare_report *report)
{
	return &report->result->candidates[0];
}

/* ---- the answer ---- */

/* Those with warps were measured, too. */
static size_t count_measured(const struct run_result *result)
{
	size_t count = 0;

	for (size_t i = 0; i < result->count; i++)
		count += candidate_state(&result->candidates[i]) >= CANDIDATE_WARPS;
	return count;
}

static void summarise_unknown(const struct compare_report *report, char *summary, size_t size)
{
	const struct run_result *result = report->result;
	const char *name = report->original;

	if (result->end != RUN_WHOLE)
		snprintf(summary, size,
			"no recommendation; %s was in use. %zu of %zu clocksources were measured: "
			"%s.",
			name, count_measured(result), result->count, result->why.reason);
	else if (result->restored != SWITCH_DONE)
		snprintf(summary, size, "no recommendation; %s was in use and is not restored.",
			name);
	else if (candidate_state(in_use(report)) == CANDIDATE_WARPS)
		snprintf(summary, size,
			"%s, which is in use, ran backwards, and no other clocksource can be "
			"recommended.",
			name);
	else if (candidate_state(in_use(report)) == CANDIDATE_MEASURED)
		snprintf(summary, size,
			"no recommendation; %s is in use. Something else switched the clocksource "
			"during the run.",
			name);
	else
		snprintf(summary, size,
			"no recommendation; %s, which is in use, could not be measured: %s.", name,
			candidate_reason(in_use(report)));
}

static void summarise_ok(const struct compare_report *report, char *summary, size_t size)
{
	const struct ranking *ranking = report->ranking;
	const struct candidate *fastest = &report->result->candidates[ranking->fastest];
	char cost[32], other[32];

	format_ns(candidate_cost_ns(in_use(report)), cost);
	if (ranking->fastest != 0)
		snprintf(summary, size,
			"keep %s, which is in use: %s ns per call. %s takes %s ns, but is not "
			"recommended here.",
			report->original, cost, fastest->name,
			format_ns(candidate_cost_ns(fastest), other));
	else if (count_measured(report->result) > 1)
		snprintf(summary, size,
			"keep %s, which is in use: %s ns per call. No other one is clearly faster.",
			report->original, cost);
	else
		snprintf(summary, size,
			"keep %s, which is in use: %s ns per call. No other one could be measured.",
			report->original, cost);
}

static void summarise_change(const struct compare_report *report, char *summary, size_t size)
{
	const struct candidate *to = &report->result->candidates[report->ranking->advised];
	enum gain gain = ranking_gain(in_use(report), to);
	char before[32], after[32];

	format_ns(candidate_cost_ns(to), after);
	format_ns(candidate_cost_ns(in_use(report)), before);
	if (gain == GAIN_ORDER)
		snprintf(summary, size,
			"change %s, which is in use, to %s: %s ran backwards, %s did not in %g s.",
			report->original, to->name, report->original, to->name, report->warp_s);
	else
		snprintf(summary, size,
			"change %s, which is in use, to %s: %s ns per call instead of %s ns%s.",
			report->original, to->name, after, before,
			gain == GAIN_CLASS ? ", served by the vDSO" : "");
}

void compare_summary(const struct compare_report *report, char *summary, size_t size)
{
	switch (report->ranking->verdict) {
	case RANKING_OK:
		summarise_ok(report, summary, size);
		break;
	case RANKING_CHANGE:
		summarise_change(report, summary, size);
		break;
	default:
		summarise_unknown(report, summary, size);
		break;
	}
}

/* ---- the table ---- */

/* Over the deciding calls, in at most 12 characters. */
static void describe_entering(const struct candidate *candidate, char *text, size_t size)
{
	struct entry_counts counts = counts_deciding(&candidate->evidence);

	if (!counts.attempts)
		snprintf(text, size, "not proven");
	else if (counts.entered == 0)
		snprintf(text, size, "never");
	else if (counts.entered == counts.attempts)
		snprintf(text, size, "always");
	else
		snprintf(text, size, "%u of %u", counts.entered, counts.attempts);
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
	else if (candidate_warps(candidate) > 0)
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
	enum candidate_state state = candidate_state(candidate);
	char entering[32], warps[48];
	struct strbuf reason = {.used = 0};

	write_name(report, place, out);
	if (state == CANDIDATE_UNTRIED || state == CANDIDATE_VOID) {
		strbuf_add(&reason, "%s: %s", candidate_state_names[state],
			candidate_reason(candidate));
		wrap_text(out, VALUE_COLUMN, VALUE_COLUMN, reason.text);
		return;
	}
	describe_entering(candidate, entering, sizeof(entering));
	describe_warps(candidate, warps, sizeof(warps));
	write_ns(candidate->timing_count > 0, candidate_cost_ns(candidate), 8, out);
	write_ns(candidate->timing_count > 1, candidate_spread_ns(candidate), 8, out);
	write_ns(call && call->path[PATH_SYSCALL].timed, call ? call->path[PATH_SYSCALL].min_ns : 0,
		9, out);
	fprintf(out, "  %-13s%s\n", entering, warps);
	if (state == CANDIDATE_UNSURE) {
		fprintf(out, "%*s", VALUE_COLUMN, "");
		wrap_text(out, VALUE_COLUMN, VALUE_COLUMN, candidate_reason(candidate));
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
		if (candidate_state(fastest) == CANDIDATE_MEASURED && fastest->warp.cpu_count > 1)
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
		strbuf_add(&few, "%s: warps were looked for on %zu of %zu CPUs only",
			candidate->name, candidate->warp.cpu_count, candidate->warp_allowed);
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
		"no warp in %g s is no proof that there are none: run vdsocheck warp -d 600 first.",
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
	struct strbuf sb = {.used = 0};
	const char *name;

	if (ranking->why_not) {
		strbuf_add(&sb, "%s is not recommended, because %s",
			report->result->candidates[ranking->fastest].name, ranking->why_not);
		wrap_print(out, "Why not", LABEL_INDENT, sb.text);
	}
	if (ranking->verdict != RANKING_CHANGE)
		return;
	name = report->result->candidates[ranking->advised].name;
	wrap_print(out, "Do", LABEL_INDENT, "use it until the next reboot:");
	write_command(report, name, out);
	wrap_print(out, "Keep", LABEL_INDENT, "add to the kernel command line:");
	fprintf(out, "    clocksource=%s\n", name);
	wrap_print(out, "Undo", LABEL_INDENT, "go back to the clocksource in use now:");
	write_command(report, report->original, out);
	write_risk(report, name, out);
}

bool compare_text(const void *result, const struct style *style, FILE *out)
{
	const struct compare_report *report = result;
	char summary[COMPARE_SUMMARY_SIZE];

	compare_summary(report, summary, sizeof(summary));
	wrap_answer(out, &headings[report->ranking->verdict], style->color, summary);
	write_table(report, out);
	fputc('\n', out);
	write_state_left(report, out);
	write_advice(report, out);
	return true;
}
