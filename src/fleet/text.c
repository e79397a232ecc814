/* SPDX-License-Identifier: MIT */
/*
 * The report of a fleet for people: the answer in a sentence, the worst hosts, then the groups.
 * Names stand at the end of their line, where they are never cut and move no column.
 */
#include "base/text.h"
#include "check.h"
#include "cli/text.h"
#include "model.h"

/* The answer with this number of hosts and causes fits a terminal of 24 lines. */
#define DEFAULT_TOP 6

static const char *const headings[FLEET_DIMENSIONS] = {
	[FLEET_CAUSE] = "cause (may be several)",
	[FLEET_KERNEL] = "kernel",
	[FLEET_CLOCKSOURCE] = "clocksource",
	[FLEET_INSTANCE_TYPE] = "instance type",
};

/* ---- the answer ---- */

/* "1 host", "37 hosts" */
static const char *count_of(size_t count, const char *noun, char text[64])
{
	char number[32];

	snprintf(text, 64, "%s %s%s", format_count(count, number), noun, count == 1 ? "" : "s");
	return text;
}

/* "37 of 10,000 hosts fall back to system calls; 12 are slow, 3 are undetermined." */
void fleet_summarize(struct fleet *fleet)
{
	static const struct {
		enum verdict_kind verdict;
		const char *singular, *plural;
	} answers[] = {
		{VERDICT_WRONG, "has wrong values", "have wrong values"},
		{VERDICT_FALLBACK, "falls back to system calls", "fall back to system calls"},
		{VERDICT_SLOW, "is slow", "are slow"},
		{VERDICT_UNKNOWN, "is undetermined", "are undetermined"},
	};
	static const char *const separators[ARRAY_SIZE(answers)] = {"", "; ", ", ", ", "};
	const struct fleet_sums *sums = &fleet->sums;
	char *summary = fleet->summary;
	unsigned said = 0;
	char all[64], number[64];

	count_of(sums->hosts, "host", all);
	*summary = '\0';
	if (!sums->affected)
		text_append(summary, FLEET_SUMMARY_SIZE,
			"The clock calls of %s%s are served by the vDSO",
			sums->hosts == 1 ? "" : "all ", all);
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		size_t hosts = sums->verdicts[answers[i].verdict];
		const char *words = hosts == 1 ? answers[i].singular : answers[i].plural;

		if (!hosts)
			continue;
		text_append(summary, FLEET_SUMMARY_SIZE, "%s%s%s%s %s", separators[said],
			format_count(hosts, number), said ? "" : " of ", said ? "" : all, words);
		said++;
	}
	if (fleet->broken)
		text_append(summary, FLEET_SUMMARY_SIZE, "; %s could not be read",
			count_of(fleet->broken, "document", number));
	text_append(summary, FLEET_SUMMARY_SIZE, ".");
}

static void write_answer(const struct fleet *fleet, bool color, FILE *out)
{
	const struct fleet_sums *sums = &fleet->sums;
	char text[FLEET_SUMMARY_SIZE] = "", number[64];

	if (color)
		fputs(verdict_headings[fleet->verdict].color, out);
	wrap_text(out, 0, 0, fleet->summary);
	if (color)
		fputs(COLOR_RESET, out);
	if (!sums->rated)
		return;
	if (fleet->rate > 0)
		text_append(text, sizeof(text), "At %s calls/s, ",
			format_count((uint64_t)fleet->rate, number));
	text_append(text, sizeof(text), "%s%s %s %.1f CPUs in total.",
		count_of(sums->rated, "host", number),
		fleet->rate > 0 ? "" : " whose rate of calls is known",
		sums->rated == 1 ? "loses" : "lose", sums->lost_cpus);
	wrap_text(out, 0, 0, text);
}

/* ---- tables ---- */

