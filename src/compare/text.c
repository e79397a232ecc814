/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/phrase.h"
#include "cli/wrap.h"
#include "judge/tally.h"
#include "report.h"

#define LABEL_INDENT 9
#define REASON_COLUMN 32
#define COLOR_RESET "\033[0m"

/* Larger numbers go over to the next unit. */
#define SHORT_ENOUGH 100000

enum heading { HEADING_UNKNOWN, HEADING_OK, HEADING_FASTER, HEADING_DONE };

static const struct {
	const char *word;
	const char *color;
} headings[] = {
	[HEADING_UNKNOWN] = {"UNKNOWN", "\033[1;35m"},
	[HEADING_OK] = {"OK", "\033[1;32m"},
	[HEADING_FASTER] = {"FASTER", "\033[1;33m"},
	[HEADING_DONE] = {"DONE", "\033[1m"},
};

/* Without the one in use there is nothing to compare with, and no advice. */
static enum heading heading_of(const struct choice *choice)
{
	if (choice->best == CHOICE_NONE)
		return HEADING_UNKNOWN;
	if (choice->current == CHOICE_NONE)
		return HEADING_DONE;
	return choice->best == choice->current ? HEADING_OK : HEADING_FASTER;
}

static const struct trial *best_of(const struct compare_report *report)
{
	return &report->comparison->trials[report->choice->best];
}

static void write_gain(const struct compare_report *report, char *summary, size_t size)
{
	const struct trial *best = best_of(report);
	const struct trial *current = &report->comparison->trials[report->choice->current];
	char before[32], after[32];

	if (choice_judge(current) != CHOICE_SAFE)
		snprintf(summary, size,
			"%s is the fastest safe clocksource here; %s, which is in use, was not found "
			"to be safe.",
			best->name, current->name);
	else
		snprintf(summary, size,
			"%s is the fastest safe clocksource here: %s ns per call, where %s, which is "
			"in use, takes %s ns.",
			best->name, wrap_ns(choice_price_ns(best), after), current->name,
			wrap_ns(choice_price_ns(current), before));
}

void compare_report_summary(const struct compare_report *report, char *summary, size_t size)
{
	char price[32];

	switch (heading_of(report->choice)) {
	case HEADING_OK:
		snprintf(summary, size,
			"%s, which is in use, is the fastest safe clocksource here: %s ns per "
			"call.",
			best_of(report)->name, wrap_ns(choice_price_ns(best_of(report)), price));
		break;
	case HEADING_FASTER:
		write_gain(report, summary, size);
		break;
	case HEADING_DONE:
		snprintf(summary, size,
			"%s is the fastest safe clocksource of those tried; %s, which is in use, was "
			"not tried.",
			best_of(report)->name, report->original);
		break;
	default:
		snprintf(summary, size, "None of the clocksources tried was found to be safe.");
		break;
	}
}

static void write_verdict(const struct compare_report *report, FILE *out)
{
	enum heading heading = heading_of(report->choice);
	int column = (int)strlen(headings[heading].word) + 2;
	char summary[COMPARE_SUMMARY_SIZE];

	if (report->color)
		fprintf(out, "%s%s%s: ", headings[heading].color, headings[heading].word,
			COLOR_RESET);
	else
		fprintf(out, "%s: ", headings[heading].word);
	compare_report_summary(report, summary, sizeof(summary));
	wrap_text(out, column, column, summary);
}

static void write_time(const struct path_evidence *path, FILE *out)
{
	char ns[32];

	fprintf(out, "%9s", path->timed ? wrap_ns(path->min_ns, ns) : "-");
}

static void write_times(const struct trial *trial, FILE *out)
{
	static const struct path_evidence none;
	const struct call_evidence *call = tally_find(&trial->evidence, "CLOCK_MONOTONIC");

	for (int path = 0; path < PATH_COUNT; path++)
		write_time(call ? &call->path[path] : &none, out);
}

/* Over the deciding calls, in at most 13 characters. */
static void describe_entering(const struct trial *trial, char *text, size_t size)
{
	struct tally tally = tally_deciding(&trial->evidence);

	if (!tally.attempts)
		snprintf(text, size, "not proven");
	else if (tally.entered == 0)
		snprintf(text, size, "never");
	else if (tally.entered == tally.attempts)
		snprintf(text, size, "always");
	else
		snprintf(text, size, "%u of %u", tally.entered, tally.attempts);
}

