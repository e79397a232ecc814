/* SPDX-License-Identifier: MIT */
/*
 * The report of a fleet for people: the answer in a sentence, the worst hosts, then the groups.
 * Names stand at the end of their line, where they are never cut and move no column.
 */
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/describe.h"
#include "cli/layout.h"
#include "model.h"

/* With this many hosts and causes the answer fits a terminal of 24 lines. */
#define DEFAULT_TOP 6
#define CAUSE_COLUMNS 24

static const char *const colors[FLEET_VERDICTS] = {
	[VERDICT_UNKNOWN] = COLOR_MAGENTA,
	[VERDICT_OK] = COLOR_GREEN,
	[VERDICT_FALLBACK] = COLOR_RED,
	[VERDICT_SLOW] = COLOR_YELLOW,
};

static const char *const headings[FLEET_DIMENSIONS] = {
	[FLEET_CAUSE] = "cause (a host may have several)",
	[FLEET_KERNEL] = "kernel",
	[FLEET_CLOCKSOURCE] = "clocksource",
	[FLEET_INSTANCE_TYPE] = "instance type",
};

/* ---- the answer ---- */

/* "1 host", "37 hosts" */
static void add_count(struct strbuf *sb, size_t count, const char *noun)
{
	char number[32];

	strbuf_add(sb, "%s %s%s", format_count(count, number), noun, count == 1 ? "" : "s");
}

/* "37 of 10,000 hosts fall back to system calls; 12 are slow, 3 undetermined." */
void fleet_summarize(const struct fleet *fleet, char summary[FLEET_SUMMARY_SIZE])
{
	static const struct {
		enum verdict_kind verdict;
		const char *one, *several;
		const char *third; /* after two other verdicts */
	} answers[] = {
		{VERDICT_FALLBACK, "falls back to system calls", "fall back to system calls", ""},
		{VERDICT_SLOW, "is slow", "are slow", "slow"},
		{VERDICT_UNKNOWN, "is undetermined", "are undetermined", "undetermined"},
	};
	const struct fleet_sums *sums = &fleet->sums;
	struct strbuf sb = {.used = 0};
	unsigned said = 0;
	char number[32];

	if (!sums->affected) {
		strbuf_add(&sb, "The clock calls of %s", sums->hosts == 1 ? "" : "all ");
		add_count(&sb, sums->hosts, "host");
		strbuf_add(&sb, " are served by the vDSO");
	}
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		size_t hosts = sums->verdicts[answers[i].verdict];
		const char *words = hosts == 1 ? answers[i].one : answers[i].several;

		if (!hosts)
			continue;
		strbuf_add(&sb, "%s%s",
			said == 0   ? ""
			: said == 1 ? "; "
				    : ", ",
			format_count(hosts, number));
		if (said == 0) {
			strbuf_add(&sb, " of ");
			add_count(&sb, sums->hosts, "host");
		}
		strbuf_add(&sb, " %s", said < 2 ? words : answers[i].third);
		said++;
	}
	if (fleet->broken) {
		strbuf_add(&sb, "; ");
		add_count(&sb, fleet->broken, "document");
		strbuf_add(&sb, " could not be read");
	}
	strbuf_add(&sb, ".");
	text_copy(summary, FLEET_SUMMARY_SIZE, sb.text);
}

static void write_answer(const struct fleet_report *report, const struct style *style, FILE *out)
{
	const struct fleet_sums *sums = &report->fleet->sums;
	struct strbuf sb = {.used = 0};
	char number[32];

	if (style->color)
		fputs(colors[report->fleet->verdict], out);
	wrap_text(out, 0, 0, report->summary);
	if (style->color)
		fputs(COLOR_RESET, out);
	if (!sums->rated)
		return;
	if (report->rate > 0)
		strbuf_add(&sb, "At %s calls/s, ", format_count((uint64_t)report->rate, number));
	add_count(&sb, sums->rated, "host");
	strbuf_add(&sb, "%s %s %.1f CPUs in total.",
		report->rate > 0 ? "" : " whose rate of calls is known",
		sums->rated == 1 ? "loses" : "lose", sums->lost_cpus);
	wrap_text(out, 0, 0, sb.text);
}

