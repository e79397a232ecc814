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

/* ---- the table ---- */

static void write_table(const struct compare_report *report, FILE *out)
{
	static const char *const states[] = {[CANDIDATE_NOT_TESTED] = "not tested",
		[CANDIDATE_INCOMPLETE] = "incomplete",
		[CANDIDATE_WARPS] = "ran backwards"};
	const struct run *run = report->run;
	const struct candidate *fastest = report->fastest;
	const struct table table = {.fields = compare_candidate_fields,
		TABLE_ROWS(run->candidates, run->count),
		.whole = report};

	fputc('\n', out);
	table_write(&table, out);
	if (fastest && fastest->state == CANDIDATE_MEASURED && fastest->warp.cpu_count > 1)
		fprintf(out, "  * fastest, no warp in %g s on %zu CPUs\n", report->warp_s,
			fastest->warp.cpu_count);
	else if (fastest)
		fputs("  * fastest\n", out);
	for (size_t i = 0; i < run->count; i++) {
		const struct candidate *candidate = &run->candidates[i];
		struct strbuf sb = {.used = 0};

		if (*candidate->reason)
			strbuf_add(&sb, "%s %s: %s", candidate->name, states[candidate->state],
				candidate->reason);
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
	const struct run *run = report->run;
	struct strbuf sb = {.used = 0};

	strbuf_add(&sb, "before: ");
	describe_ntp(&run->before, &sb);
	strbuf_add(&sb, "; after: ");
	describe_ntp(&run->after, &sb);
	wrap_print(out, "NTP", LABEL_INDENT, sb.text);
	if (run->restored == SWITCH_DONE)
		wrap_format(out, "Now", LABEL_INDENT, "the clocksource was restored to %s%s",
			report->original,
			*run->sw->tree ? "; this was a rehearsal, and all rows measure the clock "
					 "of this host, which did not change"
				       : "");
}

/* ---- advice ---- */

static void write_command(const char *command, FILE *out)
{
	fputs("    ", out);
	wrap_command(out, 4, 6, command);
}

static void write_advice(const struct compare_report *report, FILE *out)
{
	struct strbuf sb = {.used = 0};

	if (report->why_not)
		wrap_format(out, "Why not", LABEL_INDENT, "%s is not recommended, because %s",
			report->fastest->name, report->why_not);
	if (!fact_is_known(&report->advice_fact))
		return;
	wrap_print(out, "Do", LABEL_INDENT, "use it until the next reboot:");
	write_command(report->command, out);
	wrap_print(out, "Keep", LABEL_INDENT, "add to the kernel command line:");
	fprintf(out, "    %s\n", report->parameter);
	wrap_print(out, "Undo", LABEL_INDENT, "go back to the clocksource in use now:");
	write_command(report->undo, out);
	strbuf_add(&sb,
		"no warp in %g s does not prove that there are none: run vdsocheck warp -d 600 first.",
		report->warp_s);
	if (strncmp(report->advised->name, "tsc", strlen("tsc")) == 0 && report->hypervisor)
		strbuf_add(&sb,
			" With tsc, time can jump or change speed after a live migration or a "
			"snapshot restore; do not use tsc on guests that are migrated or restored.");
	wrap_print(out, "Risk", LABEL_INDENT, sb.text);
}

bool compare_text(const void *result, const struct style *style, FILE *out)
{
	const struct compare_report *report = result;

	wrap_answer(out, &headings[report->verdict], style->color, report->summary);
	write_table(report, out);
	fputc('\n', out);
	write_state_left(report, out);
	write_advice(report, out);
	return true;
}