static int64_t largest_warp_ns(const struct trial *trial)
{
	int64_t largest = 0;

	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		const struct warp_tally *tally = &trial->warp.tallies[id];

		if (fact_is_known(&tally->fact) && tally->largest_ns > largest)
			largest = tally->largest_ns;
	}
	return largest;
}

/* In at most 9 characters. */
static void describe_size(int64_t ns, char *text, size_t size)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	size_t unit = 0;
	char count[32];

	while (ns >= SHORT_ENOUGH && unit < sizeof(units) / sizeof(units[0]) - 1) {
		ns /= 1000;
		unit++;
	}
	snprintf(text, size, "%s %s", wrap_count((uint64_t)ns, count), units[unit]);
}

static void describe_warps(const struct trial *trial, char *text, size_t size)
{
	if (!fact_is_known(&trial->warp.fact))
		snprintf(text, size, "not seen");
	else if (choice_warps(trial) > 0)
		describe_size(largest_warp_ns(trial), text, size);
	else if (trial->warp.cpu_count < 2)
		snprintf(text, size, "one CPU");
	else
		snprintf(text, size, "none");
}

static void write_trial(const struct compare_report *report, size_t place, FILE *out)
{
	const struct trial *trial = &report->comparison->trials[place];
	char entering[32], warps[48];

	fprintf(out, "%c %-*s", place == report->choice->best ? '*' : ' ', REASON_COLUMN - 2,
		trial->name);
	if (choice_judge(trial) == CHOICE_UNTRIED) {
		wrap_text(out, REASON_COLUMN, REASON_COLUMN, choice_reason(trial));
		return;
	}
	describe_entering(trial, entering, sizeof(entering));
	describe_warps(trial, warps, sizeof(warps));
	write_times(trial, out);
	fprintf(out, " %-11s%s\n", entering, warps);
	if (choice_judge(trial) == CHOICE_UNSURE) {
		fprintf(out, "%*s", REASON_COLUMN, "");
		wrap_text(out, REASON_COLUMN, REASON_COLUMN, choice_reason(trial));
	}
}

static void write_table(const struct compare_report *report, FILE *out)
{
	fprintf(out, "\n  %-*s%9s%9s%9s %-11s%s\n", REASON_COLUMN - 2,
		"ns per clock_gettime MONOTONIC", "vDSO", "libc", "syscall", "in kernel", "warps");
	for (size_t i = 0; i < report->comparison->count; i++)
		write_trial(report, i, out);
	if (report->choice->best != CHOICE_NONE)
		fprintf(out, "* the fastest safe one\n");
}

static void write_restored(const struct compare_report *report, FILE *out)
{
	struct phrase phrase = {.used = 0};

	if (!fact_is_known(&report->comparison->restored))
		return;
	phrase_add(&phrase, "the clocksource is %s again, as it was found", report->original);
	wrap_print(out, "Now", LABEL_INDENT, phrase.text);
}

static bool reads_the_tsc(const char *name)
{
	return strncmp(name, "tsc", strlen("tsc")) == 0;
}

static void write_risk(const struct compare_report *report, FILE *out)
{
	if (reads_the_tsc(best_of(report)->name) && report->hypervisor)
		wrap_print(out, "Risk", LABEL_INDENT,
			"a guest that is migrated, or restored from a snapshot, may see its time "
			"jump or change its rate on the TSC: not where that is done to it");
}

/* Lines to be pasted stand alone and whole. */
static void write_advice(const struct compare_report *report, FILE *out)
{
	const char *name;

	if (heading_of(report->choice) != HEADING_FASTER)
		return;
	name = best_of(report)->name;
	wrap_print(out, "Do", LABEL_INDENT, "use it from now on, until the next boot (as root):");
	fprintf(out, "    " COMPARE_REPORT_COMMAND "\n", name);
	wrap_print(out, "Keep", LABEL_INDENT, "it at every boot, by the kernel's command line:");
	fprintf(out, "    " COMPARE_REPORT_PARAMETER "\n", name);
	write_risk(report, out);
}

bool compare_report_text(const struct compare_report *report, FILE *out)
{
	write_verdict(report, out);
	write_table(report, out);
	fputc('\n', out);
	write_restored(report, out);
	write_advice(report, out);
	return true;
}
