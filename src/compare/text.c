/* SPDX-License-Identifier: MIT */
/*
 * Prints the result of `vdsocheck compare` for people: the answer, the table, what the switches
 * left behind, and advice. Commands are printed whole, so that they can be pasted.
 */
#include <string.h>

#include "base/text.h"
#include "cli/text.h"
#include "model.h"

#define LABEL_INDENT 11

static const struct heading headings[] = {
	[RANKING_UNKNOWN] = {"UNKNOWN", COLOR_MAGENTA},
	[RANKING_OK] = {"OK", COLOR_GREEN},
	[RANKING_CHANGE] = {"CHANGE", COLOR_YELLOW},
};

/* ---- the conclusions ---- */

static void summarize(const struct compare_report *report, char *text, size_t size)
{
	const struct run_result *result = report->result;
	const struct ranking *ranking = &report->ranking;
	const struct candidate *in_use = &result->candidates[0], *other = ranking->advised;
	const char *name = report->original;
	size_t measured = 0;
	char cost[32], ns[32];

	for (size_t i = 0; i < result->count; i++)
		measured += result->candidates[i].state >= CANDIDATE_WARPS;
	format_ns(in_use->cost_ns, cost);
	if (ranking->verdict == RANKING_CHANGE && other->gain == GAIN_ORDER)
		snprintf(text, size,
			"change %s, which is in use, to %s: %s ran backwards, %s did not in %g s.",
			name, other->name, name, other->name, report->warp_s);
	else if (ranking->verdict == RANKING_CHANGE)
		snprintf(text, size,
			"change %s, which is in use, to %s: %s ns per call instead of %s ns%s.",
			name, other->name, format_ns(other->cost_ns, ns), cost,
			other->gain == GAIN_CLASS ? ", served by the vDSO" : "");
	else if (ranking->verdict == RANKING_OK && ranking->fastest != in_use)
		snprintf(text, size,
			"keep %s, which is in use: %s ns per call. %s takes %s ns, but is not "
			"recommended here.",
			name, cost, ranking->fastest->name,
			format_ns(ranking->fastest->cost_ns, ns));
	else if (ranking->verdict == RANKING_OK)
		snprintf(text, size,
			"keep %s, which is in use: %s ns per call; no other clocksource %s.", name,
			cost, measured > 1 ? "is clearly faster" : "could be measured");
	else if (result->end != RUN_WHOLE)
		snprintf(text, size,
			"no recommendation; %s was in use. %zu of %zu clocksources were measured: "
			"%s.",
			name, measured, result->count, result->why.reason);
	else if (result->restored != SWITCH_DONE)
		snprintf(text, size, "no recommendation; %s was in use and is not restored.", name);
	else if (in_use->state == CANDIDATE_WARPS)
		snprintf(text, size,
			"%s, which is in use, ran backwards, and no other clocksource can be "
			"recommended.",
			name);
	else if (in_use->state == CANDIDATE_MEASURED)
		snprintf(text, size,
			"no recommendation; %s is in use. Something else switched the clocksource "
			"during the run.",
			name);
	else
		snprintf(text, size,
			"no recommendation; %s, which is in use, could not be measured: %s.", name,
			in_use->reason);
}

void compare_conclude(struct compare_report *report)
{
	const struct ranking *ranking = &report->ranking;
	struct compare_advice *advice = &report->advice;
	struct fact *fact = &report->advice_fact;

	summarize(report, report->summary, sizeof(report->summary));
	if (ranking->fastest)
		fact_set_text(&report->fastest, ranking->fastest->name);
	else
		fact_set(&report->fastest.fact, FACT_ABSENT,
			"the clocksource in use could not be measured");
	if (ranking->verdict == RANKING_UNKNOWN) {
		fact_set(fact, FACT_ABSENT, "the measurement does not allow a recommendation");
	} else if (ranking->verdict == RANKING_OK && ranking->why_not) {
		fact_set(fact, FACT_ABSENT, "%s is not recommended, because %s",
			ranking->fastest->name, ranking->why_not);
	} else if (ranking->verdict == RANKING_OK) {
		fact_set(fact, FACT_ABSENT, "no other clocksource is clearly faster");
	} else {
		fact_set_known(fact);
		advice->to = ranking->advised->name;
		snprintf(advice->command, sizeof(advice->command), "echo %s | sudo tee %s%s",
			advice->to, report->tree, CLOCKSOURCE_CURRENT);
		snprintf(advice->undo, sizeof(advice->undo), "echo %s | sudo tee %s%s",
			report->original, report->tree, CLOCKSOURCE_CURRENT);
		snprintf(
			advice->parameter, sizeof(advice->parameter), "clocksource=%s", advice->to);
	}
}

