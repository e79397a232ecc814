/* SPDX-License-Identifier: MIT */
/* A histogram of single calls, drawn in lines of text. */
#include "report.h"

#include "cli/wrap.h"

#define BAR_WIDTH 40

/* With more lines, neighbouring buckets are drawn as one. */
#define LINES_MAX 20

struct range {
	size_t first; /* bucket that is not empty */
	size_t end;   /* behind the last one that is not */
};

static struct range find_range(const struct histogram *histogram)
{
	struct range range = {0, HISTOGRAM_BUCKETS};

	while (range.first < range.end && !histogram->buckets[range.first])
		range.first++;
	while (range.end > range.first && !histogram->buckets[range.end - 1])
		range.end--;
	return range;
}

static uint64_t sum_buckets(const struct histogram *histogram, size_t first, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = first; i < first + count && i < HISTOGRAM_BUCKETS; i++)
		sum += histogram->buckets[i];
	return sum;
}

/* How many lines there are with that many buckets on each; empty ones are not drawn. */
static size_t count_lines(const struct histogram *histogram, struct range range, size_t at_once)
{
	size_t lines = 0;

	for (size_t i = range.first; i < range.end; i += at_once)
		lines += sum_buckets(histogram, i, at_once) > 0;
	return lines;
}

static void draw_line(const struct histogram *histogram, size_t first, size_t at_once, FILE *out)
{
	static const char bar[BAR_WIDTH + 1] = "########################################";
	uint64_t calls = sum_buckets(histogram, first, at_once);
	double share = (double)calls / (double)histogram->calls;
	size_t last = first + at_once;
	int width = (int)(share * BAR_WIDTH + 0.5);
	char from[32], to[32];

	if (!calls)
		return;
	wrap_ns(histogram_edge(first), from);
	if (last < HISTOGRAM_BUCKETS)
		wrap_ns(histogram_edge(last), to);
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
		wrap_count(row->histogram.calls, calls));
}

void bench_report_histogram(const struct bench_row *row, FILE *out)
{
	struct range range = find_range(&row->histogram);
	size_t at_once = 1;

	if (!row->histogram.calls)
		return;
	write_title(row, out);
	while (count_lines(&row->histogram, range, at_once) > LINES_MAX)
		at_once *= 2;
	for (size_t i = range.first; i < range.end; i += at_once)
		draw_line(&row->histogram, i, at_once, out);
}
