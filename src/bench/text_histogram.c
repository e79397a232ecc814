/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "cli/wrap.h"

#define BAR_WIDTH 40

/* More lines than that tell no more: neighbouring buckets are drawn as one. */
#define LINES_MAX 20

struct range {
	size_t first; /* bucket that is not empty */
	size_t end;   /* behind the last one that is not */
};

static struct range find_range(const struct distribution *distribution)
{
	struct range range = {0, DISTRIBUTION_BUCKETS};

	while (range.first < range.end && !distribution->buckets[range.first])
		range.first++;
	while (range.end > range.first && !distribution->buckets[range.end - 1])
		range.end--;
	return range;
}

static uint64_t sum_buckets(const struct distribution *distribution, size_t first, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = first; i < first + count && i < DISTRIBUTION_BUCKETS; i++)
		sum += distribution->buckets[i];
	return sum;
}

/* How many lines there are with so many buckets on each; empty ones are not drawn. */
static size_t count_lines(
	const struct distribution *distribution, struct range range, size_t at_once)
{
	size_t lines = 0;

	for (size_t i = range.first; i < range.end; i += at_once)
		lines += sum_buckets(distribution, i, at_once) > 0;
	return lines;
}

static void draw_line(
	const struct distribution *distribution, size_t first, size_t at_once, FILE *out)
{
	static const char bar[BAR_WIDTH + 1] = "########################################";
	uint64_t calls = sum_buckets(distribution, first, at_once);
	double share = (double)calls / (double)distribution->calls;
	size_t last = first + at_once;
	int width = (int)(share * BAR_WIDTH + 0.5);
	char from[32], to[32];

	if (!calls)
		return;
	wrap_ns(distribution_edge(first), from);
	if (last < DISTRIBUTION_BUCKETS)
		wrap_ns(distribution_edge(last), to);
	else
		snprintf(to, sizeof(to), "more");
	fprintf(out, "  %10s - %9s  %8.4f %%", from, to, 100 * share);
	if (width)
		fprintf(out, "  %.*s", width, bar);
	fputc('\n', out);
}

static void write_title(const struct bench_row *row, FILE *out)
{
	char name[2 * CALL_NAME_SIZE], calls[32], place[32] = "";

	if (row->cpu >= 0)
		snprintf(place, sizeof(place), " on CPU %d", row->cpu);
	fprintf(out, "\n  %s by %s%s, each call timed alone\n",
		bench_report_name(&row->subject, name), bench_path_name(row->subject.path), place);
	fprintf(out, "  %10s - %9s  of %s calls\n", "from ns", "to ns",
		wrap_count(row->distribution.calls, calls));
}

void bench_report_histogram(const struct bench_row *row, FILE *out)
{
	struct range range = find_range(&row->distribution);
	size_t at_once = 1;

	if (!row->distribution.calls)
		return;
	write_title(row, out);
	while (count_lines(&row->distribution, range, at_once) > LINES_MAX)
		at_once *= 2;
	for (size_t i = range.first; i < range.end; i += at_once)
		draw_line(&row->distribution, i, at_once, out);
}