/* Writes the first `top` rows. */
static void write_rows(struct table table, size_t top, FILE *out)
{
	size_t count = table.count;
	char number[32];

	table.count = count < top ? count : top;
	fputc('\n', out);
	table_write(&table, out);
	if (count > top)
		fprintf(out, "  and %s more (-v)\n", format_count(count - top, number));
}

#define OF struct fleet_host

static void write_hosts(const struct fleet *fleet, size_t top, FILE *out)
{
	bool rated = fleet->sums.rated;
	const struct field columns[] = {
		{WORD("verdict", verdict, verdict_names), .title = "verdict", .width = 10,
			.left = true},
		{NS("call_ns", call_ns), .title = "ns each", .width = 8},
		{NS("lost_ns", lost_ns), .title = rated ? NULL : "ns lost", .width = 10},
		{REAL("lost_cpus", lost_cpus, 2), .title = rated ? "CPUs lost" : NULL, .width = 10},
		{STRING("cause", causes[0]), .title = "first cause", .width = 26, .left = true},
		{.key = "name", .kind = FIELD_STRING, MEMBER(name), .title = "host", .left = true},
		{0},
	};

	if (fleet->listed)
		write_rows(
			(struct table){.fields = columns, TABLE_ROWS(fleet->hosts, fleet->listed)},
			top, out);
}

#undef OF
#define OF struct fleet_group
#define HOSTS(name, verdict)                                                                       \
	INTEGER(name, sums.verdicts[verdict], INT64_MAX), .title = name, .width = 9

/* `whole` is the word for groups without a name. */
static void write_name(const void *object, const void *whole, FILE *out)
{
	const struct fleet_group *group = object;

	fputs(*group->name ? group->name : whole, out);
}

/* A property that is unknown of all hosts makes no table. */
static void write_groups(
	const struct fleet *fleet, enum fleet_dimension dimension, size_t top, FILE *out)
{
	const struct fleet_groups *groups = &fleet->groups[dimension];
	bool rated = fleet->sums.rated, wrong = fleet->sums.verdicts[VERDICT_WRONG];
	const struct field columns[] = {
		{INTEGER("hosts", sums.hosts, INT64_MAX), .title = "hosts", .width = 10},
		{INTEGER("wrong", sums.verdicts[VERDICT_WRONG], INT64_MAX),
			.title = wrong ? "wrong" : NULL, .width = 9},
		{HOSTS("fallback", VERDICT_FALLBACK)},
		{HOSTS("slow", VERDICT_SLOW)},
		{HOSTS("unknown", VERDICT_UNKNOWN)},
		{NS("mean_lost_ns", sums.mean_lost_ns), .given = GIVEN(sums.timed),
			.title = rated ? NULL : "ns lost", .width = 10},
		{REAL("lost_cpus", sums.lost_cpus, 2), .given = GIVEN(sums.rated),
			.title = rated ? "CPUs lost" : NULL, .width = 10},
		{STRING("name", name), .title = headings[dimension], .left = true,
			.cell = write_name},
		{0},
	};

	if (groups->count > 1 || (groups->count && *groups->list[0].name))
		write_rows((struct table){.fields = columns,
				   TABLE_ROWS(groups->list, groups->count),
				   .whole = dimension == FLEET_CAUSE ? "none found" : "unknown"},
			top, out);
}

bool fleet_write_text(const void *result, const struct style *style, FILE *out)
{
	const struct fleet *fleet = result;
	bool screen = !fleet->top && !fleet->all;
	size_t top = fleet->top ? (size_t)fleet->top : fleet->all ? SIZE_MAX : DEFAULT_TOP;

	write_answer(fleet, style->color, out);
	write_hosts(fleet, top, out);
	write_groups(fleet, FLEET_CAUSE, top, out);
	for (enum fleet_dimension i = 0; i < FLEET_CAUSE && !screen; i++)
		write_groups(fleet, i, top, out);
	if (screen)
		fputs("  groups by kernel, clocksource and instance type: --top N, or -v\n", out);
	return true;
}
