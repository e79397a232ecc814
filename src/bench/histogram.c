/* SPDX-License-Identifier: MIT */
/*
 * Histograms of single calls, each timed alone, show what averages over batches hide. A bucket is a
 * 32nd of an octave wide, 2%, so that 20 ns and 20 us are resolved equally well. The bars are on a
 * linear scale, so that their lengths can be compared.
 */
#include "model.h"

#include <math.h>

#include "base/text.h"
#include "cli/text.h"

/* The calls of a batch follow each other, so that all but the first find the caches warm. */
#define BATCH 256

#define BUCKETS_PER_OCTAVE 32

/* A histogram takes these numbers of lines; its longest bar has this number of characters. */
#define LINES_LEAST 8
#define LINES_MOST 16
#define BAR_WIDTH 32
#define PERCENT 100

double histogram_edge(size_t bucket)
{
	return bucket ? exp2((double)bucket / BUCKETS_PER_OCTAVE) : 0;
}

static size_t find_bucket(double ns)
{
	double place = ns > 1 ? floor(log2(ns) * BUCKETS_PER_OCTAVE) : 0;

	return place < HISTOGRAM_BUCKETS ? (size_t)place : HISTOGRAM_BUCKETS - 1;
}

void histogram_count(struct histogram *histogram, double ns)
{
	histogram->buckets[find_bucket(ns)]++;
	histogram->calls++;
	histogram->max_ns = fmax(histogram->max_ns, ns);
}

/* Returns the time that `percent` in 100 calls do not exceed. */
static double percentile(const struct histogram *histogram, double percent)
{
	double wanted = ceil((double)histogram->calls * percent / 100);
	uint64_t calls = 0;

	for (size_t i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
		calls += histogram->buckets[i];
		if ((double)calls >= wanted)
			return fmin(histogram_edge(i + 1), histogram->max_ns);
	}
	return histogram->max_ns;
}

void histogram_finish(struct histogram *histogram)
{
	if (!histogram->calls)
		return;
	histogram->p50_ns = percentile(histogram, 50);
	histogram->p90_ns = percentile(histogram, 90);
	histogram->p99_ns = percentile(histogram, 99);
	histogram->p999_ns = percentile(histogram, 99.9);
	fact_set_known(&histogram->fact);
}

void histogram_take(struct histogram *histogram, const struct timed_call *timed,
	const struct timebase *timebase, double ns_per_tick)
{
	uint64_t ticks[BATCH];

	if (!timed->call.function.any || timed->signal)
		return;
	call_repeat(&timed->call, 1);
	for (size_t i = 0; i < BATCH; i++) {
		uint64_t start = timebase_ticks(timebase);

		call_repeat(&timed->call, 1);
		ticks[i] = timebase_ticks(timebase) - start;
	}
	for (size_t i = 0; i < BATCH; i++) {
		uint64_t overhead = ticks[i] < timebase->overhead ? ticks[i] : timebase->overhead;

		histogram_count(histogram, (double)(ticks[i] - overhead) * ns_per_tick);
	}
}

/* ---- drawing ---- */

static uint64_t sum_buckets(const struct histogram *histogram, size_t first, size_t end)
{
	uint64_t sum = 0;

	for (size_t i = first; i < end && i < HISTOGRAM_BUCKETS; i++)
		sum += histogram->buckets[i];
	return sum;
}

/* Prints "  40.6 - 42.4 ns   16.6%  #######": a bar is as long as its share of the `most`. */
static void draw_line(
	const struct histogram *histogram, size_t first, size_t end, uint64_t most, FILE *out)
{
	static const char bar[] = "################################";
	uint64_t calls = sum_buckets(histogram, first, end);
	char from[32], to[32];

	fprintf(out, "  %8s - %8s ns %6.1f%%", format_ns(histogram_edge(first), from),
		format_ns(histogram_edge(end), to),
		PERCENT * (double)calls / (double)histogram->calls);
	if (calls)
		fprintf(out, "  %.*s", (int)round(BAR_WIDTH * (double)calls / (double)most), bar);
	fputc('\n', out);
}

/*
 * Draws the buckets around the most frequent one, from the first call in a thousand to the 99th
 * percentile, several in one line where there are many, and prints the tail as numbers.
 */
static void draw_histogram(const struct histogram *histogram, FILE *out)
{
	/* A percentile is the edge of a bucket: rounding must not decide which side it is on. */
	size_t end = find_bucket(histogram->p99_ns * (1 + 1e-9)) + 1, first = 0, mode = 0, step;
	uint64_t most = 0, above;
	char text[4][32];

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		mode = histogram->buckets[i] > histogram->buckets[mode] ? i : mode;
	while (first < mode && sum_buckets(histogram, 0, first + 1) <= histogram->calls / 1000)
		first++;
	end = end > mode ? end : mode + 1;
	while (end - first < LINES_LEAST) {
		first -= first > 0;
		end++;
	}
	step = (end - first + LINES_MOST - 1) / LINES_MOST;
	end += (step - (end - first) % step) % step;
	for (size_t i = first; i < end; i += step) {
		uint64_t calls = sum_buckets(histogram, i, i + step);

		most = calls > most ? calls : most;
	}
	for (size_t i = first; i < end; i += step)
		draw_line(histogram, i, i + step, most, out);
	above = sum_buckets(histogram, end, HISTOGRAM_BUCKETS);
	if (above) {
		struct strbuf tail = {.used = 0};
		int column = fprintf(out, "     above %8s ns %6.1f%%  ",
			format_ns(histogram_edge(end), text[0]),
			PERCENT * (double)above / (double)histogram->calls);

		strbuf_add(&tail, "p99 %s, p99.9 %s, max %s ns",
			format_ns(histogram->p99_ns, text[1]),
			format_ns(histogram->p999_ns, text[2]),
			format_ns(histogram->max_ns, text[3]));
		wrap_text(out, column, column, tail.text);
	}
}

void bench_write_histograms(const struct bench *bench, bool all, FILE *out)
{
	for (size_t i = 0; i < bench->row_count; i++) {
		const struct bench_row *row = &bench->rows[i];
		const struct histogram *histogram = &row->histogram;
		struct strbuf name = {.used = 0};
		char calls[32], p50[32];

		if (!histogram->calls || (!all && row != bench_answer_row(bench)))
			continue;
		describe_call_name(row->subject.call, row->subject.clock, &name);
		strbuf_add(&name, " by %s", call_path_names[row->subject.path]);
		if (fact_is_known(&row->cpu.fact))
			strbuf_add(&name, " on CPU %d", (int)row->cpu.value);
		strbuf_add(&name, ": %s calls, each timed alone; p50 %s ns",
			format_count(histogram->calls, calls), format_ns(histogram->p50_ns, p50));
		fputs("\n  ", out);
		wrap_text(out, 2, 4, name.text);
		draw_histogram(histogram, out);
	}
}