/* ---- the table ---- */

static void write_table(const struct compare_report *report, FILE *out)
{
	const struct run_result *result = report->result;
	const struct candidate *fastest = report->ranking.fastest;
	const struct table table = {.fields = compare_candidate_fields,
		TABLE_ROWS(result->candidates, result->count),
		.whole = report};

	fputc('\n', out);
	table_write(&table, out);
	if (fastest && fastest->state == CANDIDATE_MEASURED && fastest->warp.cpu_count > 1)
		fprintf(out, "  * fastest, no warp in %g s on %zu CPUs\n", report->warp_s,
			fastest->warp.cpu_count);
	else if (fastest)
		fputs("  * fastest\n", out);
	for (size_t i = 0; i < result->count; i++) {
		const struct candidate *candidate = &result->candidates[i];
		struct strbuf sb = {.used = 0};

		if (*candidate->reason)
			strbuf_add(&sb, "%s %s: %s", candidate->name,
				candidate_state_names[candidate->state], candidate->reason);
		else if (candidate->warp.cpu_count < candidate->warp_allowed)
			strbuf_add(&sb, "%s: tested for warps on %zu of %zu CPUs", candidate->name,
				candidate->warp.cpu_count, candidate->warp_allowed);
		else
			continue;
		fputs("  ", out);
		wrap_text(out, 2, 4, sb.text);
	}
}

/* ---- what was left behind ---- */

static void write_state_left(const struct compare_report *report, FILE *out)
{
	const struct run_result *result = report->result;
	struct strbuf sb = {.used = 0};

	strbuf_add(&sb, "before: ");
	describe_ntp(&result->before, &sb);
	strbuf_add(&sb, "; after: ");
	describe_ntp(&result->after, &sb);
	wrap_print(out, "NTP", LABEL_INDENT, sb.text);
	if (result->restored == SWITCH_DONE)
		wrap_format(out, "Now", LABEL_INDENT, "the clocksource was restored to %s",
			report->original);
}

/* ---- advice ---- */

static void write_command(const char *command, FILE *out)
{
	fputs("    ", out);
	wrap_command(out, 4, 6, command);
}

static void write_advice(const struct compare_report *report, FILE *out)
{
	const struct ranking *ranking = &report->ranking;
	struct strbuf sb = {.used = 0};

	if (ranking->why_not)
		wrap_format(out, "Why not", LABEL_INDENT, "%s is not recommended, because %s",
			ranking->fastest->name, ranking->why_not);
	if (!fact_is_known(&report->advice_fact))
		return;
	wrap_print(out, "Do", LABEL_INDENT, "use it until the next reboot:");
	write_command(report->advice.command, out);
	wrap_print(out, "Keep", LABEL_INDENT, "add to the kernel command line:");
	fprintf(out, "    %s\n", report->advice.parameter);
	wrap_print(out, "Undo", LABEL_INDENT, "go back to the clocksource in use now:");
	write_command(report->advice.undo, out);
	strbuf_add(&sb,
		"no warp in %g s does not prove that there are none: run vdsocheck warp -d 600 first.",
		report->warp_s);
	if (strncmp(report->advice.to, "tsc", strlen("tsc")) == 0 && report->hypervisor)
		strbuf_add(&sb,
			" With tsc, time can jump or change speed after a live migration or a "
			"snapshot restore; do not use tsc on guests that are migrated or restored.");
	wrap_print(out, "Risk", LABEL_INDENT, sb.text);
}

bool compare_text(const void *result, const struct style *style, FILE *out)
{
	const struct compare_report *report = result;

	wrap_answer(out, &headings[report->ranking.verdict], style->color, report->summary);
	write_table(report, out);
	fputc('\n', out);
	write_state_left(report, out);
	write_advice(report, out);
	return true;
}