/* ---- tables ---- */

/* CPUs where the rate of calls is known, else ns per call. */
static void describe_lost(bool in_cpus, double cpus, double ns, char text[32])
{
	double lost = in_cpus ? cpus : ns;

	if (lost < 0)
		text_copy(text, 32, "-");
	else if (in_cpus)
		snprintf(text, 32, "%.2f", lost);
	else
		format_ns(lost, text);
}

static void write_rest(size_t rest, FILE *out)
{
	char number[32];

	if (rest)
		fprintf(out, "  and %s more (-v)\n", format_count(rest, number));
}

static void write_hosts(const struct fleet_report *report, size_t top, FILE *out)
{
	bool in_cpus = report->fleet->sums.rated;
	size_t count = report->host_count;

	if (!count)
		return;
	fprintf(out, "\n  %-8s %7s %9s  %-*s  %s\n", "verdict", "ns each",
		in_cpus ? "CPUs lost" : "ns lost", CAUSE_COLUMNS, "first cause", "host");
	for (size_t i = 0; i < count && i < top; i++) {
		const struct fleet_host *host = &report->hosts[i];
		const char *cause = host->keys[FLEET_CAUSE];
		char each[32] = "-", lost[32];

		if (host->call_ns >= 0)
			format_ns(host->call_ns, each);
		describe_lost(in_cpus, host->lost_cpus, host->lost_ns, lost);
		fprintf(out, "  %-8s %7s %9s  %-*s  %s\n", verdict_names[host->verdict], each, lost,
			CAUSE_COLUMNS, *cause ? cause : "-", host->name);
	}
	write_rest(count > top ? count - top : 0, out);
}

/* A property that is unknown of all hosts makes no table. */
static void write_groups(
	const struct fleet *fleet, enum fleet_dimension dimension, size_t top, FILE *out)
{
	const struct fleet_groups *groups = &fleet->groups[dimension];
	const char *unknown = dimension == FLEET_CAUSE ? "none found" : "unknown";
	bool in_cpus = fleet->sums.rated;

	if (groups->count == 0 || (groups->count == 1 && !*groups->list[0].name))
		return;
	fprintf(out, "\n  %8s %8s %8s %8s %9s  %s\n", "hosts", "fallback", "slow", "unknown",
		in_cpus ? "CPUs lost" : "ns lost", headings[dimension]);
	for (size_t i = 0; i < groups->count && i < top; i++) {
		const struct fleet_group *group = &groups->list[i];
		const struct fleet_sums *sums = &group->sums;
		char lost[32];

		describe_lost(in_cpus, sums->rated ? sums->lost_cpus : -1,
			sums->with_lost_ns ? sums->mean_lost_ns : -1, lost);
		fprintf(out, "  %8zu %8zu %8zu %8zu %9s  %s\n", sums->hosts,
			sums->verdicts[VERDICT_FALLBACK], sums->verdicts[VERDICT_SLOW],
			sums->verdicts[VERDICT_UNKNOWN], lost,
			*group->name ? group->name : unknown);
	}
	write_rest(groups->count > top ? groups->count - top : 0, out);
}

bool fleet_report_text(const void *result, const struct style *style, FILE *out)
{
	const struct fleet_report *report = result;
	bool screen = !report->top && !report->all;
	size_t top = report->top ? report->top : report->all ? SIZE_MAX : DEFAULT_TOP;

	write_answer(report, style, out);
	write_hosts(report, top, out);
	for (enum fleet_dimension i = 0; i < FLEET_DIMENSIONS; i++) {
		if (i == FLEET_CAUSE || !screen)
			write_groups(report->fleet, i, top, out);
	}
	if (screen)
		fputs("  groups by kernel, clocksource and instance type: --top N, or -v\n", out);
	return true;
}
